"""PyTorch: what parts of a step an engine's own code spent how long in, whichever engine it is.

`StepParts` times forward pass, collectives and copies, with the device's clock where there is one;
`ProfileWindows` takes `torch.profiler` for single steps, rarely, and turns them into shares. The vLLM
shim uses both. torch is imported when they are made, not before, and is the host's own.
"""
