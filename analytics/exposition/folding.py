"""A bound on how many label sets /metrics shows, whatever models and errors clients make up.

Names of models and errors come with requests, so there may be any number of them. The first `MOST` sets keep
series of their own for as long as the process lives, those with the most requests first; all others are
counted together, their names `_OTHER`, OpenTelemetry's word for what has none. A set never changes sides, so
counters only grow.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

__all__ = ["MOST", "OTHER", "Folding"]

MOST: Final = 1000
"""Label sets with series of their own: a hundred lines each, which a scrape still takes in a second."""

OTHER: Final = "_OTHER"
"""What the names of the rest are replaced by."""

_KEPT: Final = ("status",)  # one of four words

Row = Mapping[str, Any]


class Folding:
    """Remembers which label sets have series of their own."""

    def __init__(self, most: int = MOST) -> None:
        """Keep the bound."""
        self._most = most
        self._own: set[tuple[str, ...]] = set()

    def folded(self, rows: Sequence[Row], columns: Sequence[str]) -> list[Row]:
        """The rows, those beyond the bound added up; `columns` are what tells them apart."""
        kept: list[Row] = []
        rest: dict[tuple[str, ...], dict[str, Any]] = {}
        for row in sorted(rows, key=lambda row: -int(row["requests"])):
            if self._has_own(tuple(row[name] for name in columns)):
                kept.append(row)
                continue
            named = {name: row[name] if name in _KEPT else OTHER for name in columns}
            _add(rest.setdefault(tuple(named.values()), named), row, columns)
        return [*kept, *rest.values()]

    def _has_own(self, key: tuple[str, ...]) -> bool:
        if key not in self._own and len(self._own) < self._most:
            self._own.add(key)
        return key in self._own


def _add(into: dict[str, Any], row: Row, columns: Iterable[str]) -> None:
    for name, value in row.items():
        if name in columns:
            continue
        if isinstance(value, Mapping):
            held = into.setdefault(name, {})
            for bound, n in value.items():
                held[bound] = held.get(bound, 0) + n
        else:
            into[name] = into.get(name, 0) + value
