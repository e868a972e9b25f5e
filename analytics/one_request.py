"""Why one request was slow: each stage of it beside requests like it, in ms that add up.

Identity: Σ (own − typical) over the observed stages + unexplained = its excess over what such requests
typically took, to rounding. `unexplained` is what no stage has (`outside`) and that the medians of stages
do not add up to the median of the whole.

One request has no confidence interval: `z` says how unusual its stage is among the peers (deviations from
their median, in 1.4826 median absolute deviations).
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from otel_attrib.analytics.columns import Floats, Rows
from otel_attrib.analytics.fetch import fetch_period
from otel_attrib.analytics.filters import DIMENSIONS, EVERY_REQUEST, Filter
from otel_attrib.analytics.metric import METRICS, OUTSIDE, Metric, metric_named
from otel_attrib.analytics.one_request_text import headline
from otel_attrib.analytics.peers import Peers, peers_of
from otel_attrib.analytics.period import NO_TABLE, Period, rows_of
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.step_hints import hints_of
from otel_attrib.analytics.trace_lookup import find, served_by
from otel_attrib.analytics.windows import Window
from otel_attrib.errors import DataError, UsageError
from otel_attrib.schema.store import Store

__all__ = ["Explanation", "StageExcess", "explain_request", "explain_trace"]

SCHEMA = "otel-attrib/why-trace/1"
AROUND = timedelta(minutes=15)
STEPS_AT_MOST = 20_000
TO_DEVIATION = 1.4826
LEAST_SPREAD_MS = 0.01
LEAST_SPREAD = 0.01


@dataclass(frozen=True, slots=True)
class StageExcess:
    """One stage: its ms, the peers' median (None: not observed), the difference, and how unusual it is."""

    stage: str
    own_ms: float | None
    typical_ms: float | None
    excess_ms: float
    z: float | None
    hint: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """One request beside its peers; `enough` is False, and the stages empty, with fewer than twenty."""

    trace_id: str
    request_id: str
    at: str
    metric: str
    definition: str
    own_ms: float
    typical_ms: float | None
    excess_ms: float | None
    unexplained_ms: float | None
    peers: int
    slower_than: float | None
    enough: bool
    who: str
    window: str
    stages: tuple[StageExcess, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {"schema": SCHEMA, "headline": headline(self), **asdict(self)}


def explain_trace(
    store: Store,
    name: str,
    metric: str = "ttft",
    around: timedelta = AROUND,
    scope: Filter = EVERY_REQUEST,
) -> Explanation:
    """Find the one request that `name` means, fetch what was around it, and explain it.

    It and its peers are among the requests of `scope`; peers arrived within `around` before or after.
    NotFound when there is no such request, UsageError when there are several or the metric has no stages,
    DataError when it was not measured.
    """
    chosen = metric_named(metric)
    if not chosen.stages:
        known = ", ".join(sorted(each.name for each in METRICS.values() if each.stages))
        raise UsageError(f"{metric} has no stages to compare; ask for one of {known}")
    request = find(store, name, scope)
    at = datetime.fromtimestamp(request["time_us"] / 1e6, UTC)
    where = scope.also(Filter((("service", (request["service"],)),)))
    peers = fetch_period(store, chosen, Window(at - around, at + around), where)
    return explain_request(request, peers, chosen, _steps(store, request))


def explain_request(
    request: Mapping[str, Any], peers: Period, metric: Metric, steps: pa.Table = NO_TABLE
) -> Explanation:
    """Explain one row of `requests` by the requests of `peers` and the steps that served it."""
    own = rows_of(_as_table(request), metric)
    if own.n == 0:
        state = request.get("status") or "unknown"
        raise DataError(
            f"request {request['trace_id']} has no {metric.title} (status {state}): nothing to explain"
        )
    found = peers_of(own, peers.rows, decoding=metric.name != "ttft")
    fresh = max(0.0, float(own.prompt[0] - own.cached[0]))
    first_token = float(own.time_us[0]) + float(request.get("ttft_us") or 0.0)
    hints = hints_of(steps, peers.steps, first_token, fresh)
    return _compare(request, own, found, metric, peers.window, hints)


def _compare(
    request: Mapping[str, Any], own: Rows, peers: Peers, metric: Metric, window: Window, hints: dict[str, str]
) -> Explanation:
    value = float(own.values[0])
    typical = float(np.median(peers.rows.values)) if peers.enough else None
    stages = _stages(own, peers.rows, hints) if peers.enough else ()
    excess = None if typical is None else value - typical
    told = sum(line.excess_ms for line in stages)
    return Explanation(
        trace_id=str(request["trace_id"]),
        request_id=str(request.get("request_id") or ""),
        at=datetime.fromtimestamp(float(own.time_us[0]) / 1e6, UTC).isoformat(),
        metric=metric.name,
        definition=metric.definition,
        own_ms=value,
        typical_ms=typical,
        excess_ms=excess,
        unexplained_ms=None if excess is None else excess - told,
        peers=peers.rows.n,
        slower_than=float((peers.rows.values < value).mean()) if peers.enough else None,
        enough=peers.enough,
        who=peers.told,
        window=str(window),
        stages=stages,
    )


def _stages(own: Rows, peers: Rows, hints: dict[str, str]) -> tuple[StageExcess, ...]:
    """Return a line for each stage; one that the request or half of its peers lack has no excess."""
    lines = []
    for place, name in enumerate(own.names):
        if name == OUTSIDE:
            continue
        seen = peers.observed[:, place]
        known = bool(seen.mean() > 0.5)
        mine = float(own.parts[0, place]) if own.observed[0, place] else None
        typical = float(np.median(peers.parts[seen, place])) if known else None
        both = mine is not None and typical is not None
        excess = mine - typical if mine is not None and typical is not None else 0.0
        z = _unusual(mine or 0.0, peers.parts[seen, place]) if both else None
        lines.append(StageExcess(name, mine, typical, excess, z, hints.get(name, "")))
    return tuple(lines)


def _unusual(value: float, others: Floats) -> float:
    """Return deviations from the median; a spread under 0.01 ms or 1 % counts as that much."""
    middle = float(np.median(others))
    spread = TO_DEVIATION * float(np.median(np.abs(others - middle)))
    return (value - middle) / max(spread, LEAST_SPREAD_MS, LEAST_SPREAD * middle)


def _as_table(request: Mapping[str, Any]) -> pa.Table:
    """Return the request as a table of one row with the columns that `rows_of` reads."""
    numbers = [
        name for name in request if name.endswith(("_us", "_tokens")) and name not in ("time_us", "gaps_us")
    ]
    columns: dict[str, pa.Array] = {
        "time": pa.array([int(request["time_us"])], pa.int64()),
        "trace_id": pa.array([str(request["trace_id"])]),
    }
    columns |= {name: pa.array([request[name]], pa.float64()) for name in numbers}
    columns |= {name: pa.array([str(request[name])]) for name in DIMENSIONS if name in request}
    return pa.table(columns)


def _steps(store: Store, request: Mapping[str, Any]) -> pa.Table:
    return store.arrow(statement("request_steps"), {**served_by(request), "most": STEPS_AT_MOST})
