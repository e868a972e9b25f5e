"""The demonstration: a real vLLM on a CPU, real traffic, a real fault, and the answer.

`install_vllm.sh` sets up the server once, in an environment of its own. `arrivals`
holds the recorded traffic and `workload` fits it to the small model, `replay` sends
it and stamps it from outside, `faults` does the harm, `scenario` puts it all in
order, `recording` keeps a run so that it can be shown without vLLM, and `account`
prints what came out.
"""
