"""The torch parts of a vLLM worker: collectives, copies and profile windows of its steps.

vLLM's ranks talk through `GroupCoordinator` (custom all-reduce, NCCL, shared memory on a CPU) and beside
it through torch.distributed; the outermost call counts. Collectives in CUDA graphs or compiled code are
out of sight: where vLLM puts them there the column is absent and windows are what shows them.
"""

import functools
import os
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from otel_attrib.instrumentation import background
from otel_attrib.instrumentation.board import indices
from otel_attrib.instrumentation.shim import Callback, Hook, Patches, guarded
from otel_attrib.instrumentation.torch import window
from otel_attrib.instrumentation.torch.calls import largest_bytes, timed, watch_collectives
from otel_attrib.instrumentation.torch.device import CudaEvents
from otel_attrib.instrumentation.torch.metrics import TorchMetrics
from otel_attrib.instrumentation.torch.parts import Parts, Step, StepParts

__all__ = ["HOOKS", "WORKER_PARTS", "WorkerParts", "wanted", "watch_torch"]

SWITCH = "OTEL_ATTRIB_TORCH"
LOADED = 0.75
"""Share of the most requests or tokens of a step from which on an engine counts as loaded."""


def wanted() -> bool:
    """Whether parts are timed (default yes)."""
    return os.environ.get(SWITCH, "1").strip().lower() not in {"0", "false", "no", "off"}


class WorkerParts:
    """Parts and windows of the steps of this worker; everything but `read` is for its own thread."""

    def __init__(self) -> None:
        """Start empty; `look` says what there is to time."""
        self.parts = StepParts()
        self.windows: window.ProfileWindows | None = None
        self.on = False
        self.copies = False
        self._before: Callback = _nothing
        self._after: Callback = _nothing
        self._full: tuple[float, float] = (float("inf"), float("inf"))

    def look(self, worker: Any, device: str) -> None:
        """Learn what computes: the host on "cpu", CUDA on "cuda"; elsewhere nothing is timed."""
        self.on = wanted() and device in ("cpu", "cuda")
        if not self.on:
            return
        self.copies = device == "cuda"
        if device == "cuda":
            self.parts.events = CudaEvents()
        config = getattr(worker, "vllm_config", None)
        if config is not None:
            self._configure(config, device)
        if window.every():
            windows = self.windows = window.ProfileWindows(window.every(), window.share(), self.parts.events)
            self._before = guarded("torch window opens", windows.before)
            self._after = guarded("torch window closes", windows.after)
        card = _card() if device == "cuda" else ""
        rank = getattr(worker, "rank", None)
        background.every_tick(TorchMetrics(self.parts, self.windows, "vllm", card, rank).tick)

    def _configure(self, config: Any, device: str) -> None:
        limits = config.scheduler_config
        self._full = LOADED * limits.max_num_seqs, LOADED * limits.max_num_batched_tokens
        platform = import_module("vllm.platforms").current_platform
        if int(config.compilation_config.mode or 0) and not platform.use_custom_op_collectives():
            self.parts.hide("collective")  # compiled in, without a call into Python

    def begin(self, scheduled: Any) -> Step | None:
        """A step begins."""
        if not self.on:
            return None
        if self.windows is not None:
            self._before(self._loaded(scheduled))
        return self.parts.begin()

    def end(self, step: Step | None) -> None:
        """A step is over for the host; on another thread it may be another's that runs now."""
        if step is not None and step is self.parts.step:
            self.parts.end()

    def after(self) -> None:
        """The step's output is out: a window may close."""
        self._after()

    def read(self, step: Step | None, *, own_thread: bool) -> Parts | None:
        """Return a step's parts where they are known; a device's are not read on the worker's own thread."""
        if step is None or (own_thread and self.parts.events is not None):
            return None
        return self.parts.read(step)

    def _loaded(self, scheduled: Any) -> bool:
        requests, tokens = self._full
        many = len(getattr(scheduled, "num_scheduled_tokens", ())) >= requests
        long = getattr(scheduled, "total_num_scheduled_tokens", 0) >= tokens
        return many or long or background.BUDGET.level > 0


def _nothing() -> None:
    """No window is asked for."""


WORKER_PARTS = WorkerParts()


def _card() -> str:
    """Return the index that counters have this worker's card under; for its own thread."""
    index = int(import_module("torch").cuda.current_device())
    visible = [word.strip() for word in indices(os.environ.get("CUDA_VISIBLE_DEVICES", "")).split(",")]
    return visible[index] if index < len(visible) and visible[index] else str(index)


def collective(original: Callback) -> Callback:
    """Count a method of a group of ranks; a group of one has nothing to tell."""
    if not wanted():
        return original
    counted = timed(WORKER_PARTS.parts, "collective", original, largest_bytes)

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(self, "world_size", 2) == 1:
            return original(self, *args, **kwargs)
        return counted(self, *args, **kwargs)

    return call


def copy(original: Callback) -> Callback:
    """Count a copy to the device; where the host computes there is none, whatever its name says."""
    if not wanted():
        return original
    counted = timed(WORKER_PARTS.parts, "copy", original, _result_bytes)

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        return (counted if WORKER_PARTS.copies else original)(*args, **kwargs)

    return call


def _result_bytes(result: Any, *_args: Any, **_kwargs: Any) -> int:
    return int(getattr(result, "nbytes", 0))


def profile(original: Callback) -> Callback:
    """Give way where somebody asks vLLM for a profile of its own."""

    def close() -> None:
        if WORKER_PARTS.windows is not None:
            WORKER_PARTS.windows.give_up()

    give_way = guarded("torch window gives way", close)

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        give_way()
        return original(self, *args, **kwargs)

    return call


_GROUP = "vllm.distributed.parallel_state:GroupCoordinator"

HOOKS = (
    Hook(f"{_GROUP}._all_reduce_out_place", ("self", "input_"), collective),
    Hook(f"{_GROUP}._all_gather_out_place", ("self", "input_", "dim"), collective),
    Hook(f"{_GROUP}._reduce_scatter_out_place", ("self", "input_", "dim"), collective),
    Hook(f"{_GROUP}.all_gatherv", ("self", "input_", "dim"), collective),
    Hook(f"{_GROUP}.reduce_scatterv", ("self", "input_", "dim"), collective),
    Hook(f"{_GROUP}.gather", ("self", "input_", "dst", "dim"), collective),
    Hook(f"{_GROUP}.broadcast", ("self", "input_", "src"), collective),
    Hook(f"{_GROUP}.send", ("self", "tensor", "dst"), collective),
    Hook(f"{_GROUP}.recv", ("self", "size", "dtype", "src"), collective),
    Hook("vllm.v1.utils:CpuGpuBuffer.copy_to_gpu", ("self", "n"), copy),
    Hook("vllm.v1.worker.gpu.buffer_utils:UvaBufferPool.copy_to_gpu", ("self", "x", "out"), copy),
    Hook("vllm.utils.torch_utils:async_tensor_h2d", ("data", "device"), copy),
    Hook("vllm.v1.worker.gpu_worker:Worker.profile", ("self", "is_start"), profile),
)


def watch_torch(patches: Patches) -> Callable[[ModuleType], None]:
    """Return what is to be done in a worker: count calls into torch.distributed as well."""

    def install(_module: ModuleType) -> None:
        if wanted():
            watch_collectives(WORKER_PARTS.parts, patches)

    return install
