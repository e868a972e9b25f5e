"""The series of the `samples` table: rows of known counters, sorted by series and time.

Two rows belong to one series when counter, node, device, service and all attributes agree: a total
must be followed one series at a time, or every other reading would look like a restart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from otel_attrib.analytics.columns import Flags, Floats, Ints
from otel_attrib.schema.attributes import CLOCK_UNCERTAINTY_US, SOURCE
from otel_attrib.schema.counters import COUNTERS, Counter

__all__ = ["Readings", "clock_by_node", "one_source", "read_series"]

MIX = np.uint64(0x9E3779B97F4A7C15)
FOLD = np.uint64(0xBF58476D1CE4E5B9)
SHIFT = np.uint64(29)


@dataclass(frozen=True)
class Readings:
    """n readings sorted by counter, place, series and time.

    `node`, `device` and `source` are codes into the names; a source is what `slatag.source` says, often ''.
    """

    counter: Ints
    node: Ints
    device: Ints
    source: Ints
    identity: NDArray[np.uint64]
    time_us: Ints
    value: Floats
    nodes: tuple[str, ...]
    devices: tuple[str, ...]
    sources: tuple[str, ...]

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
            self.source[rows],
            self.identity[rows],
            self.time_us[rows],
            self.value[rows],
            self.nodes,
            self.devices,
            self.sources,
        )

    def series(self) -> tuple[Ints, Ints]:
        """Return (n,) series numbers of one counter's readings and (series,) the first reading of each."""
        change = np.zeros(self.size, dtype=np.bool_)
        change[0] = True
        for column in (self.node, self.device, self.source, self.identity):
            change[1:] |= column[1:] != column[:-1]
        return np.cumsum(change) - 1, np.flatnonzero(change)


def read_series(samples: pa.Table, counters: Sequence[Counter] = COUNTERS) -> tuple[Readings, float | None]:
    """Return the readings of these counters, and the largest clock uncertainty that they tell of (µs).

    `Readings.counter` holds places in `counters`.
    """
    if not samples.num_rows or "metric" not in samples.column_names:
        return _sorted(pl.DataFrame(schema=_SCHEMA), (), (), ()), None
    known = pc.is_in(_text(samples["metric"]), pa.array(sorted({counter.metric for counter in counters})))
    table = samples.filter(known)
    bag = _Bag.of(table)
    counter = _counters(table, bag, counters)
    node, nodes = _coded(table["node"])
    device, devices = _coded(table["device"])
    source, sources = bag.words(SOURCE)
    frame = pl.DataFrame(
        {
            "counter": counter,
            "node": node,
            "device": device,
            "source": source,
            "identity": bag.identities(_coded(table["service"])[0]),
            "time_us": pc.cast(table["time"], pa.int64()).to_numpy().astype(np.int64),
            "value": pc.cast(table["value"], pa.float64()).to_numpy().astype(np.float64),
        },
        schema=_SCHEMA,
    ).filter(pl.col("counter") >= 0)
    return _sorted(frame, nodes, devices, sources), bag.largest(CLOCK_UNCERTAINTY_US)


