"""What was derived, as JSON and as objectives that can be written to a file."""

from collections.abc import Sequence
from typing import Any

from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.metric import metric_named
from otel_attrib.analytics.objectives.derive import RATIO, derive, derived_span
from otel_attrib.analytics.objectives.endpoint import HEADROOM, LEVEL, Cell, Derived, Endpoint, Promised
from otel_attrib.analytics.objectives.objective import Limit, Objective
from otel_attrib.analytics.windows import rfc3339
from otel_attrib.analytics.wording import digits
from otel_attrib.schema.store import Store

__all__ = ["SCHEMA", "ask_derive", "derived_object", "derived_objectives"]

SCHEMA = "otel-attrib/slo-derive/1"


def ask_derive(
    store: Store, metric: str, last: str, where: Filter, at: str, objectives: Sequence[Objective] = ()
) -> dict[str, Any]:
    """Ask from a user's words, and return what `otel-attrib slo derive --json` prints."""
    named = metric_named(metric)
    return derived_object(derive(store, named, derived_span(store, last, where, at), where, objectives))


def derived_object(derived: Derived) -> dict[str, Any]:
    """Return it as JSON; times are ms, hours and days are in UTC."""
    return {
        "schema": SCHEMA,
        "metric": derived.metric.name,
        "definition": derived.metric.definition,
        "quantile": LEVEL,
        "headroom": HEADROOM,
        "error": {
            "relative": (RATIO - 1) / (RATIO + 1),
            "against": "the value at rank floor(q·(n−1))+1 of n",
        },
        "from": rfc3339(derived.span.start),
        "to": rfc3339(derived.span.end),
        "endpoints": [_endpoint(endpoint) for endpoint in derived.endpoints],
    }


def _endpoint(endpoint: Endpoint) -> dict[str, Any]:
    peak = endpoint.peak
    return {
        **endpoint.values(),
        "n": endpoint.n,
        "hours": [{"hour": cell.at, **_cell(cell)} for cell in endpoint.hours],
        "days": [{"date": str(cell.at), **_cell(cell)} for cell in endpoint.days],
        "peak_hour": None if peak is None else peak.at,
        "peak_ms": None if peak is None else peak.p95_ms,
        "proposal_ms": endpoint.proposal_ms,
        "promised": [_promised(each) for each in endpoint.promised],
    }


def _cell(cell: Cell) -> dict[str, Any]:
    return {"n": cell.n, "rows": cell.rows, "p95_ms": cell.p95_ms, "few": cell.few}


def _promised(promised: Promised) -> dict[str, Any]:
    return {
        "objective": promised.name,
        "sla_ms": promised.sla_ms,
        "days_near": promised.days_near,
        "recalibrate": promised.recalibrate,
    }


def derived_objectives(derived: Derived, where: Filter) -> list[Objective]:
    """Return an objective for each endpoint that has a proposal, on the requests of `where` alone."""
    found: dict[str, Objective] = {}
    for endpoint in derived.endpoints:
        if endpoint.proposal_ms is not None:
            name = _free(_slug(f"{endpoint.name}-{derived.metric.name}"), found)
            found[name] = _objective(endpoint, derived, name, where)
    return list(found.values())


def _objective(endpoint: Endpoint, derived: Derived, name: str, where: Filter) -> Objective:
    peak, proposal = endpoint.peak, endpoint.proposal_ms
    assert peak is not None and proposal is not None
    chosen = dict(where.allowed) | {key: (value,) for key, value in endpoint.values().items() if value}
    return Objective(
        name=name,
        title=f"{endpoint.name}, {derived.metric.title}",
        where=Filter(tuple(sorted(chosen.items()))),
        limits=(Limit(derived.metric.name, proposal),),
        target=LEVEL,
        service=_slug(endpoint.service) or "llm",
        description=f"P95 was {digits(peak.p95_ms)} ms from {peak.at}:00 to {peak.at}:59 UTC, the peak of"
        f" {derived.span.start:%Y-%m-%d} to {derived.span.end:%Y-%m-%d}; this is {HEADROOM} times that.",
    )


def _slug(text: str) -> str:
    """Return a name that OpenSLO takes."""
    kept = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in text.lower())
    return "-".join(word for word in kept.split("-") if word)[:200]


def _free(name: str, taken: dict[str, Objective]) -> str:
    """Return the name, numbered where another endpoint has it."""
    numbered = (name if number == 1 else f"{name}-{number}" for number in range(1, len(taken) + 2))
    return next(each for each in numbered if each not in taken)
