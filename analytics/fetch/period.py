"""Everything a calculation needs of one window, from the store.

Up to `cap` values a window is fetched whole, one statement a table, in an order of its own.
"""

import pyarrow as pa
import pyarrow.compute as pc

from otel_attrib.analytics.blocks import count_blocks
from otel_attrib.analytics.fetch.plain import plain
from otel_attrib.analytics.fetch.stretches import EVERY_ROW, Stretches
from otel_attrib.analytics.fetch.surroundings import fetch_marks, fetch_samples, fetch_steps
from otel_attrib.analytics.filters import DIMENSIONS, EVERY_REQUEST, Filter
from otel_attrib.analytics.metric import Metric
from otel_attrib.analytics.period import Period, rows_of
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.attributes import DECODE_STAGES, STAGES
from otel_attrib.schema.store import Store

__all__ = ["CAP", "fetch_period"]

CAP = 300_000

COLUMNS = (
    "time",
    "trace_id",
    *DIMENSIONS,
    "stream",
    "prompt_tokens",
    "cached_tokens",
    "output_tokens",
    "ttft_us",
    "tpot_us",
    "e2e_us",
    *(f"{stage}_us" for stage in STAGES),
    *(f"decode_{stage}_us" for stage in DECODE_STAGES),
    "preemptions",
    "prefill_chunks",
    "first_step",
    "last_step",
    "batch_size_mean",
    "kv_usage_max",
    "waiting_max",
)
"""Columns of `requests` that calculations read; for TBT `gaps_us` is added."""


def fetch_period(
    store: Store,
    metric: Metric,
    window: Window,
    where: Filter = EVERY_REQUEST,
    level: float = 0.99,
    exact: bool = False,
    cap: int = CAP,
) -> Period:
    """Fetch what is known of `window`; `exact` fetches every row however many there are."""
    counts = count_blocks(store, metric, window, where)
    requests = _fetch_requests(store, metric, window, where, EVERY_ROW)
    services, nodes = (pc.unique(requests[name]).to_pylist() for name in ("service", "node"))
    return Period(
        window=window,
        rows=rows_of(requests, metric),
        requests=requests,
        steps=fetch_steps(store, window, services, nodes),
        samples=fetch_samples(store, window, nodes),
        marks=fetch_marks(store, window),
        counts=counts,
    )


def _fetch_requests(
    store: Store, metric: Metric, window: Window, where: Filter, stretches: Stretches
) -> pa.Table:
    columns = ", ".join((*COLUMNS, "gaps_us") if metric.name == "tbt" else COLUMNS)
    sql = statement("period_requests", columns=columns, where=where.sql(), sample=stretches.sql())
    return plain(store.arrow(sql, {**window.bounds_us(), **where.parameters(), **stretches.parameters()}))
