"""A span of time in a query: a duration back from `at`, or `from` and `to`."""

from typing import Annotated

from fastapi import Query

from otel_attrib.errors import UsageError

__all__ = ["From", "To", "span_words"]

From = Annotated[
    str | None,
    Query(
        alias="from",
        max_length=64,
        description="First moment (RFC 3339), with `to`.",
        examples=["2026-05-01T12:00:00Z"],
    ),
]
To = Annotated[
    str | None,
    Query(
        alias="to",
        max_length=64,
        description="The moment that ends the span, not in it.",
        examples=["2026-05-01T13:00:00Z"],
    ),
]


def span_words(length: str | None, begin: str | None, end: str | None, name: str, default: str) -> str:
    """Return the words of a window: `begin..end`, or `length`, or the default; not both."""
    if begin is None and end is None:
        return length or default
    if begin is None or end is None:
        raise UsageError("give from and to, both")
    if length is not None:
        raise UsageError(f"give from and to, or {name}, not all of them")
    if ".." in begin or ".." in end:
        raise UsageError("from and to are one time each, such as 2026-05-01T12:00:00Z")
    return f"{begin}..{end}"
