"""What the join takes from the store: samples around stretches of time, and who else was served then.

Cost: at most `SAMPLES_AT_MOST` rows a question. What is more comes first from less far around the stretches,
then in cells of time, which keep a gauge's mean and a total's last value; coverage says what that costs.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from otel_attrib.analytics.fetch.plain import plain
from otel_attrib.analytics.join.measure import HOLD_US
from otel_attrib.analytics.join.stretches import Stretch
from otel_attrib.analytics.statement import statement
from otel_attrib.schema.context_counters import EVERY_COUNTER
from otel_attrib.schema.store import Store

__all__ = ["SAMPLES_AT_MOST", "fetch_before", "fetch_beside", "fetch_samples"]

SAMPLES_AT_MOST = 1_000_000
NEAR_US = 5_000_000
SECOND_US = 1_000_000
METRICS = sorted({counter.metric for counter in EVERY_COUNTER})
TOTALS = sorted({counter.metric for counter in EVERY_COUNTER if counter.kind == "total"})


def fetch_samples(
    store: Store, nodes: Sequence[str], stretches: Sequence[Stretch], margin_us: int = HOLD_US
) -> pa.Table:
    """Fetch every registered counter of these nodes in the stretches and `margin_us` around each."""
    asked = {"metrics": METRICS, "nodes": sorted(set(nodes))}
    for margin in sorted({margin_us, min(margin_us, NEAR_US)}, reverse=True):
        bounds = _bounds(stretches, margin)
        if _count(store, bounds, asked) <= SAMPLES_AT_MOST:
            return plain(store.arrow(statement("join_samples"), {**bounds, **asked}))
    return _in_cells(store, _bounds(stretches, NEAR_US), asked)


def _bounds(stretches: Sequence[Stretch], margin_us: int) -> dict[str, Any]:
    """Return the stretches with their margins, joined where they touch, as parameters."""
    wide = sorted((stretch.start_us - margin_us, stretch.end_us + margin_us) for stretch in stretches)
    merged: list[tuple[int, int]] = []
    for left, right in wide:
        if merged and left <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], right)
        else:
            merged.append((left, right))
    starts, ends = ([pair[side] for pair in merged] for side in (0, 1))
    return {"from_us": starts[0], "to_us": ends[-1], "starts": starts, "ends": ends}


def _count(store: Store, bounds: Mapping[str, Any], asked: Mapping[str, Any]) -> int:
    """Return how many samples lie in the bounds."""
    (found,) = store.rows(statement("join_count", samples=statement("join_samples")), {**bounds, **asked})
    return int(found["samples"])


def _in_cells(store: Store, bounds: Mapping[str, Any], asked: Mapping[str, Any]) -> pa.Table:
    (counted,) = store.rows(statement("period_samples_count"), {**bounds, **asked})
    seconds = (bounds["to_us"] - bounds["from_us"]) / 1e6 * counted["series"] / SAMPLES_AT_MOST
    cell_us = max(1, -int(-seconds // 1)) * SECOND_US
    sql = statement("period_samples_cells")
    return plain(store.arrow(sql, {**bounds, **asked, "totals": TOTALS, "cell_us": cell_us}))


def fetch_before(store: Store, request: Mapping[str, Any], back_us: int, most: int) -> list[dict[str, Any]]:
    """Fetch the earlier requests of the same engine that are most like this one, `most` of them."""
    prompt = float(request["prompt_tokens"] or 0)
    names = ("service", "model", "node", "gpu_set", "replica")
    asked = {name: request[name] for name in names} | {
        "from_us": request["time_us"] - back_us,
        "to_us": request["time_us"],
        "prompt": prompt,
        "fresh": max(0.0, prompt - (request["cached_tokens"] or 0)),
        "most": most,
    }
    return store.rows(statement("join_before"), asked)


def fetch_beside(
    store: Store, request: Mapping[str, Any], stretch: Stretch, margin_us: int, most: int
) -> list[dict[str, Any]]:
    """Fetch the engines that served the same model around a stretch of time, its own among them."""
    asked = {
        "model": request["model"],
        "from_us": stretch.start_us - margin_us,
        "to_us": stretch.end_us + margin_us,
        "most": most,
    }
    return store.rows(statement("join_beside"), asked)
