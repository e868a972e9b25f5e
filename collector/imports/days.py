"""Requests cut so that a running service takes all of each: it takes items of so many days at a time."""

from collections.abc import Callable, Iterator
from typing import Any

from otel_attrib.collector.signals import Signal
from otel_attrib.collector.validate import DAY_NS, MOST_DAYS, TIMES, item_lists, keep

__all__ = ["by_days"]


def by_days(signal: Signal, body: bytes) -> Iterator[bytes]:
    """The request itself, or where its items are of more than `MOST_DAYS` days, one request for so many."""
    time = TIMES[signal.name]
    days = sorted({time(item) // DAY_NS for items in _lists(signal, body)[1] for item in items})
    if len(days) <= MOST_DAYS:
        yield body
        return
    for begin in range(0, len(days), MOST_DAYS):
        yield _of_days(signal, body, frozenset(days[begin : begin + MOST_DAYS]), time)


def _of_days(signal: Signal, body: bytes, days: frozenset[int], time: Callable[[Any], int]) -> bytes:
    request, lists = _lists(signal, body)
    for items in lists:
        keep(items, lambda item: None if time(item) // DAY_NS in days else "another day")
    cut: bytes = request.SerializeToString(deterministic=True)
    return cut


def _lists(signal: Signal, body: bytes) -> tuple[Any, list[Any]]:
    request = signal.decode(body)
    return request, list(item_lists(signal, request))
