"""What is known around a window's requests: engine steps, device and host counters, marks.

Cost: counters beyond `SAMPLES_AT_MOST` come in cells of time (whole seconds, as wide as needed), which
keep a gauge's mean and a total's last value, so increases stay exact at the cells' ends.
"""

from typing import Any

import pyarrow as pa

from otel_attrib.analytics.fetch.plain import plain
from otel_attrib.analytics.fetch.stretches import EVERY_ROW, Sample, Stretches
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.counters import COUNTERS
from otel_attrib.schema.store import Store

__all__ = ["SAMPLES_AT_MOST", "STEPS_AT_MOST", "fetch_marks", "fetch_samples", "fetch_steps"]

SAMPLES_AT_MOST = 300_000
STEPS_AT_MOST = 300_000
SECOND_US = 1_000_000
METRICS = sorted({counter.metric for counter in COUNTERS})
TOTALS = sorted({counter.metric for counter in COUNTERS if counter.kind == "total"})


def fetch_steps(
    store: Store,
    window: Window,
    services: list[str],
    nodes: list[str],
    taken: Sample = EVERY_ROW,
) -> pa.Table:
    """Fetch the engine steps of these services and nodes, `STEPS_AT_MOST` of them, ordered by engine."""
    stretches = taken if isinstance(taken, Stretches) else EVERY_ROW
    parameters = {
        **window.bounds_us(),
        **stretches.parameters(),
        "services": services,
        "nodes": nodes,
        "most": STEPS_AT_MOST,
    }
    return plain(store.arrow(statement("period_steps", sample=stretches.sql()), parameters))


def fetch_samples(store: Store, window: Window, nodes: list[str]) -> pa.Table:
    """Fetch the registry's counters of these nodes, in cells of time where there are many."""
    parameters: dict[str, Any] = {**window.bounds_us(), "metrics": METRICS, "nodes": nodes}
    (counted,) = store.rows(statement("period_samples_count"), parameters)
    if counted["samples"] <= SAMPLES_AT_MOST:
        return plain(store.arrow(statement("period_samples"), parameters))
    cell_us = _cell_us(window, int(counted["series"]))
    sql = statement("period_samples_cells")
    return plain(store.arrow(sql, {**parameters, "totals": TOTALS, "cell_us": cell_us}))


def _cell_us(window: Window, series: int) -> int:
    """Return the width of a cell: whole seconds, such that the cells of all series stay few enough."""
    seconds = window.length.total_seconds() * series / SAMPLES_AT_MOST
    return max(1, -int(-seconds // 1)) * SECOND_US


def fetch_marks(store: Store, window: Window, tenants: list[str]) -> pa.Table:
    """Fetch the marks within the window that concern everybody or one of these tenants."""
    return plain(store.arrow(statement("period_marks"), {**window.bounds_us(), "tenants": tenants}))
