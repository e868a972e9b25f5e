"""One read as columns: its series, known by identity, and its numbers in an array.

A source gives the same series at nearly every read, so what is known of a series (its bounds here, its
encoded attributes in `encode`) is kept per *layout*, the tuple of the series of one read. A layout that comes
again costs one comparison of pointers; the last few of a source are remembered, no more.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import overload

import numpy as np
from numpy.typing import NDArray

from otel_attrib.collector.agent.source import Reading, Series

__all__ = ["Layout", "Layouts", "Readings"]

Numbers = NDArray[np.float64]

# Infinity is no measurement either, so every bound is a finite number.
_MOST = float(np.finfo(np.float64).max)


class Layout:
    """The series of one read in their order, and the bounds outside which a value is no measurement."""

    __slots__ = ("least", "most", "series")

    def __init__(self, series: tuple[Series, ...]) -> None:
        """Look the bounds up: a total is never negative, and no counter says more than its `most`."""
        counters = [each.counter for each in series]
        self.series = series
        self.least = np.array([0.0 if counter.kind == "total" else -_MOST for counter in counters])
        self.most = np.array([min(counter.most, _MOST) for counter in counters])


class Readings(Sequence[Reading]):
    """What one read gave: a sequence of (series, value), kept as a layout and an array."""

    __slots__ = ("layout", "values")

    def __init__(self, layout: Layout, values: Numbers) -> None:
        """Keep both; they are of one length."""
        self.layout = layout
        self.values = values

    def __len__(self) -> int:
        """How many values were read."""
        return len(self.layout.series)

    def __iter__(self) -> Iterator[Reading]:
        """Series and value, in the order in which the source gave them."""
        return zip(self.layout.series, self.values.tolist(), strict=True)

    @overload
    def __getitem__(self, index: int) -> Reading: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Reading]: ...
    def __getitem__(self, index: int | slice) -> Reading | Sequence[Reading]:
        """One reading, or a list of some."""
        if isinstance(index, slice):
            return list(zip(self.layout.series[index], self.values[index].tolist(), strict=True))
        return self.layout.series[index], float(self.values[index])


class Layouts:
    """The layouts of one source; what it gives comes out as `Readings` without what is no measurement."""

    def __init__(self, remembered: int = 8) -> None:
        """Remember so many layouts, those seen last."""
        self._most = remembered
        self._known: OrderedDict[tuple[Series, ...], Layout] = OrderedDict()
        self._last = Layout(())

    def taken(self, pairs: Iterable[Reading]) -> tuple[Readings, list[Reading]]:
        """What can be believed, and what was refused: not finite, above `most`, or a negative total."""
        layout, values = self._columns(pairs)
        series = layout.series
        good = (values >= layout.least) & (values <= layout.most)
        if good.all():
            return Readings(layout, values), []
        bad = ~good
        refused = list(zip(compress(series, bad), values[bad].tolist(), strict=True))
        return Readings(self._layout(tuple(compress(series, good))), values[good]), refused

    def _columns(self, pairs: Iterable[Reading]) -> tuple[Layout, Numbers]:
        """A source with very many series may give `Readings` itself, with a layout that it remembers."""
        if isinstance(pairs, Readings):
            return pairs.layout, pairs.values
        columns = tuple(zip(*pairs, strict=True))
        series, numbers = columns or ((), ())
        return self._layout(series), np.array(numbers, dtype=np.float64)

    def _layout(self, series: tuple[Series, ...]) -> Layout:
        if series == self._last.series:
            return self._last
        self._last = self._known.pop(series) if series in self._known else Layout(series)
        self._known[series] = self._last
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return self._last
