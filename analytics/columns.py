"""One metric's rows of one window as typed columns: what every calculation of a change takes.

A row is one value (a request; for TBT a gap, whose request is its cluster). Its parts are the stages
and, last, `outside`; they add up to its value. A stage not observed is 0 there and False in `observed`;
its time stands in `outside`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from otel_attrib.analytics.codes import held

__all__ = ["Dimension", "Floats", "Ints", "Rows"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Dimension:
    """One column of names, as codes into `labels`; `codes` is (n,)."""

    codes: Ints
    labels: tuple[str, ...]

    @classmethod
    def of(cls, words: Sequence[str] | pa.ChunkedArray | NDArray[np.str_]) -> "Dimension":
        """Encode words; labels are sorted, so equal rows give equal codes."""
        column = _column(words)
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        whole = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
        # The dictionary may skip and repeat words; labels are those that occur, in order.
        found = np.asarray(whole.dictionary.to_pylist(), np.str_)
        codes = whole.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        labels, rank = np.unique(found, return_inverse=True)
        used = held(rank[codes])
        place = np.searchsorted(used, rank)
        return cls(place[codes].astype(np.int64), tuple(str(label) for label in labels[used]))

    def take(self, rows: Ints | Flags | slice) -> "Dimension":
        """Return the same labels with the chosen rows."""
        return Dimension(self.codes[rows], self.labels)

    def words(self) -> NDArray[np.str_]:
        """Return (n,) words."""
        return np.asarray(self.labels, dtype=np.str_).take(self.codes)


def _column(words: Sequence[str] | pa.ChunkedArray | NDArray[np.str_]) -> pa.ChunkedArray:
    if not isinstance(words, pa.ChunkedArray | pa.Array):
        return pa.array(np.asarray(words).tolist(), pa.string())
    return pc.fill_null(pc.cast(words, pa.string()), "") if words.null_count else words


@dataclass(frozen=True)
class Rows:
    """Typed columns of n rows; times in ms, arrival in µs since 1970.

    names: K stage names, `outside` last. parts: (n, K). observed: (n, K). prompt, cached, output: (n,)
    tokens (cached 0 where unknown). dims: by name, each (n,). cluster: (n,), which request a row belongs
    to. trace_ids: (n,). total: rows of the window in the store; above n when these are a sample of them.
    """

    names: tuple[str, ...]
    parts: Floats
    observed: Flags
    time_us: Ints
    prompt: Floats
    cached: Floats
    output: Floats
    dims: dict[str, Dimension]
    cluster: Ints
    trace_ids: NDArray[np.object_]
    total: int

    @property
    def n(self) -> int:
        """Return the number of rows at hand."""
        return int(self.parts.shape[0])

    @cached_property
    def values(self) -> Floats:
        """Return (n,) values in ms: the sums of the parts."""
        values: Floats = self.parts.sum(axis=1)
        return values

    def stage(self, name: str) -> Floats:
        """Return (n,) ms of one stage."""
        return self.parts[:, self.names.index(name)]

    def take(self, rows: Ints | Flags | slice) -> "Rows":
        """Return the chosen rows in the given order; `total` shrinks in proportion."""
        parts = self.parts[rows]
        share = parts.shape[0] / max(1, self.n)
        return Rows(
            names=self.names,
            parts=parts,
            observed=self.observed[rows],
            time_us=self.time_us[rows],
            prompt=self.prompt[rows],
            cached=self.cached[rows],
            output=self.output[rows],
            dims={name: column.take(rows) for name, column in self.dims.items()},
            cluster=self.cluster[rows],
            trace_ids=self.trace_ids[rows],
            total=round(self.total * share),
        )

    def fold(self, stages: Sequence[str]) -> "Rows":
        """Return the same rows with `stages` counted into `outside`, as if nobody had observed them."""
        parts, observed = self.parts.copy(), self.observed.copy()
        for name in stages:
            column = self.names.index(name)
            parts[:, -1] += parts[:, column]
            parts[:, column] = 0.0
            observed[:, column] = False
        return replace(self, parts=parts, observed=observed)
