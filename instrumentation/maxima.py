"""The largest value since a step, for any step, at a constant cost per step."""

from bisect import bisect_left

__all__ = ["RecentMaximum"]

KEPT = 8192


class RecentMaximum:
    """Keeps the values that are a maximum of all later ones, so the largest since step n is one search away.

    At most `KEPT` such values: a question about a step before those is answered from the oldest kept.
    """

    __slots__ = ("_steps", "_values")

    def __init__(self) -> None:
        """Start empty."""
        self._steps: list[int] = []
        self._values: list[int] = []

    def add(self, step: int, value: int) -> None:
        """Append the value of one step; steps come in order."""
        values, steps = self._values, self._steps
        while values and values[-1] <= value:
            values.pop()
            steps.pop()
        values.append(value)
        steps.append(step)
        if len(steps) > KEPT:
            del values[: KEPT // 2], steps[: KEPT // 2]

    def since(self, step: int) -> int:
        """Return the largest value of `step` and later, 0 if there is none."""
        position = bisect_left(self._steps, step)
        return self._values[position] if position < len(self._values) else 0
