"""When each total began: at the agent's first sight of it, and anew where it fell.

A counter that fell was restarted, by a reload of a driver or a restart of a process, or has wrapped. Where
the clock was set back, the start goes back with it: no point is before its start.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from otel_attrib.collector.agent.source import Series

__all__ = ["Starts"]

# Totals that were not seen for so many rounds are forgotten: processes and connections come and go.
_FORGET_AFTER = 360


class Starts:
    """Start time and last value of every total that is still read."""

    def __init__(self) -> None:
        """Nothing was seen."""
        self._seen: dict[Series, tuple[int, float, int]] = {}
        self._round = 0

    def of(
        self, totals: Sequence[Series], times: NDArray[np.int64], values: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """The start (ns) of each value: a row a read, a column a total."""
        fresh = (int(times[0]), -1.0, 0)
        known = [self._seen.get(each, fresh) for each in totals]
        starts = np.empty(values.shape, dtype=np.int64)
        starts[:] = [start for start, _, _ in known]
        # A clock that was set back would leave points before their start, which no receiver can read.
        back = np.flatnonzero(np.diff(times) < 0) + 1
        for row in (0, *back.tolist()):
            starts[row:] = np.minimum(starts[row:], times[row])
        before = np.vstack([[last for _, last, _ in known], values[:-1]]) if totals else values
        for row, column in np.argwhere(values < before):
            starts[row:, column] = times[row]
        starts = np.minimum(starts, times[:, None])
        ends = zip(totals, starts[-1].tolist(), values[-1].tolist(), strict=True)
        self._seen.update((each, (start, last, self._round)) for each, start, last in ends)
        return starts

    def forget(self) -> None:
        """One round is over; let go of what has long not been seen."""
        self._round += 1
        if self._round % _FORGET_AFTER == 0:
            oldest = self._round - _FORGET_AFTER
            self._seen = {each: entry for each, entry in self._seen.items() if entry[2] > oldest}
