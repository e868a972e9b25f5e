"""What was derived, for people: a line for each endpoint and its day as a strip of shades."""

from collections.abc import Iterator, Sequence

from otel_attrib.analytics.objectives.endpoint import Derived, Endpoint, Promised
from otel_attrib.analytics.windows import rfc3339
from otel_attrib.analytics.wording import milliseconds, wrapped

__all__ = ["HEADS", "derived_headline", "derived_notes", "derived_rows", "strips"]

HEADS = ("endpoint", "requests", "peak P95", "UTC", "propose", "promised", "")
NAME_COLUMNS = 26
SHADES = "▁▂▃▄▅▆▇█"


def derived_headline(derived: Derived) -> str:
    """Say what there is to do."""
    late = [(end, each) for end in derived.endpoints for each in end.promised if each.recalibrate]
    proposals = sum(endpoint.proposal_ms is not None for endpoint in derived.endpoints)
    if not derived.endpoints:
        return f"no {derived.metric.title} was measured from {rfc3339(derived.span.start)} on"
    if late:
        endpoint, promised = late[0]
        more = f", and {len(late) - 1} more" if len(late) > 1 else ""
        return (
            f"re-calibrate {promised.name}: P95 of {endpoint.name} was above 0.9 of its"
            f" {milliseconds(promised.sla_ms)} ms on {promised.days_near} days running{more}"
        )
    return f"{proposals} of {len(derived.endpoints)} endpoints have a {derived.metric.title} to promise"


def derived_rows(derived: Derived) -> list[tuple[str, ...]]:
    """Return a row for each endpoint and promise, under `HEADS`."""
    return [
        _row(endpoint, promised)
        for endpoint in derived.endpoints
        for promised in (endpoint.promised or (None,))
    ]


def _row(endpoint: Endpoint, promised: Promised | None) -> tuple[str, ...]:
    peak, proposal = endpoint.peak, endpoint.proposal_ms
    return (
        _short(endpoint.name),
        f"{endpoint.n:,}",
        "-" if peak is None else milliseconds(peak.p95_ms),
        "-" if peak is None else f"{peak.at}h",
        "-" if proposal is None else f"{proposal:,.12g}",
        "-" if promised is None else f"{promised.sla_ms:,.12g}",
        "re-calibrate" if promised is not None and promised.recalibrate else "",
    )


def strips(derived: Derived) -> Iterator[str]:
    """Yield each endpoint's hours of the day as 24 shades, the peak darkest; a dot is an hour without."""
    width = max((len(_short(endpoint.name)) for endpoint in derived.endpoints), default=0)
    yield f"{'':{width}}  0     6     12    18   23 h"
    for endpoint in derived.endpoints:
        yield f"{_short(endpoint.name):{width}}  {_strip(endpoint)}"


def _strip(endpoint: Endpoint) -> str:
    shown = {cell.at: cell.p95_ms for cell in endpoint.hours}
    most = max(shown.values())
    return "".join(
        SHADES[min(7, int(8 * shown[hour] / most))] if hour in shown else "·" for hour in range(24)
    )


def _short(name: str) -> str:
    return name if len(name) <= NAME_COLUMNS else f"…{name[1 - NAME_COLUMNS :]}"


def derived_notes(derived: Derived) -> Sequence[str]:
    """Return what the words mean."""
    return list(
        wrapped(
            f"ms; {derived.metric.title}: {derived.metric.definition}. propose: peak hour's P95 x 1.2, for"
            " 95 of 100 requests. promised: the limit of an objective; re-calibrate: three whole days running"
            " P95 was above 0.9 of it. P95 within 0.5 %; hours and days with fewer than 100 requests decide"
            " nothing."
        )
    )
