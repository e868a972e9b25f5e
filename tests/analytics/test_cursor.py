"""Cursors: every item once whatever ties, and nothing but a cursor of the same question is taken."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from operator import le, lt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_attrib.analytics.cursor import Key, Place, paged
from otel_attrib.analytics.windows import Window
from otel_attrib.errors import UsageError

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
SPAN = Window(NOON, NOON + timedelta(hours=1))
Item = tuple[int, str, int]  # a key of two parts, and what tells equal keys apart


def reader(items: list[Item]) -> Callable[[Window, Place | None, int], list[Item]]:
    """A list in memory, read as a store is: from a key on, so many skipped, so many at most."""
    ordered = sorted(items, key=lambda item: item[:2], reverse=True)

    def read(span: Window, place: Place | None, most: int) -> list[Item]:
        assert span == SPAN
        comparison = {None: None, "<": lt, "<=": le}[place.comparison if place else None]
        rest = [item for item in ordered if not place or (comparison and comparison(item[:2], place.key))]
        return rest[place.skip if place else 0 :][:most]

    return read


def key(item: Item) -> Key:
    """The order of an item."""
    return item[:2]


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab")), max_size=40), st.integers(1, 7))
def test_every_item_once(keys: list[tuple[int, str]], limit: int) -> None:
    """Pages put together are the list in order, each item once, also where many have one key."""
    items = [(*each, number) for number, each in enumerate(keys)]
    found: list[Item] = []
    cursor, pages = None, 0
    while True:
        page = paged({"q": 1}, SPAN, limit, cursor, reader(items), key, (int, str))
        found, cursor, pages = [*found, *page.items], page.next, pages + 1
        if cursor is None:
            break

    assert sorted(items, key=key, reverse=True) == found
    assert max(1, -(-len(items) // limit)) == pages


def a_cursor(question: dict[str, int]) -> str:
    """The cursor after the first of two items."""
    made = paged(question, SPAN, 1, None, reader([(1, "a", 0), (2, "b", 1)]), key, (int, str)).next
    assert made is not None
    return made


def test_the_span_is_that_of_the_first_page() -> None:
    """A page that goes on keeps the first page's span, whatever `now` has become."""
    later = Window(SPAN.start + timedelta(hours=1), SPAN.end + timedelta(hours=1))

    page = paged({"q": 1}, later, 1, a_cursor({"q": 1}), reader([(1, "a", 0), (2, "b", 1)]), key, (int, str))

    assert ([(1, "a", 0)], None) == (page.items, page.next)


def test_a_cursor_of_another_question_is_refused() -> None:
    """A cursor goes with the words of the list that it came from."""
    with pytest.raises(UsageError, match="of another question: ask with the same words"):
        paged({"q": 2}, SPAN, 1, a_cursor({"q": 1}), reader([]), key, (int, str))


def test_a_cursor_of_another_order_is_refused() -> None:
    """A key whose parts are of other types belongs to another list."""
    with pytest.raises(UsageError, match="is no cursor"):
        paged({"q": 1}, SPAN, 1, a_cursor({"q": 1}), reader([]), key, (str, str))


@given(st.data())
def test_an_altered_cursor_is_refused(data: st.DataObject) -> None:
    """One character changed, left out or added makes it none."""
    text = a_cursor({"q": 1})
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters(codec="ascii").filter(lambda each: each != text[at]))
    altered = data.draw(st.sampled_from([f"{text[:at]}{other}{text[at + 1 :]}", text[:at], text + other]))

    with pytest.raises(UsageError, match="is no cursor"):
        paged({"q": 1}, SPAN, 1, altered, reader([]), key, (int, str))


@given(st.text(max_size=60))
def test_any_text_is_refused(text: str) -> None:
    """Text that nobody made here is no cursor, and never a fault of another kind."""
    with pytest.raises(UsageError, match="is no cursor: give `next` of a page as it is"):
        paged({"q": 1}, SPAN, 1, text, reader([]), key, (int, str))


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_page_has_its_limits(limit: int) -> None:
    """A page holds 1 to 1000 items."""
    with pytest.raises(UsageError, match=f"a page of {limit} items: give a limit from 1 to 1000"):
        paged({}, SPAN, limit, None, reader([]), key, (int, str))
