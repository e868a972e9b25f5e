"""Marks as people list and make them: deploys, changed configurations, drills, with their attributes.

A mark whose attribute `tenant` names a tenant is that tenant's; any other concerns everybody.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from otel_attrib.analytics.cursor import Key, Page, Place, paged
from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import Window, rfc3339
from otel_attrib.errors import UsageError
from otel_attrib.schema.epoch import microseconds, time_at
from otel_attrib.schema.store import Store

__all__ = ["KINDS", "TENANT", "MarkRow", "add_mark", "list_marks", "marks_within"]

KINDS = ("deploy", "config", "scale", "incident", "drill", "note")
"""What marks are usually; any short word will do."""

TENANT = "tenant"
IN_A_PICTURE = 200
LONGEST = {"name": 200, "kind": 40, "service": 200, "attribute": 100, "value": 1000}
ATTRIBUTES_AT_MOST = 32
AHEAD = timedelta(days=366)


@dataclass(frozen=True, slots=True)
class MarkRow:
    """One row of `marks`."""

    time: datetime
    kind: str
    name: str
    service: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "time": rfc3339(self.time),
            "kind": self.kind,
            "name": self.name,
            "service": self.service,
            "attributes": dict(self.attributes),
        }


def _check(mark: MarkRow) -> None:
    """Refuse what has no name, what would break a line, and what would fill a page."""
    if not mark.name or not mark.kind:
        raise UsageError("a mark needs a name and a kind, such as v2.3.1 and deploy")
    if mark.time > datetime.now(UTC) + AHEAD:
        raise UsageError(f"{rfc3339(mark.time)} is more than a year ahead")
    if len(mark.attributes) > ATTRIBUTES_AT_MOST:
        raise UsageError(f"{len(mark.attributes)} attributes: a mark has at most {ATTRIBUTES_AT_MOST}")
    for what in ("name", "kind", "service"):
        _check_text(what, getattr(mark, what))
    for key, value in mark.attributes.items():
        _check_text("attribute", key)
        _check_text("value", value)


def _check_text(what: str, text: str) -> None:
    if len(text) > LONGEST[what]:
        raise UsageError(f"{what} {text[:20]!r}… has {len(text)} characters; at most {LONGEST[what]}")
    if not text.isprintable():
        raise UsageError(f"{what} {text[:40]!r} holds a character that cannot be printed")


def add_mark(store: Store, mark: MarkRow) -> None:
    """Write one; the same mark once more is stored once (while the table remembers it)."""
    _check(mark)
    words = {name: [getattr(mark, name)] for name in ("kind", "name", "service")}
    pairs = pa.array([sorted(mark.attributes.items())], pa.map_(pa.string(), pa.string()))
    time = pa.array([mark.time], pa.timestamp("us", "UTC"))
    store.insert_arrow("marks", pa.table({"time": time, **words, "attributes": pairs}))


def marks_within(store: Store, span: Window, where: Filter, tenants: Sequence[str] = ()) -> list[MarkRow]:
    """Return the last marks of a span, oldest first, of the services and tenants that `where` names."""
    chosen = dict(where.allowed)
    asked = {"services": list(chosen.get("service", ())), "kinds": []}
    scope = list(chosen.get(TENANT, tenants))
    return _rows(store, span, {**asked, "tenants": scope}, None, IN_A_PICTURE)[::-1]


def list_marks(
    store: Store,
    span: Window,
    services: Sequence[str] = (),
    kinds: Sequence[str] = (),
    tenants: Sequence[str] = (),
    limit: int = 100,
    cursor: str | None = None,
) -> Page[MarkRow]:
    """Return marks of a span, newest first; none named means any. A cursor goes on where a page ended.

    A service named includes marks of no service, which concern all.
    """
    bound: dict[str, Any] = {"services": list(services), "kinds": list(kinds), "tenants": list(tenants)}

    def read(window: Window, place: Place | None, most: int) -> list[MarkRow]:
        return _rows(store, window, bound, place, most)

    question = {"list": "marks", "services": sorted(services), "kinds": sorted(kinds)}
    return paged(question, span, limit, cursor, read, _key, (int, str, str, str))


def _key(mark: MarkRow) -> Key:
    return microseconds(mark.time), mark.kind, mark.name, mark.service


def _rows(
    store: Store, span: Window, bound: Mapping[str, Any], place: Place | None, most: int
) -> list[MarkRow]:
    at_us, kind, name, service = place.key if place else (0, "", "", "")
    last = "({at_us:Int64}, {kind:String}, {name:String}, {service:String})"
    after = f"(at_us, kind, name, service) {place.comparison if place else '<'} {last}"
    position = {"at_us": at_us, "kind": kind, "name": name, "service": service}
    page = {"most": most, "skip": place.skip if place else 0}
    sql = statement("mark_list", after=after if place else "1")
    rows = store.rows(sql, {**span.bounds_us(), **bound, **(position if place else {}), **page})
    return [_row(row) for row in rows]


def _row(row: Mapping[str, Any]) -> MarkRow:
    time = time_at(int(row["at_us"]))
    return MarkRow(time, row["kind"], row["name"], row["service"], dict(row["attributes"]))
