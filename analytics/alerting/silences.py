"""Silences of our own: which alerts nobody wants to be told of, until when, who said so and why.

They are kept in the store, so they outlive the service and hold for every service over one store. A
silence is never deleted: to expire it is to let it end now. Alertmanager's own silences are
Alertmanager's to keep.
"""

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import rfc3339
from otel_attrib.errors import NotFound, UsageError
from otel_attrib.schema.store import Store

__all__ = [
    "Matcher",
    "Silence",
    "end_silence",
    "fetch_silences",
    "keep_silence",
    "parse_matchers",
    "silenced",
]

MATCHER = re.compile(r"([a-zA-Z_][a-zA-Z0-9_]*)(=~|!~|!=|=)(.*)", re.DOTALL)
LONGEST_PATTERN = 200


@dataclass(frozen=True, slots=True)
class Matcher:
    """A condition on one label; one that an alert lacks is empty, and patterns match all of it."""

    label: str
    operator: str
    value: str

    @classmethod
    def parse(cls, word: str) -> Self:
        """Read `model=llama-8b`, `severity!=page`, `service=~chat.*` or `node!~gpu-.`."""
        found = MATCHER.fullmatch(word)
        if found is None:
            raise UsageError(
                f"{word!r} is no condition on a label: write it as model=llama-8b or service=~chat.*"
            )
        matcher = cls(*found.groups())
        matcher._check()
        return matcher

    def _check(self) -> None:
        if "~" not in self.operator:
            return
        if len(self.value) > LONGEST_PATTERN:
            raise UsageError(f"a pattern has at most {LONGEST_PATTERN} characters")
        try:
            pc.match_substring_regex(pa.array([""]), self.value)
        except pa.ArrowInvalid as fault:
            raise UsageError(f"{self.value!r} is no pattern of RE2: {fault}") from None

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether it holds for an alert with these labels."""
        given = labels.get(self.label, "")
        met = _matches(self.value, given) if "~" in self.operator else given == self.value
        return met is not None and met != self.operator.startswith("!")

    def __str__(self) -> str:
        """Write it as it can be typed."""
        return f"{self.label}{self.operator}{self.value}"


def _matches(pattern: str, text: str) -> bool | None:
    """Whether RE2 matches all of a text, as in Alertmanager: in linear time, whatever somebody writes.

    Python's own patterns may take for ever on a label that a client chose, and all threads wait meanwhile.
    """
    try:
        return bool(pc.match_substring_regex(pa.array([text]), rf"\A(?:{pattern})\z")[0].as_py())
    except pa.ArrowInvalid:  # somebody else wrote the row: what nobody can read covers nothing
        return None


@dataclass(frozen=True, slots=True)
class Silence:
    """One silence; all of its matchers must hold."""

    id: str
    matchers: tuple[Matcher, ...]
    starts: datetime
    ends: datetime
    created_by: str
    comment: str

    @classmethod
    def new(
        cls, matchers: Sequence[Matcher], starts: datetime, ends: datetime, created_by: str, comment: str
    ) -> Self:
        """Return one with an id of its own; one that silences everything, or nothing, is refused."""
        starts, ends = _kept(starts), _kept(ends)
        if not matchers:
            raise UsageError("a silence without a condition would silence every alert: give alertname=~.+")
        if ends <= starts:
            raise UsageError(f"a silence from {rfc3339(starts)} to {rfc3339(ends)} is over before it begins")
        if not created_by.strip() or not comment.strip():
            raise UsageError("say who silences it and why: others will ask")
        return cls(secrets.token_hex(8), tuple(matchers), starts, ends, created_by, comment)

    def active(self, at: datetime) -> bool:
        """Whether it holds at a time."""
        return self.starts <= at < self.ends

    def covers(self, labels: Mapping[str, str]) -> bool:
        """Whether it is about an alert with these labels."""
        return all(matcher.holds(labels) for matcher in self.matchers)

    def as_dict(self, at: datetime) -> dict[str, Any]:
        """Return it for JSON, with its state at a time: pending, active, expired."""
        state = "active" if self.active(at) else "pending" if at < self.starts else "expired"
        return {
            "id": self.id,
            "state": state,
            "matchers": [str(matcher) for matcher in self.matchers],
            "starts": rfc3339(self.starts),
            "ends": rfc3339(self.ends),
            "created_by": self.created_by,
            "comment": self.comment,
        }


def _kept(time: datetime) -> datetime:
    """Return a time as the table keeps it, to the millisecond."""
    return time.replace(microsecond=time.microsecond // 1000 * 1000)


def parse_matchers(words: Iterable[str]) -> tuple[Matcher, ...]:
    """Read the conditions of a silence."""
    return tuple(map(Matcher.parse, words))


def silenced(labels: Mapping[str, str], silences: Iterable[Silence], at: datetime) -> str:
    """Return the id of a silence that covers an alert at a time, or nothing."""
    return next((one.id for one in silences if one.active(at) and one.covers(labels)), "")


def fetch_silences(store: Store, since: datetime) -> tuple[Silence, ...]:
    """Return those that are not over at `since`."""
    rows = store.rows(statement("silences"), {"since": since.astimezone(UTC).replace(tzinfo=None)})
    return tuple(_silence(row) for row in rows)


def _silence(row: Mapping[str, Any]) -> Silence:
    matchers = tuple(Matcher(*_three(matcher)) for matcher in row["matchers"])
    return Silence(row["id"], matchers, row["starts"], row["ends"], row["created_by"], row["comment"])


def _three(matcher: Any) -> tuple[str, str, str]:
    """A named tuple of ClickHouse comes as a dict or as a tuple, as the driver likes it."""
    label, operator, value = matcher.values() if isinstance(matcher, dict) else matcher
    return label, operator, value


def keep_silence(store: Store, silence: Silence, at: datetime) -> None:
    """Write it; the newest row of an id counts."""
    columns = pa.struct([(name, pa.string()) for name in ("label", "operator", "value")])
    matchers = [{"label": m.label, "operator": m.operator, "value": m.value} for m in silence.matchers]
    table = pa.table(
        {
            "id": [silence.id],
            "updated": pa.array([at], pa.timestamp("us", "UTC")),
            "starts": pa.array([silence.starts], pa.timestamp("ms", "UTC")),
            "ends": pa.array([silence.ends], pa.timestamp("ms", "UTC")),
            "created_by": [silence.created_by],
            "comment": [silence.comment],
            "matchers": pa.array([matchers], pa.list_(columns)),
        }
    )
    store.insert_arrow("silences", table)


def end_silence(store: Store, id: str, at: datetime) -> Silence:
    """Let it end now; `NotFound` when there is none, or it is over."""
    found = next((one for one in fetch_silences(store, at) if one.id == id), None)
    if found is None:
        raise NotFound(f"no silence {id} is pending or active: `otel-attrib alerts silence` lists them")
    ended = replace(found, ends=max(at, found.starts))
    keep_silence(store, ended, at)
    return ended
