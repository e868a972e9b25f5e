"""Readings as columns: the series once, their numbers in an array, nothing made anew for each value.

A thousand series at ten reads a second leave no time for a Python object each. `Columns` pairs a tuple of
series, known by its identity, with (n,) numbers; those of one read are joined to `Readings`, whose layout is
remembered as long as the same tuples come again.
"""

from collections import OrderedDict
from collections.abc import Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from otel_attrib.collector.agent.readings import Layout, Readings
from otel_attrib.collector.agent.source import Series

__all__ = ["Columns", "Joined", "Named"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

Columns = tuple[tuple[Series, ...], Floats]
"""Series and their numbers, in the counters' units."""

_REMEMBERED = 32


class Named:
    """The series of some columns; which of them were left out is remembered, so that tuples come again."""

    def __init__(self, series: Sequence[Series]) -> None:
        """Keep their order."""
        self.series = tuple(series)
        self._parts: OrderedDict[bytes, tuple[Series, ...]] = OrderedDict()

    def columns(self, numbers: Floats, kept: Flags | None = None) -> Columns:
        """Return all columns, or those that are `kept`."""
        if kept is None:
            return self.series, numbers
        key = kept.tobytes()
        if key not in self._parts:
            self._parts[key] = tuple(compress(self.series, kept.tolist()))
            if len(self._parts) > _REMEMBERED:
                self._parts.popitem(last=False)
        return self._parts[key], numbers[kept]


class Joined:
    """Columns of one read, joined."""

    def __init__(self) -> None:
        """Know no layout yet."""
        self._known: OrderedDict[tuple[int, ...], tuple[list[tuple[Series, ...]], Layout]] = OrderedDict()

    def readings(self, parts: Sequence[Columns]) -> Readings:
        """Return everything in one layout, the same object for the same tuples of series."""
        key = tuple(id(series) for series, _ in parts)
        found = self._known.get(key)
        if found is None:
            named = [series for series, _ in parts]  # held, or an id could come to mean another tuple
            found = named, Layout(tuple(one for series in named for one in series))
            self._known[key] = found
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(key)
        numbers = [values for _, values in parts]
        return Readings(found[1], np.concatenate(numbers) if numbers else np.zeros(0))
