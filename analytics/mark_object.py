"""The listing of marks from a user's words to JSON: the same for the command and for the service."""

from collections.abc import Sequence
from typing import Any

from otel_attrib.analytics.cursor import Page
from otel_attrib.analytics.filters import EVERY_REQUEST
from otel_attrib.analytics.mark_list import MarkRow, list_marks
from otel_attrib.analytics.question import end_of
from otel_attrib.analytics.windows import parse_window
from otel_attrib.schema.store import Store

__all__ = ["SCHEMA", "ask_marks", "marks_object"]

SCHEMA = "otel-attrib/marks/1"


def ask_marks(
    store: Store,
    last: str,
    at: str,
    services: Sequence[str],
    kinds: Sequence[str],
    tenants: Sequence[str],
    limit: int,
    cursor: str | None,
) -> Page[MarkRow]:
    """The page that these words ask for."""
    span = parse_window(last, end_of(store, at, EVERY_REQUEST))
    return list_marks(store, span, services, kinds, tenants, limit, cursor)


def marks_object(page: Page[MarkRow]) -> dict[str, Any]:
    """A page as `otel-attrib mark --json` prints it."""
    return {"schema": SCHEMA, "items": [mark.as_dict() for mark in page.items], "next": page.next}
