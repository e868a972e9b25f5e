"""Kept reports: pages, one incident, and who may see which."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from otel_attrib.analytics.report_list import incident_reports, list_reports, since_window
from otel_attrib.analytics.windows import Window
from otel_attrib.errors import NotFound, UsageError
from otel_attrib.schema.reports import ReportRow, into_store
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
DAY = Window(NOON, NOON + timedelta(days=1))


def report(number: int, incident: str, where: dict[str, str], state: str = "open") -> ReportRow:
    """One report, `number` minutes after noon."""
    return ReportRow(
        time=NOON + timedelta(minutes=number),
        incident=incident,
        state=state,
        onset=NOON,
        service="chat",
        model="m0",
        metric="ttft",
        quantile=0.99,
        where=where,
        verdict="CAUSE",
        layer="gpu",
        delta_ms=None if state == "over" else 12.5,
        report=json.dumps({"number": number}),
        hash=f"{number:064}",
    )


@pytest.fixture
def kept(store: Store) -> Store:
    """Reports of acme, of zen, of both, and of everybody."""
    keep = into_store(store)
    store.command("TRUNCATE TABLE reports")
    for row in (
        report(1, "aa11", {"tenant": "acme", "model": "m0"}),
        report(2, "aa11", {"tenant": "acme", "model": "m0"}, "over"),
        report(3, "bb22", {"tenant": "zen"}),
        report(4, "cc33", {"tenant": "acme,zen"}),
        report(5, "aa44", {}),
    ):
        keep(row)
    return store


def found(store: Store, **chosen: object) -> list[int]:
    """Minutes of the reports listed."""
    page = list_reports(store, DAY, **chosen)  # type: ignore[arg-type]  # by name, of any type
    return [int(row.words["hash"]) for row in page.items]


def test_pages_hold_all_newest_first(kept: Store) -> None:
    """Pages put together are every report once."""
    seen: list[int] = []
    cursor = None
    while True:
        page = list_reports(kept, DAY, limit=2, cursor=cursor)
        seen, cursor = [*seen, *(int(row.words["hash"]) for row in page.items)], page.next
        if cursor is None:
            break

    assert [5, 4, 3, 2, 1] == seen


def test_conditions(kept: Store) -> None:
    """By incident, state and service."""
    assert [2, 1] == found(kept, incident="aa11")
    assert [2] == found(kept, state="over")
    assert ([], 5) == (found(kept, service="other"), len(found(kept, service="chat")))


def test_tenants_see_what_is_theirs_alone(kept: Store) -> None:
    """A report is seen by those who may see every tenant that its condition names, and it must name one."""
    assert [2, 1] == found(kept, tenants=["acme"])
    assert [3] == found(kept, tenants=["zen"])
    assert [4, 3, 2, 1] == found(kept, tenants=["acme", "zen"])
    assert [] == found(kept, tenants=["other"])
    with pytest.raises(NotFound, match="no report of an incident 'bb22'"):
        incident_reports(kept, "bb22", ["acme"])
    # Nor does the beginning of a name tell that there is another.
    assert 2 == len(incident_reports(kept, "aa", ["acme"]))


def test_one_incident_has_its_bodies(kept: Store) -> None:
    """All that was said of it, newest first, by the whole name or a beginning of one."""
    rows = incident_reports(kept, "aa11")

    assert [{"number": 2}, {"number": 1}] == [row.as_dict()["report"] for row in rows]
    assert [None, 12.5] == [row.as_dict()["delta_ms"] for row in rows]
    assert rows == incident_reports(kept, "aa1")
    with pytest.raises(UsageError, match="'aa' begins several incidents: aa11, aa44"):
        incident_reports(kept, "aa")


def test_a_list_has_no_bodies(kept: Store) -> None:
    """The list is light: bodies are asked for one incident at a time."""
    assert all("report" not in row.as_dict() for row in list_reports(kept, DAY).items)


def test_since() -> None:
    """A duration back from now, or a time; what was written by a clock a little ahead is in."""
    now = NOON + timedelta(days=3)

    assert Window(NOON, now + timedelta(minutes=5)) == since_window("3d", now)
    assert Window(NOON, now + timedelta(minutes=5)) == since_window("2026-05-01T12:00:00Z", now)
    with pytest.raises(UsageError, match="is no duration"):
        since_window("yesterday", now)
