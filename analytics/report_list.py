"""Reports that `otel-attrib watch` and the alerts keep: which incidents there were, and what was said.

Somebody who may see some tenants alone sees the reports whose condition names these alone: any other report
speaks of requests that are not theirs.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from otel_attrib.analytics.cursor import Key, Page, Place, paged
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import Window, parse_duration, parse_time, rfc3339
from otel_attrib.errors import NotFound, UsageError
from otel_attrib.schema.epoch import microseconds, time_at
from otel_attrib.schema.store import Store

__all__ = ["KeptReport", "incident_reports", "list_reports", "since_window"]

ROWS_OF_ONE = 200
WORDS = ("incident", "state", "service", "model", "metric", "verdict", "layer", "hash")


@dataclass(frozen=True, slots=True)
class KeptReport:
    """One row of `reports`; `report` is the JSON of `why`, '' where it was not asked for."""

    time: datetime
    onset: datetime
    words: Mapping[str, str]
    quantile: float
    where: Mapping[str, str]
    delta_ms: float | None
    report: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON, the report among it where there is one."""
        words = self.words
        body = {
            "time": rfc3339(self.time),
            "incident": words["incident"],
            "state": words["state"],
            "onset": rfc3339(self.onset),
            "service": words["service"],
            "model": words["model"],
            "metric": words["metric"],
            "quantile": self.quantile,
            "where": dict(self.where),
            "verdict": words["verdict"],
            "layer": words["layer"],
            "delta_ms": self.delta_ms,
            "hash": words["hash"],
        }
        return {**body, "report": _parsed(self.report)} if self.report else body


def _parsed(text: str) -> Any:
    """What is no JSON (somebody else wrote the row) is shown as the text that it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def since_window(since: str, now: datetime | None = None) -> Window:
    """Read `since`: a duration back from now, or a time; up to now."""
    end = now or datetime.now(UTC)
    start = parse_time(since) if "-" in since else end - parse_duration(since)
    # Clocks of those who write may be a little ahead of ours.
    return Window(start, max(end, start) + timedelta(minutes=5))


def list_reports(
    store: Store,
    span: Window,
    service: str = "",
    incident: str = "",
    state: str = "",
    tenants: Sequence[str] = (),
    limit: int = 100,
    cursor: str | None = None,
) -> Page[KeptReport]:
    """Return reports of a span, newest first, without their bodies; '' means any."""
    bound = {"service": service, "incident": incident, "state": state, "tenants": list(tenants)}

    def read(window: Window, place: Place | None, most: int) -> list[KeptReport]:
        return _rows(store, window, bound, place, most)

    question = {"list": "reports", "service": service, "incident": incident, "state": state}
    return paged(question, span, limit, cursor, read, _key, (int, str, str))


def incident_reports(store: Store, incident: str, tenants: Sequence[str] = ()) -> list[KeptReport]:
    """Return the reports of one incident, newest first, with their bodies; `NotFound` when there is none.

    `incident` is its whole name or how it begins, which no other incident may.
    """
    rows = store.rows(
        statement("report_bodies"), {"incident": incident, "tenants": list(tenants), "most": ROWS_OF_ONE}
    )
    if not rows:
        raise NotFound(f"no report of an incident {incident!r}: `otel-attrib reports` lists those there are")
    names = sorted({str(row["incident"]) for row in rows})
    if len(names) > 1 and incident not in names:
        raise UsageError(f"{incident!r} begins several incidents: {', '.join(names[:5])}")
    return [_row(row) for row in rows if incident not in names or row["incident"] == incident]


def _rows(
    store: Store, span: Window, bound: Mapping[str, Any], place: Place | None, most: int
) -> list[KeptReport]:
    last_key = "({last_at:Int64}, {last_incident:String}, {last_hash:String})"
    after = f"(at_us, incident, hash) {place.comparison if place else '<'} {last_key}"
    last = dict(zip(("last_at", "last_incident", "last_hash"), place.key, strict=True)) if place else {}
    page = {"most": most, "skip": place.skip if place else 0}
    sql = statement("report_list", after=after if place else "1")
    return [_row(row) for row in store.rows(sql, {**span.bounds_us(), **bound, **last, **page})]


def _key(row: KeptReport) -> Key:
    return microseconds(row.time), row.words["incident"], row.words["hash"]


def _row(row: Mapping[str, Any]) -> KeptReport:
    return KeptReport(
        time=time_at(int(row["at_us"])),
        onset=time_at(int(row["onset_us"])),
        words={name: str(row[name]) for name in WORDS},
        quantile=float(row["quantile"]),
        where={str(name): str(value) for name, value in dict(row["where"]).items()},
        delta_ms=row["delta_ms"],
        report=str(row.get("report", "")),
    )
