"""Programs that run in the kernel: scheduler, CUDA, NCCL and TCP seen without touching the engine.

`loader.load` compiles one `.c` file and gives its maps and attachments; `features` says what this machine
lacks. A tool is a pair `name.c` and `name.py`. Everything is summed in the
kernel: no event is sent to user space.
"""