def clock_by_node(samples: pa.Table) -> dict[str, float]:
    """Return node → the largest clock uncertainty (µs) that its samples carry, if any does."""
    if not samples.num_rows or "attributes" not in samples.column_names:
        return {}
    numbers, items = _Bag.of(samples).words(CLOCK_UNCERTAINTY_US)
    node, nodes = _coded(samples["node"])
    found: dict[str, float] = {}
    for pair in np.unique(node * len(items) + numbers):
        us = _number(items[int(pair) % len(items)])
        name = nodes[int(pair) // len(items)]
        if us is not None:
            found[name] = max(us, found.get(name, 0.0))
    return found


def one_source(*readings: Readings) -> tuple[Readings, ...]:
    """Drop all but one source of each counter and place, the same in all of `readings` where one is in all.

    Sources of one counter read the same thing, so their sum would count it twice. The one with the most
    readings where it has the fewest stays; of equals the first by name. Without one in common each side keeps
    its own.
    """
    if all(len(each.sources) < 2 for each in readings) and len({each.sources for each in readings}) < 2:
        return readings
    counts = [_by_place(each) for each in readings]
    common = {place: _best([each.get(place, {}) for each in counts]) for each in counts for place in each}
    kept = [{(*place, _chosen(common[place], held)) for place, held in mine.items()} for mine in counts]
    return tuple(each.take(_among(each, mine)) for each, mine in zip(readings, kept, strict=True))


def _chosen(common: str | None, held: Mapping[str, int]) -> str | None:
    return common if common is not None else _best([held])


def _best(held: Sequence[Mapping[str, int]]) -> str | None:
    """Return the source with the most readings where it has the fewest; None without one in common."""
    known = sorted({source for each in held for source in each})
    fewest = {source: min(each.get(source, 0) for each in held) for source in known}
    shared = [source for source in known if fewest[source]]
    return min(shared, key=lambda one: (-fewest[one], -sum(each[one] for each in held)), default=None)


_Key = tuple[int, str, str, str]


def _keys(readings: Readings) -> tuple[Ints, list[_Key]]:
    """Return (n,) numbers of counter, place and source, and what each number means."""
    columns = np.column_stack((readings.counter, readings.node, readings.device, readings.source))
    found, numbers = np.unique(columns, axis=0, return_inverse=True)
    names = [
        (int(c), readings.nodes[n], readings.devices[d], readings.sources[s]) for c, n, d, s in found.tolist()
    ]
    return numbers.ravel().astype(np.int64), names


def _by_place(readings: Readings) -> dict[tuple[int, str, str], dict[str, int]]:
    """Return how many readings each source has of each counter and place."""
    found: dict[tuple[int, str, str], dict[str, int]] = {}
    if readings.size:
        numbers, names = _keys(readings)
        counts = np.bincount(numbers, minlength=len(names)).tolist()
        for (counter, node, device, source), count in zip(names, counts, strict=True):
            found.setdefault((counter, node, device), {})[source] = count
    return found


def _among(readings: Readings, kept: set[tuple[int, str, str, str | None]]) -> Flags:
    if not readings.size:
        return np.zeros(0, dtype=np.bool_)
    numbers, names = _keys(readings)
    flags: Flags = np.array([name in kept for name in names])[numbers]
    return flags


_SCHEMA = {
    "counter": pl.Int64,
    "node": pl.Int64,
    "device": pl.Int64,
    "source": pl.Int64,
    "identity": pl.UInt64,
    "time_us": pl.Int64,
    "value": pl.Float64,
}


def _sorted(
    frame: pl.DataFrame, nodes: tuple[str, ...], devices: tuple[str, ...], sources: tuple[str, ...]
) -> Readings:
    ordered = frame.sort("counter", "node", "device", "source", "identity", "time_us", "value")
    return Readings(
        counter=ordered["counter"].to_numpy(),
        node=ordered["node"].to_numpy(),
        device=ordered["device"].to_numpy(),
        source=ordered["source"].to_numpy(),
        identity=ordered["identity"].to_numpy(),
        time_us=ordered["time_us"].to_numpy(),
        value=ordered["value"].to_numpy(),
        nodes=nodes,
        devices=devices,
        sources=sources,
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


def _counters(table: pa.Table, bag: "_Bag", counters: Sequence[Counter]) -> Ints:
    """Return (n,) places in `counters`, −1 where the attribute that selects fits none."""
    metric, names = _coded(table["metric"])
    out = np.full(table.num_rows, -1, dtype=np.int64)
    for code, counter in enumerate(counters):
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

    def words(self, key: str) -> tuple[Ints, tuple[str, ...]]:
        """Return (n,) codes of what each row has under `key`, '' where it has nothing, and the words."""
        out = np.zeros(self.rows, dtype=np.int64)
        if key not in self.keys:
            return out, ("",)
        mine = self.key == self.keys.index(key)
        used, codes = np.unique(self.item[mine], return_inverse=True)
        out[self.owner[mine]] = codes + 1
        return out, ("", *(self.items[int(code)] for code in used))

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
        if CLOCK_UNCERTAINTY_US in self.keys:
            entry[self.key == self.keys.index(CLOCK_UNCERTAINTY_US)] = 0
        out = (service.astype(np.uint64) + np.uint64(1)) * FOLD
        np.add.at(out, self.owner, entry)
        return out


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
