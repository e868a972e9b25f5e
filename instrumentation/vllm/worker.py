"""Worker process: how long a step's forward pass, sampling and collectives took.

The numbers ride on the ModelRunnerOutput as one plain tuple, so that a scheduler without the
shim unpickles it as well. On a GPU the host only launches work; there CUDA events around the
forward pass and the sampling give the device's time, read when the output has been copied.
Collectives and copies are `torch_parts`'.
"""

import functools
from collections.abc import Callable
from importlib import import_module
from threading import get_ident
from time import monotonic_ns
from typing import Any, NamedTuple

from otel_attrib.instrumentation.clock import clock_id
from otel_attrib.instrumentation.shim import Callback, Hook, guarded
from otel_attrib.instrumentation.torch.parts import Step
from otel_attrib.instrumentation.vllm.torch_parts import WORKER_PARTS, WorkerParts

__all__ = ["ATTRIBUTE", "HOOKS", "Work"]

ATTRIBUTE = "_otel_attrib"
IN_FLIGHT = 8
"""More steps than any scheduler keeps in flight at once; their slots are reused in turn."""


class Work(NamedTuple):
    """One step in a worker: monotonic ns of `clock`, durations in ns, -1 = not observed.

    `ready` is the moment the logits were there, `done` the moment the token ids were on the host.
    """

    clock: int
    started: int
    ready: int
    done: int
    forward: int
    collective: int
    copy: int


class _Slot:
    """Stamps of one step in flight."""

    __slots__ = ("events", "ready", "sampled", "started", "step")

    def __init__(self) -> None:
        self.started = 0
        self.ready = 0
        self.step: Step | None = None
        self.sampled = False
        self.events: list[Any] | None = None


class _Stopwatch:
    """Stamps the steps of this worker; one step runs at a time, its output may be fetched later."""

    def __init__(self, parts: WorkerParts | None = None) -> None:
        self.parts = parts or WorkerParts()
        self.thread = 0
        self.clock = clock_id()
        self.slots = [_Slot() for _ in range(IN_FLIGHT)]
        self.step = 0
        self.slot = self.slots[0]
        self.events: Callable[[], list[Any]] | None = None
        self.looked = False
        self.host_computes = True

    def start(self, worker: Any, scheduled: Any) -> None:
        """A step's forward pass begins."""
        if not self.looked:
            self.look_for_device(worker)
        self.step += 1
        slot = self.slot = self.slots[self.step % IN_FLIGHT]
        slot.step = self.parts.begin(scheduled)
        slot.ready = 0
        slot.sampled = False
        if self.events is not None:
            slot.events = slot.events or self.events()
            slot.events[0].record()
        slot.started = monotonic_ns()

    def logits(self) -> None:
        """The logits are there (on a GPU: all of it is launched)."""
        self.slot.ready = monotonic_ns()
        if self.slot.events is not None:
            self.slot.events[1].record()

    def sampled(self) -> None:
        """Sampling is launched; on the host it is over only with the output."""
        if self.slot.events is not None:
            self.slot.events[2].record()
            self.slot.sampled = True

    def look_for_device(self, worker: Any) -> None:
        """Decide once whose clock counts: the host's on a CPU, the device's events on a GPU, else none."""
        self.looked = True
        self.thread = get_ident()
        device = import_module("vllm.platforms").current_platform.device_type
        self.host_computes = device == "cpu"
        if device == "cuda":  # ROCm calls itself so as well
            cuda = import_module("torch").cuda
            self.events = lambda: [cuda.Event(enable_timing=True) for _ in range(3)]
        self.parts.look(worker, device)

    def work(self, slot: _Slot) -> Work:
        """What is known of a step whose output is on the host now."""
        done = monotonic_ns()
        self.parts.end(slot.step)
        found = self.parts.read(slot.step, own_thread=get_ident() == self.thread)
        collective, copy = (found.collective, found.copy) if found is not None else (-1, -1)
        if slot.events is None:
            forward = slot.ready - slot.started
            if not self.host_computes:  # it only launches, on a device that we cannot ask
                return Work(self.clock, slot.started, -1, done, -1, -1, -1)
            return Work(self.clock, slot.started, slot.ready, done, forward, collective, copy)
        begin, ready, sampled = slot.events
        if not slot.sampled or not sampled.query():
            return Work(self.clock, slot.started, -1, done, -1, -1, -1)
        sample = round(ready.elapsed_time(sampled) * 1e6)
        forward = round(begin.elapsed_time(ready) * 1e6)
        return Work(self.clock, slot.started, done - sample, done, forward, collective, copy)


