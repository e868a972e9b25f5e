"""Log records of a request's trace: what its engine and the services around it wrote while it was there.

A record belongs to the trace by its own TraceId, as the shim's and OpenTelemetry's handlers set it, or by an
attribute `trace_id`, as collectors leave it that read JSON lines.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from otel_attrib.analytics.statement import statement
from otel_attrib.schema.store import Store

__all__ = ["LogLine", "lines", "logs_of"]

AT_MOST = 500
BEFORE_US = 60 * 1_000_000
"""How long before the arrival records are looked for: the caller's own, and clocks that differ."""
AFTER_US = 10 * 60 * 1_000_000
SHOWN = 12
WIDTH = 80


@dataclass(frozen=True, slots=True)
class LogLine:
    """One record; `offset_us` from the request's arrival, on the clock of whoever wrote it."""

    offset_us: float
    severity: str
    logger: str
    body: str
    service: str
    node: str
    span_id: str


def logs_of(store: Store, request: Mapping[str, Any]) -> tuple[LogLine, ...]:
    """Return the records of the request's trace in order of time, `AT_MOST` of them."""
    lasted = int(request["e2e_us"] or request["ttft_us"] or 0)
    around = {
        "trace": request["trace_id"],
        "from_us": request["time_us"] - BEFORE_US,
        "to_us": request["time_us"] + lasted + AFTER_US,
        "limit": AT_MOST,
    }
    rows = store.rows(statement("trace_logs"), around) if request["trace_id"] else ()
    names = ("severity", "logger", "body", "service", "node", "span_id")
    return tuple(
        LogLine(float(row["time_us"] - request["time_us"]), *(str(row[name]) for name in names))
        for row in rows
    )


def lines(found: tuple[LogLine, ...]) -> Iterator[str]:
    """Write the first of them, one a line of at most 80 columns, without what could steer a terminal."""
    if found:
        yield "log lines of this trace (ms from this request's start)"
    for line in found[:SHOWN]:
        text = " ".join("".join(sign if sign.isprintable() else " " for sign in line.body).split())
        shown = f"{line.offset_us / 1e3:>11,.1f}  {line.severity[:5]:<5}  {text}"
        yield shown if len(shown) <= WIDTH else f"{shown[: WIDTH - 1]}>"
    if len(found) > SHOWN:
        yield f"  and {len(found) - SHOWN:,} more (--json has them)"
