"""NVML through NVIDIA's own bindings (`nvidia-ml-py`): loaded in one place, its errors put into words.

The calls themselves go through the bindings' function pointers with arguments that are made once: their
Python wrappers make new objects at every call and cost several times as much.
"""

import ctypes
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from otel_attrib.collector.agent.source import Unavailable

__all__ = ["GONE", "Library"]

GONE: Final = frozenset({1, 15, 16, 28})
"""Codes that say the card itself is gone: uninitialised, lost, needs a reset, not found."""

_WHY: Final = {
    4: "this user may not open the NVIDIA devices: allow it to read and write /dev/nvidia* "
    "(in a container: --gpus all, or NVIDIA_VISIBLE_DEVICES)",
    9: "the NVIDIA kernel module is not loaded: `modprobe nvidia`, then start again",
    12: "no NVIDIA driver here (libnvidia-ml.so.1 is not found): install it, or give it to the container "
    "(--gpus all, NVIDIA_DRIVER_CAPABILITIES=utility)",
    13: "the NVIDIA driver is too old for nvidia-ml-py (no nvmlInitWithFlags): install driver 410 or newer",
    15: "a GPU has fallen off the bus and NVML does not start: reset it or restart the machine",
    18: "the NVIDIA library and the loaded kernel module are of different versions{module}: a driver was "
    "updated without a restart; restart the machine or reload the nvidia modules",
}


class Library:
    """The initialised NVML; the constructor raises `Unavailable` with what to do where there is none."""

    def __init__(self, library: str | None = None, proc: Path = Path("/proc")) -> None:
        """Load `libnvidia-ml.so.1`, or the file `library` where the loader does not find it."""
        self.nv = _bindings()
        self.fields_a_call = 128
        """How many field values are asked for at once; less where a driver was seen to refuse so many."""
        try:
            if library is not None:
                _load(self.nv, library)
            self.nv.nvmlInit()
        except self.nv.NVMLError as fault:
            raise Unavailable(_reason(fault, proc)) from None

    def function(self, name: str) -> Callable[..., int] | None:
        """Return the bindings' pointer to an NVML function; None where the driver lacks it."""
        try:
            found: Callable[..., int] = self.nv._nvmlGetFunctionPointer(name)
        except self.nv.NVMLError:
            return None
        return found

    def count(self) -> int:
        """Return how many cards there are, those that this user may not open among them."""
        try:
            return int(self.nv.nvmlDeviceGetCount())
        except self.nv.NVMLError as fault:
            raise Unavailable(f"NVML does not count its GPUs: {fault}") from None

    def ask(self, name: str, *arguments: object) -> Any:
        """Call a wrapper of the bindings once; None where card, driver or bindings have no answer."""
        try:
            return getattr(self.nv, name)(*arguments)
        except (self.nv.NVMLError, self.nv.NVMLLibraryMismatchError, AttributeError):
            return None

    def text(self, code: int) -> str:
        """Return NVML's words for a code."""
        return str(self.nv.NVMLError(code))

    def close(self) -> None:
        """Shut NVML down; that it is down already is no fault."""
        try:
            self.nv.nvmlShutdown()
        except self.nv.NVMLError:
            return


def _bindings() -> Any:
    try:
        return import_module("pynvml")
    except ImportError:
        raise Unavailable("reading NVIDIA GPUs needs nvidia-ml-py: pip install 'otel-attrib[gpu]'") from None


def _load(nv: Any, library: str) -> None:
    try:
        loaded = ctypes.CDLL(library)
    except OSError as fault:
        raise Unavailable(f"NVML cannot be loaded from {library}: {fault}") from None
    with nv.libLoadLock:
        nv.nvmlLib = loaded
        nv._nvmlGetFunctionPointer_cache.clear()


def _reason(fault: Any, proc: Path) -> str:
    text = _WHY.get(fault.value, f"NVML does not start: {fault}")
    return text.format(module=_module_version(proc))


def _module_version(proc: Path) -> str:
    """Return ` (loaded: NVRM version: …)`, or nothing where the kernel module does not tell."""
    try:
        line = (proc / "driver/nvidia/version").read_text().splitlines()[0]
    except (OSError, IndexError):
        return ""
    return f" (loaded: {' '.join(line.split())})"
