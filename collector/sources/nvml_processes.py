"""Which process holds how much of a card's memory, and how much of its time on the SMs it used.

The driver tells host process ids only; in a container that hides them it tells none.
"""

import ctypes
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from otel_attrib.collector.agent.source import Reading, Series, series
from otel_attrib.collector.sources.nvml_block import Gone
from otel_attrib.collector.sources.nvml_card import Card
from otel_attrib.collector.sources.nvml_columns import Columns
from otel_attrib.collector.sources.nvml_library import GONE, Library

__all__ = ["Processes"]

_USE: Final = np.dtype(
    [
        ("pid", "<u4"),
        ("_", "<u4"),
        ("time", "<u8"),
        ("sm", "<u4"),
        ("mem", "<u4"),
        ("enc", "<u4"),
        ("dec", "<u4"),
    ]
)
"""`nvmlProcessUtilizationSample_t`."""
_HELD: Final = np.dtype(
    [("pid", "<u4"), ("_", "<u4"), ("used", "<u8"), ("instance", "<u4"), ("compute", "<u4")]
)
"""`nvmlProcessInfo_t` as of version 2 of its calls."""
_UNKNOWN_BYTES, _NO_INSTANCE = 2**64 - 1, 2**32 - 1
_TOO_SMALL: Final = 7


class _Table:
    """A buffer that an NVML call fills with rows, and the count beside it."""

    def __init__(self, kind: Any, rows: int = 64) -> None:
        self.kind = kind
        self.grow(rows)

    def grow(self, rows: int) -> None:
        self.rows = np.zeros(rows, dtype=self.kind)
        self.memory = (ctypes.c_char * self.rows.nbytes).from_buffer(self.rows.data)
        self.count = ctypes.c_uint(rows)

    def filled(self) -> Any:
        return self.rows[: self.count.value]


class Processes:
    """Memory and SM time of every process on every card."""

    def __init__(self, library: Library, cards: Sequence[Card]) -> None:
        """Read these cards; older drivers without the calls have no such readings."""
        self._held_by = library.function("nvmlDeviceGetComputeRunningProcesses_v3")
        self._held_by = self._held_by or library.function("nvmlDeviceGetComputeRunningProcesses_v2")
        self._used_by = library.function("nvmlDeviceGetProcessUtilization")
        self._cards = {card.index: card for card in cards}
        self._held, self._use = _Table(_HELD), _Table(_USE)
        self._seen = dict.fromkeys(self._cards, 0)
        self._known: dict[tuple[str, str, int], Series] = {}
        self._named: tuple[Series, ...] = ()
        self.gone: list[Gone] = []

    def read(self, now: float) -> list[Columns]:
        """Return what the processes of the last second hold and use; `now` is not needed."""
        told: list[Reading] = []
        for card in list(self._cards.values()):
            codes = self._memory(card, told), self._time(card, told)
            lost = next((code for code in codes if code in GONE), None)
            if lost is not None:
                self.gone.append(Gone(card.index, lost))
                del self._cards[card.index]
        named = tuple(one for one, _ in told)
        if named != self._named:
            self._named = named  # the same tuple for as long as the same processes run
            alive = set(map(id, named))
            self._known = {key: one for key, one in self._known.items() if id(one) in alive}
        return [(self._named, np.array([value for _, value in told], dtype=np.float64))] if told else []

    def _memory(self, card: Card, told: list[Reading]) -> int:
        if self._held_by is None:
            return 0
        table = self._held
        for _ in range(2):
            table.count.value = table.rows.size
            code = self._held_by(card.handle, ctypes.byref(table.count), table.memory)
            if code != _TOO_SMALL:
                break
            table.grow(table.count.value * 2 + 5)
        if code == 0:
            for row in table.filled().tolist():
                pid, used, instance = row[0], row[2], row[3]
                if used != _UNKNOWN_BYTES:
                    device = card.device if instance == _NO_INSTANCE else f"{card.device}:{instance}"
                    told.append((self._series("process_gpu_memory", device, pid), float(used)))
        return code

    def _time(self, card: Card, told: list[Reading]) -> int:
        """Each process's newest sample since the last read: a share of the SMs' time."""
        if self._used_by is None:
            return 0
        table = self._use
        since = ctypes.c_ulonglong(self._seen[card.index])
        for _ in range(2):
            table.count.value = table.rows.size
            code = self._used_by(card.handle, table.memory, ctypes.byref(table.count), since)
            if code != _TOO_SMALL:
                break
            table.grow(table.count.value * 2 + 5)
        if code == 0:
            newest: dict[int, tuple[int, int]] = {}
            for pid, _, time, sm, *_ in table.filled().tolist():
                newest[pid] = max(newest.get(pid, (0, 0)), (time, sm))
            for pid, (time, sm) in newest.items():
                told.append((self._series("process_gpu_utilization", card.device, pid), sm / 100.0))
                self._seen[card.index] = max(self._seen[card.index], time)
        return code

    def _series(self, key: str, device: str, pid: int) -> Series:
        place = (key, device, pid)
        if place not in self._known:
            self._known[place] = series(key, device, process__pid=str(pid))
        return self._known[place]

    def close(self) -> None:
        """Nothing is held open."""
