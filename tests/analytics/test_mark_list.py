"""Marks: kept once, listed newest first, those of other tenants left out."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from otel_attrib.analytics.filters import parse_filter
from otel_attrib.analytics.mark_list import MarkRow, add_mark, list_marks, marks_within
from otel_attrib.analytics.windows import Window
from otel_attrib.errors import UsageError
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOUR = Window(NOON, NOON + timedelta(hours=1))
MARKS = (
    MarkRow(NOON, "deploy", "v1", "chat", {"commit": "4bf92f3", "by": "ci"}),
    MarkRow(NOON + timedelta(minutes=1), "config", "batch 64", "", {}),
    MarkRow(NOON + timedelta(minutes=1), "config", "batch 64", "", {"tenant": "acme"}),
    MarkRow(NOON + timedelta(minutes=1), "config", "batch 64", "", {"tenant": "zen"}),
    MarkRow(NOON + timedelta(minutes=2), "drill", "pull a link — ünïcode", "search", {}),
)


@pytest.fixture
def kept(store: Store) -> Iterator[Store]:
    """A store with all of MARKS, each written twice."""
    for mark in (*MARKS, *MARKS):
        add_mark(store, mark)
    yield store


def content(mark: MarkRow) -> tuple[object, ...]:
    """What a mark says, in an order."""
    return mark.time, mark.kind, mark.name, mark.service, sorted(mark.attributes.items())


def names(
    store: Store, services: Sequence[str] = (), kinds: Sequence[str] = (), tenants: Sequence[str] = ()
) -> list[str]:
    """Service and tenant of the marks listed."""
    page = list_marks(store, HOUR, services, kinds, tenants)
    return [f"{mark.service}{mark.attributes.get('tenant', '')}" for mark in page.items]


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_all_marks_newest_first(kept: Store, limit: int) -> None:
    """A mark written again is there once; pages put together hold each, alike but for a tenant or not."""
    found: list[MarkRow] = []
    cursor = None
    while True:
        page = list_marks(kept, HOUR, limit=limit, cursor=cursor)
        found, cursor = [*found, *page.items], page.next
        if cursor is None:
            break

    assert [mark.time for mark in reversed(MARKS)] == [mark.time for mark in found]
    assert sorted(map(content, MARKS)) == sorted(map(content, found))


def test_services_kinds_and_tenants(kept: Store) -> None:
    """A service's marks are its own and those of none; a tenant's his own and those of none."""
    assert ["acme", "chat", "zen"] == sorted(name for name in names(kept, services=["chat"]) if name)
    assert ["search"] == names(kept, kinds=["drill"])
    assert ["", "acme", "chat", "search"] == sorted(names(kept, tenants=["acme"]))


def test_marks_of_a_picture(kept: Store) -> None:
    """Under a heat map of one tenant stand that tenant's and everybody's, oldest first."""
    found = marks_within(kept, HOUR, parse_filter(["tenant=zen", "service=chat"]))

    assert ["chat", "", "zen"] == [
        mark.service + mark.attributes.get("tenant", "") for mark in sorted(found, key=content)
    ]
    assert [] == marks_within(kept, Window(NOON - timedelta(hours=1), NOON), parse_filter([]))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"name": ""}, "a mark needs a name and a kind"),
        ({"kind": ""}, "a mark needs a name and a kind"),
        ({"name": "x" * 201}, "has 201 characters; at most 200"),
        ({"name": "a\nb"}, "holds a character that cannot be printed"),
        ({"service": "a\x1b[31m"}, "holds a character that cannot be printed"),
        ({"attributes": {f"k{i}": "" for i in range(33)}}, "33 attributes: a mark has at most 32"),
        ({"attributes": {"k": "v" * 1001}}, "has 1001 characters; at most 1000"),
        ({"time": datetime(2090, 1, 1, tzinfo=UTC)}, "more than a year ahead"),
    ],
)
def test_what_is_no_mark(store: Store, changed: dict[str, object], said: str) -> None:
    """A mark that says nothing, breaks a line or fills a page is refused."""
    with pytest.raises(UsageError, match=said):
        add_mark(store, replace(MARKS[0], **changed))  # type: ignore[arg-type]  # wrong on purpose
