"""What the maps of `sched.c` say, turned into totals of each process: pure, whatever kernel they came from.

A total is the sum of what ended plus what goes on at this moment, so that a wait of a minute is seen while it
lasts. The kernel's sums are read before its threads: what ends in between is missing once, never double, and
`Highest` keeps the total from falling.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from otel_attrib.collector.sources.ebpf.reasons import reason_of

__all__ = ["MAPS", "THREAD", "Highest", "Sums", "blocked_sums", "ongoing"]

MAPS: Final[Mapping[str, tuple[str, str]]] = {
    "watched": ("I", "I"),
    "threads": ("I", "IiQQQ"),
    "blocked": ("Ii", "QQ"),
    "queued": ("I", "162Q"),
    "lost": ("I", "Q"),
}
"""The maps of `sched.c`: formats of key and value."""

THREAD: Final = np.dtype(
    [("pid", "u4"), ("call", "i4"), ("blocked_since", "u8"), ("runnable_since", "u8"), ("running", "u8")]
)
"""A value of `threads`."""

Key = tuple[int, str]


@dataclass(slots=True)
class Sums:
    """By process and reason: how often, and for how many ns."""

    count: int = 0
    ns: int = 0


def blocked_sums(rows: Iterable[tuple[tuple[int, int], tuple[int, int]]]) -> dict[Key, Sums]:
    """Return the ended spells by (pid, reason) from ((pid, call), (count, ns))."""
    found: dict[Key, Sums] = {}
    for (pid, call), (count, ns) in rows:
        sums = found.setdefault((pid, reason_of(call)), Sums())
        sums.count += count
        sums.ns += ns
    return found


def ongoing(threads: bytes, now_ns: int) -> tuple[dict[Key, int], dict[int, int]]:
    """Return what goes on at `now_ns`: blocked ns by (pid, reason), and run-queue ns by pid."""
    rows = np.frombuffer(threads, THREAD)
    blocked: dict[Key, int] = {}
    for pid, call, ns in _grouped(rows, "blocked_since", now_ns):
        key = pid, reason_of(call)
        blocked[key] = blocked.get(key, 0) + ns
    waiting: dict[int, int] = {}
    for pid, _, ns in _grouped(rows, "runnable_since", now_ns):
        waiting[pid] = waiting.get(pid, 0) + ns
    return blocked, waiting


def _grouped(rows: NDArray[np.void], since: str, now_ns: int) -> Iterator[tuple[int, int, int]]:
    """Pid, system call and summed ns of the threads for which `since` is set."""
    open_ = rows[(rows[since] > 0) & (rows[since] < now_ns)]
    both = open_["pid"].astype(np.int64) << 32 | open_["call"].astype(np.int64) & 0xFFFFFFFF
    keys, place = np.unique(both, return_inverse=True)
    sums = np.bincount(place, weights=(now_ns - open_[since].astype(np.int64)), minlength=len(keys))
    for key, ns in zip(keys.tolist(), sums.tolist(), strict=True):
        call = key & 0xFFFFFFFF
        yield key >> 32, call - (1 << 32) if call >> 31 else call, int(ns)


class Highest:
    """Totals that never fall: each answers the highest value it has seen."""

    def __init__(self) -> None:
        """Nothing seen."""
        self._seen: dict[object, int] = {}

    def of(self, key: object, value: int) -> int:
        """Return `value`, or what was said before where that is more."""
        if value < (before := self._seen.get(key, 0)):
            return before
        self._seen[key] = value
        return value

    def forget(self, pid: int) -> None:
        """Drop what begins with this pid: a later process may have it again."""
        self._seen = {key: value for key, value in self._seen.items() if not _is_of(key, pid)}


def _is_of(key: object, pid: int) -> bool:
    return key == pid or (isinstance(key, tuple) and key[0] == pid)
