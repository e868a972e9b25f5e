"""Rows older than the store keeps are told, for they would be gone within seconds."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from otel_attrib.collector.imports.retention import expiry_note

NOW = datetime(2026, 5, 31, tzinfo=UTC)


def keeping(days: int) -> Any:
    """A store that keeps rows for so many days, 0 for ever."""
    rows: Callable[[str], list[dict[str, int]]] = lambda sql: [{"days": days}]  # noqa: E731 - one expression
    return type("Store", (), {"rows": staticmethod(rows)})


@pytest.mark.parametrize(
    ("days", "day", "told"),
    [(0, datetime(2001, 1, 1, tzinfo=UTC), False), (30, datetime(2026, 5, 2, tzinfo=UTC), False),
     (30, datetime(2026, 4, 30, tzinfo=UTC), True)],
    ids=["for-ever", "young", "old"],
)  # fmt: skip
def test_old_rows(days: int, day: datetime, told: bool) -> None:
    """Only rows older than a time to live are told, with the day and the way to keep them."""
    note = expiry_note(keeping(days), int(day.timestamp() * 1e9), NOW)

    assert told is (note is not None and f"{day:%Y-%m-%d}" in note and "--ttl-days 0" in note)


def test_nothing_imported() -> None:
    """Without rows there is nothing to tell."""
    assert expiry_note(keeping(30), None, NOW) is None
