"""The series of the `samples` table: rows of known counters, sorted by series and time.

Two rows belong to one series when counter, node, device, service and all attributes agree: a total
must be followed one series at a time, or every other reading would look like a restart.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from otel_attrib.analytics.columns import Flags, Floats, Ints
from otel_attrib.schema.counters import COUNTERS

__all__ = ["CLOCK_ATTRIBUTE", "Readings", "read_series"]

CLOCK_ATTRIBUTE = "slatag.clock_uncertainty_us"
MIX = np.uint64(0x9E3779B97F4A7C15)
FOLD = np.uint64(0xBF58476D1CE4E5B9)
SHIFT = np.uint64(29)


@dataclass(frozen=True)
class Readings:
    """n readings sorted by counter, place, series and time; `node` and `device` are codes into the names."""

    counter: Ints
    node: Ints
    device: Ints
    identity: NDArray[np.uint64]
    time_us: Ints
    value: Floats
    nodes: tuple[str, ...]
    devices: tuple[str, ...]

    @property
    def size(self) -> int:
        """Return the number of readings."""
        return int(self.value.size)

    def of(self, counter: int) -> "Readings":
        """Return the readings of one counter, which lie together."""
        low, high = np.searchsorted(self.counter, [counter, counter + 1])
        return self.take(slice(int(low), int(high)))

    def take(self, rows: Flags | slice) -> "Readings":
        """Return the chosen readings in the same order."""
        return Readings(
            self.counter[rows],
            self.node[rows],
            self.device[rows],
            self.identity[rows],
            self.time_us[rows],
            self.value[rows],
            self.nodes,
            self.devices,
        )

    def series(self) -> tuple[Ints, Ints]:
        """Return (n,) series numbers of one counter's readings and (series,) the first reading of each."""
        change = np.zeros(self.size, dtype=np.bool_)
        change[0] = True
        for column in (self.node, self.device, self.identity):
            change[1:] |= column[1:] != column[:-1]
        return np.cumsum(change) - 1, np.flatnonzero(change)


def read_series(samples: pa.Table) -> tuple[Readings, float | None]:
    """Return the readings of all known counters, and the largest clock uncertainty that they tell of (µs)."""
    if not samples.num_rows or "metric" not in samples.column_names:
        return _sorted(pl.DataFrame(schema=_SCHEMA), (), ()), None
    known = pc.is_in(_text(samples["metric"]), pa.array(sorted({counter.metric for counter in COUNTERS})))
    table = samples.filter(known)
    bag = _Bag.of(table)
    counter = _counters(table, bag)
    node, nodes = _coded(table["node"])
    device, devices = _coded(table["device"])
    frame = pl.DataFrame(
        {
            "counter": counter,
            "node": node,
            "device": device,
            "identity": bag.identities(_coded(table["service"])[0]),
            "time_us": pc.cast(table["time"], pa.int64()).to_numpy().astype(np.int64),
            "value": pc.cast(table["value"], pa.float64()).to_numpy().astype(np.float64),
        },
        schema=_SCHEMA,
    ).filter(pl.col("counter") >= 0)
    return _sorted(frame, nodes, devices), bag.largest(CLOCK_ATTRIBUTE)


_SCHEMA = {
    "counter": pl.Int64,
    "node": pl.Int64,
    "device": pl.Int64,
    "identity": pl.UInt64,
    "time_us": pl.Int64,
    "value": pl.Float64,
}


def _sorted(frame: pl.DataFrame, nodes: tuple[str, ...], devices: tuple[str, ...]) -> Readings:
    ordered = frame.sort("counter", "node", "device", "identity", "time_us", "value")
    return Readings(
        counter=ordered["counter"].to_numpy(),
        node=ordered["node"].to_numpy(),
        device=ordered["device"].to_numpy(),
        identity=ordered["identity"].to_numpy(),
        time_us=ordered["time_us"].to_numpy(),
        value=ordered["value"].to_numpy(),
        nodes=nodes,
        devices=devices,
    )


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.cast(column, pa.string()) if pa.types.is_dictionary(column.type) else column


def _coded(column: pa.ChunkedArray) -> tuple[Ints, tuple[str, ...]]:
    """Return codes into the sorted distinct words: the order of the rows does not matter."""
    words = pc.dictionary_encode(_text(column)).combine_chunks()
    if isinstance(words, pa.ChunkedArray):
        words = words.unify_dictionaries().combine_chunks() if words.num_chunks > 1 else words.chunk(0)
    names = np.asarray(words.dictionary.to_pylist(), dtype=np.str_)
    labels, order = np.unique(names, return_inverse=True)
    codes: Ints = order.astype(np.int64)[words.indices.to_numpy(zero_copy_only=False)]
    return codes, tuple(str(label) for label in labels)


def _counters(table: pa.Table, bag: "_Bag") -> Ints:
    """Return (n,) places in COUNTERS, −1 where the attribute that selects fits none."""
    metric, names = _coded(table["metric"])
    out = np.full(table.num_rows, -1, dtype=np.int64)
    for code, counter in enumerate(COUNTERS):
        if counter.metric not in names:
            continue
        mine = metric == names.index(counter.metric)
        if counter.select is not None:
            mine &= bag.has(*counter.select)
        out[mine] = code
    return out


@dataclass(frozen=True)
class _Bag:
    """The attributes of n rows, flat: entry e is `keys[key[e]] = items[item[e]]` of row `owner[e]`."""

    rows: int
    owner: Ints
    key: Ints
    item: Ints
    keys: tuple[str, ...]
    items: tuple[str, ...]

    @classmethod
    def of(cls, table: pa.Table) -> "_Bag":
        if "attributes" not in table.column_names or not table.num_rows:
            none = np.empty(0, dtype=np.int64)
            return cls(table.num_rows, none, none, none, (), ())
        maps = table["attributes"].combine_chunks()
        maps = maps.chunk(0) if isinstance(maps, pa.ChunkedArray) else maps
        offsets = maps.offsets.to_numpy()
        low, high = int(offsets[0]), int(offsets[-1])
        key, keys = _coded(pa.chunked_array([maps.keys[low:high]]))
        item, items = _coded(pa.chunked_array([maps.items[low:high]]))
        owner = np.repeat(np.arange(table.num_rows), np.diff(offsets))
        return cls(table.num_rows, owner, key, item, keys, items)

    def has(self, key: str, item: str) -> Flags:
        """Return (n,) whether a row says `key=item`."""
        out = np.zeros(self.rows, dtype=np.bool_)
        if key in self.keys and item in self.items:
            fits = (self.key == self.keys.index(key)) & (self.item == self.items.index(item))
            out[self.owner[fits]] = True
        return out

    def largest(self, key: str) -> float | None:
        """Return the largest number that any row has under `key`."""
        if key not in self.keys:
            return None
        numbers = [
            _number(self.items[code]) for code in np.unique(self.item[self.key == self.keys.index(key)])
        ]
        return max((number for number in numbers if number is not None), default=None)

    def identities(self, service: Ints) -> NDArray[np.uint64]:
        """Return (n,) hashes of service and attributes, blind to their order and to the clock's quality."""
        entry = (self.key.astype(np.uint64) + np.uint64(1)) * MIX
        entry ^= (self.item.astype(np.uint64) + np.uint64(1)) * FOLD
        entry = (entry ^ (entry >> SHIFT)) * MIX
        if CLOCK_ATTRIBUTE in self.keys:
            entry[self.key == self.keys.index(CLOCK_ATTRIBUTE)] = 0
        out = (service.astype(np.uint64) + np.uint64(1)) * FOLD
        np.add.at(out, self.owner, entry)
        return out


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
