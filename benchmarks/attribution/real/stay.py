"""In which steps of the engine a request was: what Stormlog's hook writes down, worked out from the store.

A request row tells its first and last step, its output tokens, the pieces its prompt was computed in and
how often it was preempted; a step row tells how many were preempted in it. Without a preemption the steps
are all from the first to the last. A preempted request leaves for as many steps as it was there longer than
its tokens need; a step preempts the requests admitted last, as vLLM does.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Row", "Stay", "stays"]

Row = Mapping[str, Any]


@dataclass(slots=True)
class Stay:
    """One request in the engine: the steps `first` to `last`, away from each `left` for so many steps."""

    row: Row
    first: int
    last: int
    away: dict[int, int] = field(default_factory=dict)
    preemptions: int = 0

    @property
    def chunks(self) -> int:
        """The steps that its prompt was computed in."""
        return int(self.row["prefill_chunks"] or 1)

    @property
    def idle(self) -> int:
        """The steps between its first and its last that it was not in."""
        tokens: int = max(self.row["output_tokens"] - 1, 0)
        return max(self.last - self.first + 1 - self.chunks - tokens, 0)

    def steps(self) -> list[tuple[int, bool]]:
        """Each step it was in, and whether it came back in it."""
        found, step, back = [], self.first, False
        while step <= self.last:
            gone = self.away.get(step, 0)
            if gone and not back:
                step, back = step + gone, True
                continue
            found.append((step, back))
            step, back = step + 1, False
        return found


def stays(requests: Sequence[Row], steps: Sequence[Row]) -> tuple[list[Stay], dict[int, list[Stay]]]:
    """Return the stays of all requests that were in a step, and who was preempted in which step.

    The rows are those of one engine process, the steps in order of their numbers.
    """
    starts = [step["at_ns"] for step in steps]
    numbers = [step["step"] for step in steps]
    found = [stay for row in requests if (stay := _stay(row, starts, numbers)) is not None]
    return found, _preempted(found, steps)


def _stay(row: Row, starts: Sequence[int], numbers: Sequence[int]) -> Stay | None:
    first = row["first_step"]
    if first is None or not numbers or first > numbers[-1]:
        return None
    last = row["last_step"]
    if last is None:  # its client gave up: the last step begun before it left
        left = row["at_ns"] + round((row["e2e_us"] or 0.0) * 1000)
        last = numbers[max(bisect_right(starts, left) - 1, 0)]
    return Stay(row, first, max(first, last), preemptions=row["preemptions"] or 0)


def _preempted(found: Sequence[Stay], steps: Sequence[Row]) -> dict[int, list[Stay]]:
    open_ = sorted((stay for stay in found if stay.preemptions), key=lambda stay: stay.first)
    left = {id(stay): stay.preemptions for stay in open_}
    hit: dict[int, list[Stay]] = {}
    for step in steps:
        number = step["step"]
        for _ in range(step["preemptions"] or 0):
            victim = _victim(open_, left, number)
            if victim is None:
                break
            left[id(victim)] -= 1
            # Of several absences only the sum is known: they are taken to be as long as each other.
            victim.away[number] = max(victim.idle // victim.preemptions, 1)
            hit.setdefault(number, []).append(victim)
    return hit


def _victim(open_: Sequence[Stay], left: Mapping[int, int], number: int) -> Stay | None:
    """Of the requests running then that are still to be preempted, the one admitted last."""
    running = [
        stay
        for stay in open_
        if left[id(stay)]
        and stay.first < number <= stay.last
        and not any(at <= number < at + gone for at, gone in stay.away.items())
    ]
    return running[-1] if running else None
