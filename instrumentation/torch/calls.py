"""Wraps functions whose every call is a part of a step: collectives and copies, with their bytes.

`collective_bytes` is the size that tables of collectives speak of: the whole message, so for an all-gather
what comes out and for a reduce-scatter what goes in. A call that returns a handle (`async_op`, `isend`)
goes on without the caller: its bytes count, its time does not.
"""

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from otel_attrib.instrumentation import shim
from otel_attrib.instrumentation.shim import Callback, Hook, Patches
from otel_attrib.instrumentation.torch.parts import StepParts

__all__ = ["COLLECTIVES", "largest_bytes", "timed", "watch_collectives"]

COLLECTIVES: Final = {
    "all_reduce": ("tensor",),
    "reduce": ("tensor",),
    "broadcast": ("tensor",),
    "all_gather": ("tensor_list", "tensor"),
    "all_gather_into_tensor": ("output_tensor", "input_tensor"),
    "all_gather_single": ("output_tensor", "input_tensor"),
    "gather": ("tensor",),
    "scatter": ("tensor",),
    "reduce_scatter": ("output", "input_list"),
    "reduce_scatter_tensor": ("output", "input"),
    "reduce_scatter_single": ("output", "input"),
    "all_to_all": ("output_tensor_list", "input_tensor_list"),
    "all_to_all_single": ("output", "input"),
    "send": ("tensor",),
    "recv": ("tensor",),
    "isend": ("tensor",),
    "irecv": ("tensor",),
    "barrier": ("group",),
}
"""Entry points of `torch.distributed` to its process groups and how they begin; no release has all."""


def timed(parts: StepParts, name: str, original: Callback, size: Callable[..., int]) -> Callback:
    """Return `original`, each call counted as part `name` of `size(result, *args, **kwargs)` bytes."""
    compiling = import_module("torch").compiler.is_compiling
    handle = getattr(import_module("torch.distributed"), "Work", ())
    enter, leave = parts.enter, parts.leave
    label, off = f"torch {name}", False

    def failed(error: Exception) -> None:
        nonlocal off
        shim.FAULTS.count(label, error)
        off = shim.FAULTS.exhausted(label)

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        # A compiler that traces this call must see the host's call alone. Not `guarded`: frames cost here.
        if compiling() or off:
            return original(*args, **kwargs)
        try:
            mark = enter(name)
        except Exception as error:
            failed(error)
            mark = None
        if mark is None:
            return original(*args, **kwargs)
        try:
            result = original(*args, **kwargs)
        except BaseException:
            parts.guarded_leave(mark)
            raise
        try:
            leave(mark, 0, not isinstance(result, handle))
            if mark[2] is not None:  # no part within a part
                mark[0].bytes[name] += size(result, *args, **kwargs)
        except Exception as error:
            failed(error)
        return result

    return call


def largest_bytes(result: Any, *args: Any, **kwargs: Any) -> int:
    """Bytes of the largest thing that a call was given or gave back: a tensor, or a list of them together."""
    most = _bytes(result)
    for thing in args:
        most = max(most, _bytes(thing))
    for thing in kwargs.values():
        most = max(most, _bytes(thing))
    return most


def _bytes(thing: Any) -> int:
    if thing is None:
        return 0
    if type(thing) in (list, tuple):
        return sum(map(_bytes, thing))
    return getattr(thing, "nbytes", 0)


def watch_collectives(parts: StepParts, patches: Patches) -> None:
    """Count every call into `torch.distributed`'s process groups; does nothing where torch lacks them."""
    distributed = import_module("torch.distributed")
    if not distributed.is_available():
        return
    hooks = [
        Hook(f"torch.distributed:{name}", parameters, _wrapper(parts))
        for name, parameters in COLLECTIVES.items()
        if hasattr(distributed, name)
    ]
    patches.install(distributed, hooks)


def _wrapper(parts: StepParts) -> Callable[[Callback], Callback]:
    return lambda original: timed(parts, "collective", original, largest_bytes)
