"""Tables that grow row by row while a file is read: eight bytes a cell, each text kept once."""

from array import array
from collections.abc import Hashable
from dataclasses import fields
from typing import Generic, TypeVar

import numpy as np

from otel_attrib.analytics.profiles.timeline import Table

__all__ = ["Codes", "Growing"]

T = TypeVar("T", bound=Hashable)
R = TypeVar("R", bound=Table)


class Codes(Generic[T]):
    """Values that are kept once, numbered in the order in which they came."""

    def __init__(self) -> None:
        """Start with none."""
        self._codes: dict[T, int] = {}

    def code(self, value: T) -> int:
        """Return the value's number."""
        return self._codes.setdefault(value, len(self._codes))

    def values(self) -> tuple[T, ...]:
        """Return all values; each stands at its number."""
        return tuple(self._codes)


class Growing(Generic[R]):
    """Rows of one table, in the order of its fields."""

    def __init__(self, table: type[R]) -> None:
        """Start empty."""
        self._table = table
        self._names = [field.name for field in fields(table)]
        self._cells = array("q")

    def add(self, *row: int) -> None:
        """Append one row (start_ns, duration_ns, and the columns that the table adds)."""
        self._cells.extend(row)

    def table(self) -> R:
        """Return the rows in the order of their starts; equal starts stay as they came."""
        cells = np.frombuffer(self._cells, np.int64).reshape(-1, len(self._names))
        order = np.argsort(cells[:, 0], kind="stable")
        return self._table(**{name: cells[order, at] for at, name in enumerate(self._names)})
