"""Steps of the engine as packed columns: written by its thread, taken by another in slices.

One `StepLog` holds the columns of up to 256 consecutive steps. The engine's thread only appends;
`take()` reads the rows that are complete, so neither waits for the other.
"""

from array import array
from collections import deque
from typing import Any, NamedTuple

from otel_attrib.schema.attributes import (
    STEP_COLUMNS,
    STEPS_COUNT,
    STEPS_FIRST,
    STEPS_PER_SPAN,
    steps_attribute,
)

__all__ = ["COLUMNS", "Slice", "Step", "StepLog"]

COLUMNS = tuple(STEP_COLUMNS)
_IN_NS = frozenset(column for column, (unit, _) in STEP_COLUMNS.items() if unit == "us")
MOST_WAITING = 64
"""Full blocks kept for the other thread; 64 blocks are some minutes of steps."""


class Step(NamedTuple):
    """One step: `start` in monotonic ns, durations in ns, -1 = not observed; `number` counts up by one."""

    number: int
    start: int
    duration: int
    batch_size: int
    prefill_tokens: int
    decode_tokens: int
    waiting: int
    running: int
    preemptions: int
    kv_usage_ppm: int
    schedule: int
    forward: int
    sample: int
    collective: int
    copy: int
    output: int


class Slice(NamedTuple):
    """Consecutive steps, ready to be sent: the first one's start (monotonic ns) and the attributes."""

    start: int
    end: int
    attributes: dict[str, Any]


class _Block:
    """Room for 256 steps, column after column."""

    __slots__ = ("columns", "count", "first", "taken")

    def __init__(self, first: int) -> None:
        self.first = first
        self.count = 0
        self.taken = 0
        self.columns = [array("q", bytes(8 * STEPS_PER_SPAN)) for _ in COLUMNS]


class StepLog:
    """The steps of one engine process that have not been sent yet."""

    def __init__(self) -> None:
        """Start empty."""
        self.dropped = 0
        self._block = _Block(0)
        self._full: deque[_Block] = deque()

    def append(self, step: Step) -> None:
        """Keep one step; a gap in the numbers begins a new block, and the oldest of too many is dropped."""
        block = self._block
        if block.count == STEPS_PER_SPAN or step.number != block.first + block.count:
            block = self._next_block(step.number)
        row = block.count
        for column, value in zip(block.columns, step[1:], strict=True):
            column[row] = value
        block.count = row + 1  # last: the row is complete before it can be seen

    def _next_block(self, number: int) -> _Block:
        if self._block.count > self._block.taken:
            self._full.append(self._block)
        if len(self._full) > MOST_WAITING:
            lost = self._full.popleft()
            self.dropped += lost.count - lost.taken
        self._block = _Block(number)
        return self._block

    def take(self) -> list[Slice]:
        """Return the steps since the last call, at most 256 a slice."""
        slices = []
        while self._full:
            slices.append(_slice(self._full.popleft()))
        slices.append(_slice(self._block))
        return [found for found in slices if found is not None]


def _slice(block: _Block) -> Slice | None:
    low, high = block.taken, block.count
    if low == high:
        return None
    block.taken = high
    rows = dict(zip(COLUMNS, (column[low:high] for column in block.columns), strict=True))
    origin = rows["start_us"][0]
    end = max(start + duration for start, duration in zip(rows["start_us"], rows["duration_us"], strict=True))
    rows["start_us"] = array("q", (start - origin for start in rows["start_us"]))
    packed: dict[str, Any] = {steps_attribute(name): _pack(name, values) for name, values in rows.items()}
    return Slice(origin, end, packed | {STEPS_FIRST: block.first + low, STEPS_COUNT: high - low})


def _pack(column: str, values: "array[int]") -> str:
    scale = 1000 if column in _IN_NS else 1
    return ",".join("" if value < 0 else str(value // scale) for value in values)
