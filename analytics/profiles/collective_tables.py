"""How long a collective takes where it was measured alone: `data/collectives.csv.gz`, see `data/SOURCE.md`.

Between two measured sizes the time is a straight line in the logarithms of both; below the smallest it is
the smallest's (all start), above the largest it grows with the bytes (all link). A measured size gives its
measured time exactly. Bytes are those of the whole message, as nccl-tests count them: what all ranks
together contribute to an all-gather or take from a reduce-scatter.
"""

import csv
import gzip
import io
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final

import numpy as np

__all__ = ["Measured", "Table", "measured", "table_of"]

_FORMATS: Final = {"NCCL": ("half", "int8"), "vLLM": ("bfloat16",)}


@dataclass(frozen=True, slots=True)
class Table:
    """One card, library, collective, number format and number of ranks: bytes, ascending, and µs."""

    library: str
    dtype: str
    bytes: tuple[int, ...]
    us: tuple[float, ...]

    def time_us(self, size: int) -> float:
        """Return the time of a message of this many bytes."""
        if size <= self.bytes[0]:
            return self.us[0]
        if size >= self.bytes[-1]:
            return self.us[-1] * size / self.bytes[-1]
        place = int(np.searchsorted(self.bytes, size))
        if self.bytes[place] == size:
            return self.us[place]
        low, high = place - 1, place
        along = np.log(size / self.bytes[low]) / np.log(self.bytes[high] / self.bytes[low])
        return float(self.us[low] * (self.us[high] / self.us[low]) ** along)


@dataclass(frozen=True, slots=True)
class Measured:
    """The measured time of one message, and whose measurement it is; `us` is None where there is none."""

    us: float | None
    source: str


def measured(card: str, library: str, collective: str, dtype_bytes: int, ranks: int, size: int) -> Measured:
    """Return the time measured for a message on a card (its key for tables), or why there is none."""
    if not card:
        return Measured(None, "no table for this card")
    table = table_of(card, library, collective, dtype_bytes, ranks)
    if table is None:
        return Measured(None, f"no {library} table of {collective} with {ranks} ranks for {card}")
    return Measured(table.time_us(size), f"{table.library}, {table.dtype}, {card}")


def table_of(card: str, library: str, collective: str, dtype_bytes: int, ranks: int) -> Table | None:
    """Return the table; numbers of one byte have their own, wider ones share that of two bytes."""
    names = _FORMATS[library]
    wanted = names[-1] if dtype_bytes == 1 else names[0]
    return _tables().get((card, library, collective, wanted, ranks))


@lru_cache(maxsize=1)
def _tables() -> dict[tuple[str, str, str, str, int], Table]:
    raw = files("otel_attrib.analytics.profiles").joinpath("data", "collectives.csv.gz").read_bytes()
    points: dict[tuple[str, str, str, str, int], list[tuple[int, float]]] = defaultdict(list)
    libraries: dict[tuple[str, str, str, str, int], str] = {}
    for row in csv.DictReader(io.StringIO(gzip.decompress(raw).decode())):
        library = row["library"].split(" ")[0]
        key = (row["card"], library, row["collective"], row["dtype"], int(row["ranks"]))
        points[key].append((int(row["bytes"]), float(row["us"])))
        libraries[key] = row["library"]
    return {key: _table(libraries[key], key[3], sorted(rows)) for key, rows in points.items()}


def _table(library: str, dtype: str, rows: list[tuple[int, float]]) -> Table:
    return Table(library, dtype, tuple(size for size, _ in rows), tuple(us for _, us in rows))
