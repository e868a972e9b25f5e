"""XID events: how many of each card since the start, waited for without waiting."""

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np

from otel_attrib.collector.agent.source import series
from otel_attrib.collector.sources.nvml_columns import Columns
from otel_attrib.collector.sources.nvml_library import Library
from otel_attrib.collector.sources.nvml_outputs import Notices
from otel_attrib.collector.sources.xid import explain

__all__ = ["XidEvents"]

_AT_ONCE = 64
"""The most events taken at one read: a storm must not hold up the other counters."""


class XidEvents:
    """One event set for all cards; `read` takes what has come, with a wait of no time."""

    def __init__(self, library: Library, handles: Mapping[str, Any], notices: Notices) -> None:
        """Register `hw.id` → handle; a card that knows no such event is left out."""
        nv = library.nv
        self._library, self._notices = library, notices
        self._kind = nv.nvmlEventTypeXidCriticalError
        self._set = library.ask("nvmlEventSetCreate")
        self._device: dict[int | None, str] = {}
        self._counts: dict[str, int] = {}
        self._last: dict[str, int] = {}
        for device, handle in handles.items() if self._set is not None else ():
            self._register(device, handle)
        self._counters = {device: series("xid", device) for device in self._counts}
        self._newest = {device: series("last_xid", device) for device in self._counts}
        self._tell()
        self._wait = library.function("nvmlEventSetWait_v2")
        self._event = nv.c_nvmlEventData_t()
        self._arguments = (self._set, ctypes.byref(self._event), ctypes.c_uint(0))

    def _register(self, device: str, handle: Any) -> None:
        nv = self._library.nv
        if not (self._library.ask("nvmlDeviceGetSupportedEventTypes", handle) or 0) & self._kind:
            return
        try:
            nv.nvmlDeviceRegisterEvents(handle, self._kind, self._set)
        except nv.NVMLError as fault:
            self._notices.say(f"GPU {device}: its XID events cannot be seen: {fault}")
            return
        self._device[_address(handle)] = device
        self._counts[device] = 0

    def read(self) -> list[Columns]:
        """Return each card's count, and the number of its newest XID once there was one."""
        if not self._counts or self._wait is None:
            return []
        for _ in range(_AT_ONCE):
            if self._wait(*self._arguments) != 0:
                break
            self._count()
        return [self._told]

    def _count(self) -> None:
        device = self._device.get(_address(self._event.device))
        if device is None or not self._event.eventType & self._kind:
            return
        number = int(self._event.eventData)
        self._counts[device] += 1
        self._last[device] = number
        self._notices.say(f"GPU {device}: {explain(number)}")
        self._tell()

    def _tell(self) -> None:
        """Make the columns, as seldom as an event comes."""
        named = [*self._counters.values(), *(self._newest[device] for device in self._last)]
        numbers = np.array([*self._counts.values(), *self._last.values()], dtype=np.float64)
        self._told: Columns = (tuple(named), numbers)

    def close(self) -> None:
        """Free the event set."""
        if self._set is not None:
            self._library.ask("nvmlEventSetFree", self._set)
            self._set = None


def _address(handle: Any) -> int | None:
    return ctypes.cast(handle, ctypes.c_void_p).value
