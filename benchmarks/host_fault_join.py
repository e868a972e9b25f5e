"""What the store says of requests and of waits in exactly some time, each source of run-queue wait by itself.

The join is the product's own (`analytics.join`), over readings of one source: with both at hand it takes one.
It adds up the engine's processes; `core` is the same over the engine core's readings alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from otel_attrib.analytics.columns import Flags, Ints
from otel_attrib.analytics.evidence.series import Readings, read_series
from otel_attrib.analytics.join.fetch import fetch_samples
from otel_attrib.analytics.join.joined import join
from otel_attrib.analytics.join.measure import Measured
from otel_attrib.analytics.join.stretches import Stretch, stretches_of
from otel_attrib.schema.context_counters import EVERY_COUNTER
from otel_attrib.schema.store import Store

__all__ = ["MEASURES", "Measure", "fetch", "fetch_requests", "gap_ms", "known", "measured"]


@dataclass(frozen=True)
class Measure:
    """A counter's key, what `slatag.source` says of it, and the role of the only processes that count."""

    key: str
    source: str = ""
    role: str = ""


MEASURES: dict[str, Measure] = {
    "eBPF": Measure("run_queue_wait", "ebpf"),
    "schedstat": Measure("run_queue_wait"),
    "core, eBPF": Measure("run_queue_wait", "ebpf", "engine_core"),
    "core, schedstat": Measure("run_queue_wait", "", "engine_core"),
    "throttled": Measure("cpu_throttled"),
}
REQUESTS = """
SELECT *, toUnixTimestamp64Micro(time) AS time_us
FROM requests
WHERE service = {service:String} AND status = 'ok'
  AND toUnixTimestamp64Micro(time) >= {from_us:Int64} AND toUnixTimestamp64Micro(time) < {to_us:Int64}
ORDER BY time, trace_id
"""
MARGIN_US = 2_000_000
ROLE = "slatag.process.role"


def fetch_requests(store: Store, service: str, from_us: int, to_us: int) -> tuple[Ints, Ints, str]:
    """Return when requests began and ended, and the node that served them."""
    asked: dict[str, Any] = {"service": service, "from_us": from_us, "to_us": to_us}
    rows = store.rows(REQUESTS, asked)
    whole = [found[0] for row in rows if (found := stretches_of(row))]
    start = np.array([stretch.start_us for stretch in whole], dtype=np.int64)
    end = np.array([stretch.end_us for stretch in whole], dtype=np.int64)
    return start, end, str(rows[0]["node"]) if rows else ""


def fetch(store: Store, node: str, from_us: int, to_us: int) -> pa.Table:
    """Return the samples of a node in a stretch of time and 2 s around it."""
    return fetch_samples(store, [node], [Stretch("all", from_us, to_us)], MARGIN_US)


def measured(samples: pa.Table, measure: Measure, node: str, start: Ints, end: Ints) -> Measured:
    """Return the seconds waited in (k,) stretches on a node, summed over processes, by one source."""
    readings = _readings(samples, measure)
    for joined in join(readings, [(node, "")], start, end):
        if joined.counter.key == measure.key:
            return joined.measured
    unknown = np.full(start.size, np.nan)
    return Measured(unknown, unknown, unknown, np.zeros(start.size))


def known(found: Sequence[Measured]) -> Flags:
    """Return which stretches every measure knows."""
    unknown = np.isnan([each.value for each in found])
    return np.asarray(~unknown.any(axis=0), dtype=np.bool_)


def gap_ms(samples: pa.Table, measure: Measure) -> float | None:
    """Return how far apart the readings of one source are as a rule; None without any."""
    readings = _readings(samples, measure)
    code = next(n for n, counter in enumerate(EVERY_COUNTER) if counter.key == measure.key)
    times = np.unique(readings.of(code).time_us)
    return float(np.median(np.diff(times)) / 1e3) if times.size > 1 else None


def _readings(samples: pa.Table, measure: Measure) -> Readings:
    if measure.role:
        roles = pc.map_lookup(samples["attributes"], ROLE, "first")
        samples = samples.filter(pc.fill_null(pc.equal(roles, measure.role), False))
    readings = read_series(samples, EVERY_COUNTER)[0]
    if measure.source not in readings.sources:
        return readings.take(slice(0, 0))
    return readings.take(readings.source == readings.sources.index(measure.source))
