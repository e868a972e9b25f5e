"""From columns of a block to readings, what a card's own links allow at most, and lines for the user.

A driver's counters lie at times (an idle card was seen reporting 209,713 MB/s over PCIe). What a series can
be at most is its counter's `most`, and for rates what this card's link carries: the agent refuses and counts
whatever is above.
"""

import logging
from dataclasses import replace

import numpy as np

from otel_attrib.collector.agent.source import Series
from otel_attrib.collector.sources.nvml_block import Block
from otel_attrib.collector.sources.nvml_columns import Columns, Named

__all__ = ["SLACK", "Notices", "Outputs", "capped"]

_log = logging.getLogger(__name__)

SLACK = 1.05
"""Two reads are not exactly as far apart as the two samples behind them."""

_MOST_SAID = 1024


def capped(named: Series, most: float) -> Series:
    """The same series, of which a value more than 5 % above `most` is no measurement."""
    limit = min(named.counter.most, most * SLACK)
    return Series(replace(named.counter, most=limit), named.device, named.attributes)


class Notices:
    """Lines for the user, each logged once until it is forgotten: a storm of events fills no disk."""

    def __init__(self) -> None:
        """Start with nothing said."""
        self._said: set[str] = set()

    def say(self, line: str) -> None:
        """Log a line that has not been said."""
        if line not in self._said and len(self._said) < _MOST_SAID:
            self._said.add(line)
            _log.warning("%s", line)

    def over(self, line: str, news: str) -> None:
        """Log that what a line told of is over; both may be said again."""
        if line in self._said:
            self._said.discard(line)
            _log.warning("%s", news)


class Outputs:
    """Columns of one block that are readings as they are, times a factor."""

    def __init__(self) -> None:
        """Start without columns."""
        self._series: list[Series] = []
        self._columns: list[int] = []
        self._factors: list[float] = []

    def add(self, series: Series, column: int, factor: float = 1.0) -> None:
        """Give `factor` times this column as `series`."""
        self._series.append(series)
        self._columns.append(column)
        self._factors.append(factor)

    def seal(self) -> None:
        """Fix the columns; nothing may be added after."""
        self._named = Named(self._series)
        self._at = np.array(self._columns, dtype=np.intp)
        self._factor = np.array(self._factors)

    def columns(self, block: Block) -> Columns:
        """Return what the block's last read says."""
        numbers = block.values[self._at]
        numbers *= self._factor
        return self._named.columns(numbers, None if block.whole else block.good[self._at])
