"""One request as JSON: what `otel-attrib trace --json` prints, and what a picture of it needs beside."""

from dataclasses import asdict
from typing import Any

from otel_attrib.analytics.filters import EVERY_REQUEST, Filter
from otel_attrib.analytics.join.curves import request_curves
from otel_attrib.analytics.join.findings import RequestEvidence
from otel_attrib.analytics.join.text import headline as evidence_headline
from otel_attrib.analytics.join.trace import request_evidence
from otel_attrib.analytics.trace_lookup import look_up
from otel_attrib.analytics.waterfall import Waterfall
from otel_attrib.analytics.waterfall_text import headline
from otel_attrib.schema.store import Store

__all__ = ["SCHEMA", "ask_trace", "trace_object"]

SCHEMA = "otel-attrib/trace/1"
DRAWN_AT_MOST = (
    4096  # gaps without an order: more of them are a distribution, which `gaps` has in four numbers
)


def ask_trace(
    store: Store, name: str, where: Filter = EVERY_REQUEST, evidence: bool = False
) -> dict[str, Any]:
    """The request that `name` means among those of `where`, with its token gaps in order (`gaps_ms`).

    `gaps_ms` is None where only their distribution is stored; `gaps_by_length_ms` has them then, shortest
    first, unless they are too many to be looked at. With `evidence` also what its cards and host
    did, and their counters as `series`.
    """
    shown = look_up(store, name, where)
    found = request_evidence(store, shown.request) if evidence else None
    told = trace_object(shown, found)
    told["gaps_ms"] = [us / 1e3 for us in shown.timeline_us] if shown.timeline_us else None
    told["gaps_by_length_ms"] = None if shown.timeline_us else _by_length(shown)
    return told | ({"series": request_curves(store, shown.request)} if evidence else {})


def _by_length(shown: Waterfall) -> list[float] | None:
    gaps = shown.request.get("gaps_us") or ()
    return [us / 1e3 for us in sorted(gaps)] if 0 < len(gaps) <= DRAWN_AT_MOST else None


def trace_object(shown: Waterfall, evidence: RequestEvidence | None) -> dict[str, Any]:
    """A waterfall, and evidence if there is any, for JSON."""
    request = {name: value for name, value in shown.request.items() if name not in ("time", "gaps_us")}
    time = f"{shown.request['time'].isoformat(timespec='microseconds').removesuffix('+00:00')}Z"
    told = (
        {"evidence": {"headline": evidence_headline(evidence), **evidence.as_dict()}}
        if evidence is not None
        else {}
    )
    return (
        {"schema": SCHEMA, "headline": headline(shown)}
        | asdict(shown)
        | {"request": {"time": time, **request}}
        | told
    )
