"""Steps of the engine: appended one by one on its thread, packed into columns on another.

Appending is one tuple into a bounded queue; `take()` packs what is there, at most 256 consecutive
steps a slice, so neither side waits for the other.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from otel_attrib.schema.attributes import (
    STEP_COLUMNS,
    STEPS_COUNT,
    STEPS_FIRST,
    STEPS_PER_SPAN,
    steps_attribute,
)

__all__ = ["FIELDS", "Row", "Slice", "StepLog"]

FIELDS = ("number", *STEP_COLUMNS)
"""Fields of a row, in order; times are ns (`start_us` a monotonic stamp), -1 = not observed."""

Row = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int]

_IN_NS = frozenset(column for column, (unit, _) in STEP_COLUMNS.items() if unit == "us")
_START, _DURATION = FIELDS.index("start_us"), FIELDS.index("duration_us")


class Slice(NamedTuple):
    """Consecutive steps, ready to be sent: first start and last end (monotonic ns), and the attributes."""

    start: int
    end: int
    attributes: dict[str, Any]


class StepLog:
    """The steps of one engine process that have not been sent yet, at most `most`."""

    def __init__(self, most: int = 16384) -> None:
        """Start empty."""
        self.most = most
        self.dropped = 0
        self._rows: deque[Row] = deque()

    def append(self, row: Row) -> None:
        """Keep one step; one too many is dropped and counted."""
        if len(self._rows) < self.most:
            self._rows.append(row)
        else:
            self.dropped += 1

    def take(self) -> Iterator[Slice]:
        """Yield the steps since the last call; a gap in the numbers begins a new slice."""
        rows: list[Row] = []
        for _ in range(len(self._rows)):
            row = self._rows.popleft()
            if rows and (len(rows) == STEPS_PER_SPAN or row[0] != rows[-1][0] + 1):
                yield _slice(rows)
                rows = []
            rows.append(row)
        if rows:
            yield _slice(rows)


def _slice(rows: list[Row]) -> Slice:
    origin = rows[0][_START]
    end = max(row[_START] + row[_DURATION] for row in rows)
    columns = dict(zip(FIELDS, zip(*rows, strict=True), strict=True))
    columns["start_us"] = tuple(start - origin for start in columns["start_us"])
    packed: dict[str, Any] = {steps_attribute(name): _pack(name, columns[name]) for name in STEP_COLUMNS}
    return Slice(origin, end, packed | {STEPS_FIRST: rows[0][0], STEPS_COUNT: len(rows)})


def _pack(column: str, values: tuple[int, ...]) -> str:
    scale = 1000 if column in _IN_NS else 1
    return ",".join("" if value < 0 else str(value // scale) for value in values)
