"""Words of a summary: a label with items or a sentence beside it at 80 columns, a counted noun, a time."""

import textwrap
from collections.abc import Iterable

from otel_attrib.schema.epoch import time_at

__all__ = ["counted_noun", "listed", "stamp", "told"]

_WIDTH = 80
_LABEL = 10


def counted_noun(count: int, noun: str) -> str:
    """`1 span`, `2 spans`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def stamp(ns: int | None) -> str | None:
    """Nanoseconds since 1970 in RFC 3339, cut to µs: `2026-05-01T12:00:00.123456Z`."""
    return None if ns is None else f"{time_at(ns // 1000):%Y-%m-%dT%H:%M:%S.%f}Z"


def listed(label: str, items: Iterable[str]) -> list[str]:
    """Lines such as `  columns   a=b  c=d`; no item is broken, and without items there is no line."""
    text = "  ".join(item.replace(" ", "\0") for item in items)
    return [line.replace("\0", " ") for line in _wrapped(label, text)] if text else []


def told(label: str, sentence: str) -> list[str]:
    """A sentence beside its label."""
    return _wrapped(label, sentence)


def _wrapped(label: str, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        width=_WIDTH,
        initial_indent=f"  {label:<{_LABEL}}",
        subsequent_indent=" " * (_LABEL + 2),
        break_on_hyphens=False,
        break_long_words=False,
    )
