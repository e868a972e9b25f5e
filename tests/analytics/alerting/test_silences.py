"""Silences: what their conditions cover, how they are kept, how they end."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_attrib.analytics.alerting.silences import (
    Matcher,
    Silence,
    end_silence,
    fetch_silences,
    keep_silence,
    parse_matchers,
    silenced,
)
from otel_attrib.errors import NotFound, UsageError
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
LABELS = {"alertname": "LatencyRegression", "service": "chat", "model": "llama-8b"}


def made(*words: str) -> Silence:
    """A silence of an hour from noon on."""
    return Silence.new(parse_matchers(words), NOON, NOON + HOUR, "me", "load test")


@pytest.mark.parametrize(
    ("word", "covers"),
    [
        ("model=llama-8b", True),
        ("model=llama", False),
        ("model!=llama-8b", False),
        ("model=~llama.*", True),
        ("model=~lama", False),
        ("model!~gpt.*", True),
        ("tenant=", True),
        ("tenant=~.+", False),
        ("service=chat", True),
    ],
)
def test_conditions(word: str, covers: bool) -> None:
    """A condition holds for the whole value; a label that an alert lacks is empty, as in Alertmanager."""
    assert covers == made(word).covers(LABELS)


@pytest.mark.parametrize("pattern", ["(a+)+", "(a|aa)+", "(.*a){20}", "(a*)*"])
def test_no_pattern_stops_the_service(pattern: str) -> None:
    """A condition is judged at once on labels that a client chose: RE2's time is linear, `re`'s is not."""
    silence = made(f"model=~{pattern}b")

    began = time.perf_counter()
    assert not silence.covers({"model": 200 * "a"})
    assert time.perf_counter() - began < 1


def test_what_cannot_be_read_covers_nothing() -> None:
    """A pattern that somebody wrote into the table past us neither silences nor ends a look."""
    for operator in ("=~", "!~"):
        assert not Silence("1", (Matcher("model", operator, "("),), NOON, NOON + HOUR, "me", "").covers(
            LABELS
        )


def test_all_conditions_hold() -> None:
    """One condition that does not hold is enough to be told all the same."""
    assert made("service=chat", "model=llama-8b").covers(LABELS)
    assert not made("service=chat", "model=other").covers(LABELS)


def test_time() -> None:
    """A silence holds from its start up to, not including, its end."""
    silence = made("service=chat")

    held = [bool(silenced(LABELS, [silence], NOON + wait)) for wait in (-HOUR, timedelta(), HOUR / 2, HOUR)]
    assert [False, True, True, False] == held


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "would silence every alert"),
        (("chat",), "no condition on a label"),
        (("service=~(",), "is no pattern"),
        (("service=~a)|(b",), "is no pattern"),
        (("service=~(?=a)",), "is no pattern"),
        (("service=~" + "a" * 300,), "at most 200"),
    ],
)
def test_refused(words: tuple[str, ...], message: str) -> None:
    """What would silence everything, nothing, or cannot be read is refused with what to write."""
    with pytest.raises(UsageError, match=message):
        made(*words)


def test_who_and_why_are_needed() -> None:
    """A silence that nobody explains is refused."""
    with pytest.raises(UsageError, match="say who silences it and why"):
        Silence.new(parse_matchers(["a=b"]), NOON, NOON + HOUR, "me", " ")


@given(
    st.from_regex(r"[a-z_][a-z0-9_]{0,10}", fullmatch=True),
    st.sampled_from(["=", "!=", "=~", "!~"]),
    st.text(st.characters(exclude_characters="()[]{}*+?\\|^$=~!", exclude_categories=["C"]), max_size=20),
)
def test_written_as_typed(label: str, operator: str, value: str) -> None:
    """A condition is read back from how it is written."""
    matcher = Matcher(label, operator, value)

    assert matcher == Matcher.parse(str(matcher))


def test_kept_and_ended(store: Store) -> None:
    """A silence is read back as it was kept; once ended it is over, and cannot be ended again."""
    silence = made("service=chat", "model=~llama.*")
    keep_silence(store, silence, NOON)
    keep_silence(store, made("service=other"), NOON)

    assert silence in fetch_silences(store, NOON)
    ended = end_silence(store, silence.id, NOON + HOUR / 2)

    assert NOON + HOUR / 2 == ended.ends
    left = [one.matchers for one in fetch_silences(store, NOON + HOUR / 2)]
    assert [made("service=other").matchers] == left
    with pytest.raises(NotFound, match=silence.id):
        end_silence(store, silence.id, NOON + HOUR / 2)
