"""Find one request by any of its names, and what the store holds around it."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from otel_attrib.analytics.filters import EVERY_REQUEST, Filter
from otel_attrib.analytics.log_lines import logs_of
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.waterfall import Waterfall, waterfall
from otel_attrib.errors import NotFound, UsageError
from otel_attrib.schema.store import Store

__all__ = ["find", "look_up", "served_by"]

_CANDIDATES = 10
_SPANS = 5_000
_STEPS = 100_000
_HOUR_US = 3_600_000_000
# Two processes of one host place their monotonic clocks on the wall by a reading each.
_SLACK_US = 1_000_000
_HEX = re.compile(r"[0-9a-fA-F]+")


def look_up(store: Store, name: str, where: Filter = EVERY_REQUEST) -> Waterfall:
    """The waterfall of the one request among those of `where` that `name` means."""
    request = find(store, name, where)
    shown = waterfall(request, _spans(store, request), _steps(store, request))
    return replace(shown, logs=logs_of(store, request))


def find(store: Store, name: str, where: Filter = EVERY_REQUEST) -> dict[str, Any]:
    """The row of `requests` with this trace, span or request id, or the only one that begins so.

    Requests that are not of `where` are not there: neither found nor counted.
    """
    asked = {
        "text": name,
        "hex": name.lower() if _HEX.fullmatch(name) else "-",
        "limit": _CANDIDATES + 1,
        **where.parameters(),
    }
    for question in ("trace_exact", "trace_prefix"):
        found = store.rows(statement(question, where=where.sql()), asked)
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(_ambiguous(name, found))
    raise NotFound(
        f"no request with trace, span or request id {name!r}, nor one that begins so: "
        "`otel-attrib why` and `otel-attrib sql 'SELECT trace_id FROM requests'` name some"
    )


def _ambiguous(name: str, found: list[dict[str, Any]]) -> str:
    """Say which requests are meant: time, an id that means it alone, request id (what has room of it)."""
    count = f"more than {_CANDIDATES}" if len(found) > _CANDIDATES else str(len(found))
    traces = [row["trace_id"] for row in found]
    lines = [f"{name!r} means {count} requests; give more of an id, such as:"]
    for row in found[:_CANDIDATES]:
        ids = [row["trace_id"] if traces.count(row["trace_id"]) == 1 else row["span_id"]]
        lines.append("  ".join([f"  {row['time']:%Y-%m-%d %H:%M:%S}", *ids, row["request_id"]])[:80].rstrip())
    return "\n".join(lines)


def _spans(store: Store, request: dict[str, Any]) -> list[dict[str, Any]]:
    around = {
        "trace": request["trace_id"],
        "from_us": request["time_us"] - _HOUR_US,
        "to_us": request["time_us"] + _HOUR_US,
        "limit": _SPANS,
    }
    return store.rows(statement("trace_spans"), around)


def served_by(request: Mapping[str, Any]) -> dict[str, Any]:
    """Bounds of the steps that served a request, as parameters: by number where it knows them, else by time.

    Numbers restart with the engine, hence the time around them too.
    """
    known = request["first_step"] is not None and request["last_step"] is not None
    lasted = request["e2e_us"] or request["ttft_us"] or 0
    slack = _SLACK_US if known else 0
    return {
        "service": request["service"],
        "node": request["node"],
        "replica": request["replica"],
        "from_us": request["time_us"] - slack,
        "to_us": int(request["time_us"] + lasted) + slack,
        "first": request["first_step"] if known else 0,
        "last": request["last_step"] if known else 2**63,
    }


def _steps(store: Store, request: dict[str, Any]) -> list[dict[str, Any]]:
    return store.rows(statement("trace_steps"), {**served_by(request), "limit": _STEPS})
