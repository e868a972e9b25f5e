"""Counters as the peers get them: levels, rates and series by counter and device, from `samples`."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from otel_attrib.analytics.columns import Floats, Ints
from otel_attrib.schema.counters import COUNTERS, Counter

__all__ = ["Series", "read_series"]

SEPARATOR = "\x1f"


@dataclass(frozen=True)
class Series:
    """One counter of one device (or host, device "") in one window; totals are rates per second."""

    counter: Counter
    node: str
    device: str
    time_us: Ints
    values: Floats

    @property
    def place(self) -> tuple[str, str, str]:
        """Return what tells it apart from others."""
        return self.counter.key, self.node, self.device


def read_series(samples: pa.Table) -> dict[tuple[str, str, str], Series]:
    """Return every known counter's series, in the order of the registry, then node and device."""
    if not samples.num_columns or not len(samples):
        return {}
    found = [series for counter in COUNTERS for series in _of(samples, counter)]
    return {series.place: series for series in found}


def _of(samples: pa.Table, counter: Counter) -> Iterator[Series]:
    table = samples.filter(pc.equal(samples["metric"].cast(pa.string()), counter.metric))
    if counter.select and len(table):
        name, value = counter.select
        said = pc.map_lookup(table["attributes"].combine_chunks(), pa.scalar(name), "first")
        table = table.filter(pc.equal(said.cast(pa.string()), value))
    if not len(table):
        return
    words = (table["node"].cast(pa.string()), table["device"].cast(pa.string()))
    places = pc.binary_join_element_wise(*words, SEPARATOR).combine_chunks().dictionary_encode()
    codes = places.indices.to_numpy()
    time = pc.cast(pc.cast(table["time"], pa.timestamp("us")), pa.int64()).to_numpy().astype(np.int64)
    values = table["value"].to_numpy().astype(np.float64)
    for place, code in sorted((word, code) for code, word in enumerate(places.dictionary.to_pylist())):
        node, device = place.split(SEPARATOR)
        series = _measured(counter, time[codes == code], values[codes == code])
        if series[0].size >= 2:
            yield Series(counter, node, device, *series)


def _measured(counter: Counter, time: Ints, values: Floats) -> tuple[Ints, Floats]:
    order = np.argsort(time, kind="stable")
    time, values = time[order], values[order]
    if counter.kind == "gauge":
        return time, values
    elapsed = np.maximum(np.diff(time), 1) / 1e6
    return time[1:], np.maximum(np.diff(values), 0.0) / elapsed
