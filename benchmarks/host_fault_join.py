"""What the store says of requests and of waits in exactly some time, each source of run-queue wait by itself.

The join is the product's own (`analytics.join`), over readings of one source: with both at hand it takes one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from otel_attrib.analytics.columns import Flags, Ints
from otel_attrib.analytics.evidence.series import Readings, read_series
from otel_attrib.analytics.join.fetch import fetch_samples
from otel_attrib.analytics.join.joined import join
from otel_attrib.analytics.join.measure import Measured
from otel_attrib.analytics.join.stretches import Stretch, stretches_of
from otel_attrib.schema.context_counters import EVERY_COUNTER
from otel_attrib.schema.store import Store

__all__ = ["MEASURES", "Measure", "fetch", "fetch_requests", "gap_ms", "known", "measured"]

Measure = tuple[str, str]
"""A counter's key and what `slatag.source` says of it."""

MEASURES: dict[str, Measure] = {
    "eBPF": ("run_queue_wait", "ebpf"),
    "schedstat": ("run_queue_wait", ""),
    "throttled": ("cpu_throttled", ""),
}
REQUESTS = """
SELECT *, toUnixTimestamp64Micro(time) AS time_us
FROM requests
WHERE service = {service:String} AND status = 'ok'
  AND toUnixTimestamp64Micro(time) >= {from_us:Int64} AND toUnixTimestamp64Micro(time) < {to_us:Int64}
ORDER BY time, trace_id
"""
MARGIN_US = 2_000_000


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
    """Return the seconds waited in (k,) stretches on a node, summed over the engine, by one source."""
    readings = _of_source(read_series(samples, EVERY_COUNTER)[0], measure[1])
    for joined in join(readings, [(node, "")], start, end):
        if joined.counter.key == measure[0]:
            return joined.measured
    unknown = np.full(start.size, np.nan)
    return Measured(unknown, unknown, unknown, np.zeros(start.size))


def known(found: Sequence[Measured]) -> Flags:
    """Return which stretches every measure knows."""
    unknown = np.isnan([each.value for each in found])
    return np.asarray(~unknown.any(axis=0), dtype=np.bool_)


def gap_ms(samples: pa.Table, measure: Measure) -> float | None:
    """Return how far apart the readings of one source are as a rule; None without any."""
    readings = _of_source(read_series(samples, EVERY_COUNTER)[0], measure[1])
    code = next(n for n, counter in enumerate(EVERY_COUNTER) if counter.key == measure[0])
    times = np.unique(readings.of(code).time_us)
    return float(np.median(np.diff(times)) / 1e3) if times.size > 1 else None


def _of_source(readings: Readings, source: str) -> Readings:
    if source not in readings.sources:
        return readings.take(slice(0, 0))
    return readings.take(readings.source == readings.sources.index(source))
