"""Which card a process computes on, where that is certain.

NVML names the processes of every card; without it, a process that holds exactly one card's device file
open uses that one. A process on several cards has no one card: what it copies is counted without a device.
"""

import os
import re
from pathlib import Path

__all__ = ["card_of", "cards_by_nvml"]

_DEVICE = re.compile(r"/dev/nvidia(\d+)")


def card_of(pid: int, by_nvml: dict[int, str], proc: Path = Path("/proc")) -> str:
    """Return the `hw.id` of the one card that a process uses, "" where it is not certain."""
    return by_nvml.get(pid) or _by_open_files(pid, proc)


def cards_by_nvml() -> dict[int, str]:
    """Pid → card for every process that computes on exactly one, as NVML says; empty without NVML."""
    try:
        import pynvml  # type: ignore[import-untyped] # the binding has no types

        pynvml.nvmlInit()
    except Exception:  # not installed, no driver, no library: nothing to ask
        return {}
    found: dict[int, set[str]] = {}
    try:
        for index in range(pynvml.nvmlDeviceGetCount()):
            card = pynvml.nvmlDeviceGetHandleByIndex(index)
            for process in pynvml.nvmlDeviceGetComputeRunningProcesses(card):
                found.setdefault(process.pid, set()).add(str(index))
    except pynvml.NVMLError:
        return {}
    finally:
        pynvml.nvmlShutdown()
    return {pid: cards.pop() for pid, cards in found.items() if len(cards) == 1}


def _by_open_files(pid: int, proc: Path) -> str:
    folder = proc / str(pid) / "fd"
    cards = set()
    try:
        for name in os.listdir(folder):
            if device := _DEVICE.fullmatch(os.readlink(folder / name)):
                cards.add(device.group(1))
    except OSError:
        return ""
    return cards.pop() if len(cards) == 1 else ""
