"""Which process holds how much of a card's memory, and how much of its time on the SMs it used.

The driver tells host process ids only; in a container that hides them it tells none. A process that ends is
gone from the next read; as long as the same ones run, their series come again as the same tuple.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from otel_attrib.collector.agent.source import Series, series
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
_ROOM: Final = 32

Rows = NDArray[Any]


class _Table:
    """Rows of all cards from one call each; `told` has those that the last read gave, and whose they are."""

    def __init__(self, kind: Any, function: Callable[..., int], cards: int) -> None:
        self._kind, self._function = kind, function
        self.cards = cards
        self.grow(_ROOM)

    def grow(self, room: int) -> None:
        """Make room for so many rows of each card, and the arguments with it."""
        self.rows = np.zeros((self.cards, room), dtype=self._kind)
        self.counts = np.zeros(self.cards, dtype=np.uint32)
        rows, counts = ((ctypes.c_char * a.nbytes).from_buffer(a.data) for a in (self.rows, self.counts))
        stride = self.rows.strides[0]
        self.places = [
            (ctypes.byref(counts, 4 * card), ctypes.byref(rows, stride * card)) for card in range(self.cards)
        ]
        self._numbers = np.arange(room)

    def read(self, arguments: Callable[["_Table"], list[tuple[Any, ...]]]) -> list[int]:
        """Call for every card; what does not fit is asked for once more with room for it."""
        for _ in range(2):
            self.counts[:] = self.rows.shape[1]
            codes = [self._function(*one) for one in arguments(self)]
            if _TOO_SMALL not in codes:
                break
            self.grow(int(self.counts.max()) * 2 + 5)
        self._good = self._numbers < self.counts[:, None]
        self._good[np.array(codes, dtype=np.int64) != 0] = False
        return codes

    def told(self) -> tuple[NDArray[np.intp], Rows]:
        """Return the card of each row and the rows."""
        return np.nonzero(self._good)[0], self.rows[self._good]

    def newest(self, column: str) -> NDArray[Any]:
        """Return (cards,) the largest value of a column, 0 where a card told nothing."""
        return np.asarray(np.where(self._good, self.rows[column], 0).max(axis=1))


class _Series:
    """The series of one kind of row, made anew only when other processes run."""

    def __init__(self, key: str, cards: Sequence[Card]) -> None:
        self._key = key
        self._cards = cards
        self._known: dict[tuple[str, int], Series] = {}
        self._rows = b""
        self._last: tuple[tuple[Series, ...], NDArray[np.intp]] = ((), np.zeros(0, dtype=np.intp))

    def columns(self, owners: NDArray[np.intp], rows: Rows, numbers: NDArray[np.float64]) -> list[Columns]:
        """Return these numbers; of two rows of one process the later counts."""
        instances = rows["instance"] if "instance" in (rows.dtype.names or ()) else None
        same = owners.tobytes() + rows["pid"].tobytes() + (b"" if instances is None else instances.tobytes())
        if same != self._rows:
            self._rows, self._last = same, self._named(owners, rows, instances)
        named, chosen = self._last
        return [(named, numbers[chosen])] if named else []

    def _named(
        self, owners: NDArray[np.intp], rows: Rows, instances: Rows | None
    ) -> tuple[tuple[Series, ...], NDArray[np.intp]]:
        parts = [_NO_INSTANCE] * len(rows) if instances is None else instances.tolist()
        last: dict[tuple[str, int], int] = {}
        for n, (owner, pid, part) in enumerate(
            zip(owners.tolist(), rows["pid"].tolist(), parts, strict=True)
        ):
            device = self._cards[owner].device
            last[device if part == _NO_INSTANCE else f"{device}:{part}", pid] = n
        known = self._known
        self._known = {
            place: known.get(place) or series(self._key, place[0], process__pid=str(place[1]))
            for place in last
        }
        return tuple(self._known.values()), np.array(list(last.values()), dtype=np.intp)


class Processes:
    """Memory and SM time of every process on every card."""

    def __init__(self, library: Library, cards: Sequence[Card]) -> None:
        """Read these cards; drivers without the calls have no such readings."""
        held = library.function("nvmlDeviceGetComputeRunningProcesses_v3")
        held = held or library.function("nvmlDeviceGetComputeRunningProcesses_v2")
        used = library.function("nvmlDeviceGetProcessUtilization")
        self._cards = list(cards)
        self._held = None if held is None else _Table(_HELD, held, len(cards))
        self._used = None if used is None else _Table(_USE, used, len(cards))
        self._memory = _Series("process_gpu_memory", self._cards)
        self._shares = _Series("process_gpu_utilization", self._cards)
        self._seen = np.zeros(max(1, len(cards)), dtype=np.uint64)
        self._since = [ctypes.c_ulonglong.from_buffer(self._seen.data, 8 * n) for n in range(len(cards))]
        self.gone: list[Gone] = []

    def read(self, now: float) -> list[Columns]:
        """Return what the processes hold, and use since the last read; `now` is not needed."""
        if not self._cards:
            return []
        told: list[Columns] = []
        codes: list[int] = []
        if self._held is not None:
            codes += self._held.read(self._held_arguments)
            owners, rows = self._held.told()
            known = rows["used"] != _UNKNOWN_BYTES
            if not known.all():
                owners, rows = owners[known], rows[known]
            told += self._memory.columns(owners, rows, rows["used"].astype(np.float64))
        if self._used is not None:
            codes += self._used.read(self._used_arguments)
            owners, rows = self._used.told()
            self._seen[: len(self._cards)] = np.maximum(
                self._seen[: len(self._cards)], self._used.newest("time")
            )
            told += self._shares.columns(owners, rows, rows["sm"] * 0.01)
        self._lose(codes)
        return told

    def _held_arguments(self, table: _Table) -> list[tuple[Any, ...]]:
        return [(card.handle, *place) for card, place in zip(self._cards, table.places, strict=True)]

    def _used_arguments(self, table: _Table) -> list[tuple[Any, ...]]:
        return [
            (card.handle, rows, count, since)
            for card, (count, rows), since in zip(self._cards, table.places, self._since, strict=True)
        ]

    def _lose(self, codes: list[int]) -> None:
        """A card that is gone is named; it is asked until all parts are made anew, which costs little."""
        for n, code in enumerate(codes):
            if code in GONE:
                self.gone.append(Gone(self._cards[n % len(self._cards)].index, code))

    def close(self) -> None:
        """Nothing is held open."""