_WATCH = _Stopwatch(WORKER_PARTS)


def _send(slot: _Slot, output: Any) -> None:
    """Give an output its numbers; an empty one is shared between steps and stays as it is."""
    if getattr(output, "req_ids", None):
        setattr(output, ATTRIBUTE, tuple(_WATCH.work(slot)))


def _hand_over(output: Any) -> None:
    """A step's result leaves the runner: complete, or to be fetched from the device later."""
    if hasattr(output, "get_output"):
        _WATCH.parts.end(_WATCH.slot.step)
        setattr(output, ATTRIBUTE, _WATCH.slot)
    else:
        _send(_WATCH.slot, output)
    _WATCH.parts.after()


def _execute_model(original: Callback) -> Callback:
    start = guarded("worker step start", _WATCH.start)
    logits = guarded("worker logits", _WATCH.logits)
    hand_over = guarded("worker output", _hand_over)

    @functools.wraps(original)
    def execute_model(self: Any, scheduler_output: Any, *args: Any, **kwargs: Any) -> Any:
        start(self, scheduler_output)
        output = original(self, scheduler_output, *args, **kwargs)
        logits()
        if output is not None:
            hand_over(output)
        return output

    return execute_model


def _sample_tokens(original: Callback) -> Callback:
    hand_over = guarded("worker output", _hand_over)

    @functools.wraps(original)
    def sample_tokens(self: Any, *args: Any, **kwargs: Any) -> Any:
        output = original(self, *args, **kwargs)
        hand_over(output)
        return output

    return sample_tokens


def _sample(original: Callback) -> Callback:
    sampled = guarded("worker sample", _WATCH.sampled)

    @functools.wraps(original)
    def sample(self: Any, *args: Any, **kwargs: Any) -> Any:
        output = original(self, *args, **kwargs)
        sampled()
        return output

    return sample


def _get_output(original: Callback) -> Callback:
    def fetched(source: Any, output: Any) -> None:
        slot = getattr(source, ATTRIBUTE, None)
        if slot is not None:
            _send(slot, output)

    send = guarded("worker fetched output", fetched)

    @functools.wraps(original)
    def get_output(self: Any, *args: Any, **kwargs: Any) -> Any:
        output = original(self, *args, **kwargs)
        send(self, output)
        return output

    return get_output


_RUNNER = "vllm.v1.worker.gpu_model_runner"
_RUNNER_2 = "vllm.v1.worker.gpu.model_runner"

HOOKS = (
    Hook("vllm.v1.worker.gpu_worker:Worker.execute_model", ("self", "scheduler_output"), _execute_model),
    Hook("vllm.v1.worker.gpu_worker:Worker.sample_tokens", ("self", "grammar_output"), _sample_tokens),
    Hook(f"{_RUNNER}:GPUModelRunner._sample", ("self", "logits"), _sample),
    Hook(f"{_RUNNER}:AsyncGPUModelRunnerOutput.get_output", ("self",), _get_output),
    Hook(f"{_RUNNER_2}:GPUModelRunner.sample", ("self",), _sample),
    Hook("vllm.v1.worker.gpu.async_utils:AsyncOutput.get_output", ("self",), _get_output),
    Hook("vllm.v1.worker.gpu.async_utils:AsyncPoolingOutput.get_output", ("self",), _get_output),
)
