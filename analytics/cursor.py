"""Pages of a list, and the opaque text that goes on where one ended.

A list has a total order by a key. A cursor holds the key of the last item shown, how many items of that
very key were shown (ties are neither lost nor shown twice), the span of time that the first page resolved
(so that `now` does not move between two pages), and a digest of the question. It carries a position and no
right: every condition and the caller's scope are applied to each page anew, so one that was made up shows
nothing more. What is not a cursor, or one of another question, is refused.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Generic, TypeVar

from otel_attrib.analytics.windows import Window
from otel_attrib.errors import UsageError
from otel_attrib.schema.epoch import time_at

__all__ = ["LIMIT_AT_MOST", "Key", "Page", "Place", "paged"]

T = TypeVar("T")
Key = tuple[int | str, ...]
LIMIT_AT_MOST = 1000
_LONGEST = 8192
_CHECK = 8  # characters of a checksum: what was cut or mistyped is told from what was made here
_LAST_US = 253_402_300_799_000_000  # the end of the year 9999


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page begins: after the items of `key`; with `skip` among these, of which so many were shown."""

    key: Key
    skip: int

    @property
    def comparison(self) -> str:
        """Return how the keys of what follows compare with `key`, in SQL."""
        return "<=" if self.skip else "<"


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Items in order; `next` asks for those that follow, None when there are none."""

    items: list[T]
    next: str | None


def paged(
    question: Mapping[str, Any],
    span: Window,
    limit: int,
    cursor: str | None,
    read: Callable[[Window, Place | None, int], list[T]],
    key: Callable[[T], Key],
    kinds: Sequence[type],
) -> Page[T]:
    """Read one page: `read(span, place, most)` gives items from a place on, `key` their order.

    `question` is what a cursor must belong to; `kinds` are the types of the parts of a key.
    """
    if not 1 <= limit <= LIMIT_AT_MOST:
        raise UsageError(f"a page of {limit} items: give a limit from 1 to {LIMIT_AT_MOST}")
    digest = sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()[:16]
    place = None
    if cursor is not None:
        span, place = _read(cursor, digest, kinds)
    found = read(span, place, limit + 1)
    items = found[:limit]
    if len(found) <= limit:
        return Page(items, None)
    return Page(items, _text(digest, span, _end(items, key(found[limit]), place, key)))


def _end(items: Sequence[T], following: Key, place: Place | None, key: Callable[[T], Key]) -> Place:
    last = key(items[-1])
    if following != last:
        return Place(last, 0)
    shown = sum(key(item) == last for item in items)
    return Place(last, shown + (place.skip if place and place.key == last else 0))


def _text(digest: str, span: Window, place: Place) -> str:
    bounds = span.bounds_us()
    body = json.dumps(
        [digest, bounds["from_us"], bounds["to_us"], place.skip, list(place.key)], separators=(",", ":")
    )
    coded = urlsafe_b64encode(body.encode()).decode().rstrip("=")
    return _checksum(coded) + coded


def _checksum(coded: str) -> str:
    return sha256(coded.encode()).hexdigest()[:_CHECK]


def _read(text: str, digest: str, kinds: Sequence[type]) -> tuple[Window, Place]:
    wrong = UsageError(f"{text[:20]!r}… is no cursor: give `next` of a page as it is, or none to begin again")
    check, coded = text[:_CHECK], text[_CHECK:]
    if len(text) > _LONGEST or not coded.isascii() or check != _checksum(coded):
        raise wrong
    try:
        made_for, from_us, to_us, skip, key = json.loads(urlsafe_b64decode(coded + "=" * (-len(coded) % 4)))
    except (Error, ValueError, TypeError, RecursionError):
        raise wrong from None
    if made_for != digest:
        raise UsageError("the cursor is of another question: ask with the same words, or begin without one")
    bounded = all(type(each) is int and 0 <= each <= _LAST_US for each in (from_us, to_us, skip))
    if not bounded or from_us >= to_us or not _of(key, kinds):
        raise wrong
    return Window(time_at(from_us), time_at(to_us)), Place(tuple(key), skip)


def _of(key: Any, kinds: Sequence[type]) -> bool:
    """Whether a key has parts of these types, whole numbers being what fits in 64 bits."""
    if not isinstance(key, list) or len(key) != len(kinds):
        return False
    return all(type(part) is kind and _fits(part) for part, kind in zip(key, kinds, strict=True))


def _fits(part: Any) -> bool:
    return not isinstance(part, int) or -(1 << 63) <= part < 1 << 63
