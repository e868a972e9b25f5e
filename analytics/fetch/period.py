"""Everything a calculation needs of one window, from the store.

Up to `cap` values a window is fetched whole, one statement a table, in an order of its own. Of a larger one
short stretches of time are fetched, spread over all of it, with the quantile of the whole window, which
calculations over the sample are then closed on.
"""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from otel_attrib.analytics.copies import WEIGHT, repeated, weights_of
from otel_attrib.analytics.counted import scaled_counts
from otel_attrib.analytics.fetch.plain import plain
from otel_attrib.analytics.fetch.quantile import quantile_from_rows, quantile_from_states
from otel_attrib.analytics.fetch.size import Size, measure
from otel_attrib.analytics.fetch.stretches import EVERY_ROW, Sample, Scattered, spread
from otel_attrib.analytics.fetch.surroundings import fetch_marks, fetch_samples, fetch_steps
from otel_attrib.analytics.filters import DIMENSIONS, EVERY_REQUEST, Filter
from otel_attrib.analytics.metric import Metric
from otel_attrib.analytics.period import Period, rows_of
from otel_attrib.analytics.quantiles import SKETCH_ERROR
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import Window
from otel_attrib.analytics.wording import digits
from otel_attrib.schema.attributes import DECODE_STAGES, STAGES
from otel_attrib.schema.epoch import time_at
from otel_attrib.schema.store import Store

__all__ = ["CAP", "fetch_period"]


CAP = 300_000
"""The most values of a window that are fetched one by one unless all are asked for."""
SAMPLED = 120_000
"""The values that a sample of a larger window aims at."""
EVERYTHING = 1 << 62  # rows: no limit
TRIES = 4  # to find stretches that hold a fair part of the rows
FILL = 0.9  # of the cap that a sample aims at at most, because arrivals are uneven

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
    WEIGHT,
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
    states: bool | None = None,
) -> Period:
    """Fetch what is known of `window`; `exact` fetches every row however many there are.

    `states` says whether the displayed quantile of a window above `cap` comes from its 10 s states (within
    1 %) or from its rows (exact); None: from states where they know the filter.
    """
    size = measure(store, metric, window, where)
    if exact or size.values <= cap:
        requests = _fetch_requests(store, metric, window, where, EVERY_ROW)
        return _period(store, metric, window, requests, EVERY_ROW)
    return _sample(
        store, metric, window, where, level, size, cap, where.rolled_up if states is None else states
    )


def _sample(
    store: Store,
    metric: Metric,
    window: Window,
    where: Filter,
    level: float,
    size: Size,
    cap: int,
    states: bool,
) -> Period:
    taken, requests = _taken(store, metric, window, where, size, cap)
    period = _period(store, metric, window, requests, taken)
    rows = period.rows
    shown = (
        quantile_from_states(store, metric, window, where, level)
        if states
        else quantile_from_rows(store, metric, window, where, level, rows.values)
    )
    # States count requests, measured or not, and not gaps: the sample says how many values they give.
    total = round(shown.n * rows.n / max(1, len(period.requests))) if states else shown.n
    sample = replace(
        period,
        rows=replace(rows, total=total),
        displayed=shown.ms if rows.n else None,
        bound=SKETCH_ERROR if states else 0.0,
        way=_way(total, rows.n, states),
    )
    return replace(sample, counts=scaled_counts(sample, metric, total))


def _taken(
    store: Store, metric: Metric, window: Window, where: Filter, size: Size, cap: int
) -> tuple[Sample, pa.Table]:
    """Fetch a sample with at most `cap` values: stretches of time, or single rows where those do not fit."""
    aim = min(SAMPLED, FILL * cap)
    share = aim / size.values
    for _ in range(TRIES):
        taken: Sample = spread(window, share)
        requests = _fetch_requests(store, metric, window, where, taken, cap + 1)
        values = _values(metric, requests)
        if aim / 4 <= values <= cap:
            return taken, requests
        share = min(1.0, share * float(np.clip(aim / max(1, values), 1 / 8, 8)))
    share = aim / size.values
    while True:
        taken = Scattered(share)
        requests = _fetch_requests(store, metric, window, where, taken, cap + 1)
        if _values(metric, requests) <= cap:
            return taken, requests
        share /= 2


def _values(metric: Metric, requests: pa.Table) -> int:
    """Return how many values they give as often as they count, before any is repeated."""
    weights = weights_of(requests)
    if metric.name != "tbt":
        return int(weights.sum())
    gaps = pc.fill_null(pc.list_value_length(requests["gaps_us"]), 0).to_numpy()
    return int((gaps * weights).sum())


def _way(total: int, n: int, states: bool) -> str:
    source = "10 s states (within 1 %)" if states else "all rows"
    return f"1 in {digits(total / max(1, n))} rows, closed on the quantile of {source}"


def _period(store: Store, metric: Metric, window: Window, requests: pa.Table, taken: Sample) -> Period:
    """Put the requests, as often as they count, together with what is known around them."""
    requests = repeated(requests)
    names = ("service", "node", "tenant")
    services, nodes, tenants = (pc.unique(requests[name]).to_pylist() for name in names)
    end = max(window.end, _last_end(requests)) if metric.name == "tbt" else window.end
    steps = fetch_steps(store, Window(window.start, end), services, nodes, taken)
    return Period(
        window=window,
        rows=rows_of(requests, metric, steps=steps),
        requests=requests,
        steps=steps.filter(pc.less(steps["time"], pa.scalar(window.end, steps["time"].type))),
        samples=fetch_samples(store, window, nodes),
        marks=fetch_marks(store, window, tenants),
    )


def _last_end(requests: pa.Table) -> datetime:
    """Return when the last of the requests ended: its gaps come from steps that late."""
    if not len(requests):
        return datetime.min.replace(tzinfo=UTC)
    lasted = pc.cast(pc.fill_null(requests["e2e_us"], 0.0), pa.int64(), safe=False)
    ends = pc.add(pc.cast(requests["time"], pa.int64()), lasted)
    return time_at(int(pc.max(ends).as_py()) + 1)


def _fetch_requests(
    store: Store, metric: Metric, window: Window, where: Filter, taken: Sample, most: int = EVERYTHING
) -> pa.Table:
    columns = ", ".join((*COLUMNS, "gaps_us") if metric.name == "tbt" else COLUMNS)
    sql = statement("period_requests", columns=columns, where=where.sql(), sample=taken.sql())
    parameters = {**window.bounds_us(), **where.parameters(), **taken.parameters(), "most": most}
    return plain(store.arrow(sql, parameters))
