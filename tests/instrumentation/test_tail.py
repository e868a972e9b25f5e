"""Which requests tail sampling keeps, why, and that what it kept stands for all that came."""

import random
from typing import Any

import numpy as np
import pytest
from opentelemetry.trace import SpanContext, TraceFlags, TraceState

from otel_attrib.instrumentation.recorder import Timeline
from otel_attrib.instrumentation.sampling.rules import TailRules, tail_rules
from otel_attrib.instrumentation.sampling.tail import TailSampler

MS = 1_000_000


def request(ttft_ms: float = 20, tokens: int = 10, arrived_s: float = 0, **values: Any) -> Timeline:
    """A request that arrived at `arrived_s`, with its first token after `ttft_ms` and one each ms then."""
    made = Timeline("chat", "/v1/chat/completions", [])
    made.arrived = round(arrived_s * 1e9)
    made.model, made.status_code = "tiny", 200
    sequence = made.add("a", 100, False)
    assert sequence is not None
    for number in range(tokens):
        sequence.took(made.arrived + round((ttft_ms + number) * MS), 1)
    made.ended = sequence.stamps[-1]
    for name, value in values.items():
        setattr(made, name, value)
    return made


def context(trace_id: int, state: str = "") -> SpanContext:
    """Where a span belongs."""
    return SpanContext(trace_id, 1, False, TraceFlags(1), TraceState.from_header([state]) if state else None)


KEPT, LOST = 2**56 - 1, 0
"""Trace ids that every share keeps, and that none keeps."""


def rules(**words: Any) -> TailRules:
    """A tenth of the rest, nothing else kept, unless `words` say so."""
    return TailRules(**{"share": 0.1, "limits_us": {}, "quantile": 0.0, "trickle_s": 0.0, **words})


@pytest.mark.parametrize(
    ("reason", "timeline"),
    [
        ("failed", request(status_code=500)),
        ("failed", request(disconnected=True)),
        ("failed", request(error="TimeoutError")),
        ("asked", request(headers=[(b"X-Slatag-Keep", b"1")])),
        ("asked", request(headers=[(b"baggage", b"a=1, slatag.keep=true;p=1")])),
        ("slow", request(ttft_ms=501)),
        ("slow", request(tokens=700)),
        ("", request()),
        ("", request(headers=[(b"x-slatag-keep", b"0")])),
    ],
)
def test_what_is_kept_whole(reason: str, timeline: Timeline) -> None:
    """Failed, asked-for and slow requests are kept whatever their trace id, and stand for themselves."""
    sampler = TailSampler(rules(limits_us={"ttft": 500_000.0, "e2e": 600_000.0}))

    choice = sampler.choose(timeline, context(LOST))

    assert (reason, 1.0) == (choice.reason, choice.weight)
    assert ({reason: 1}, {}) if reason else ({}, {"sampled": 1}) == (sampler.kept, sampler.dropped)


def test_the_rest_by_its_trace_id() -> None:
    """Of the rest a tenth is kept and says that it stands for ten, or more after an earlier sampler."""
    sampler = TailSampler(rules())

    plain, before = (sampler.choose(request(), context(KEPT, state)) for state in ("", "ot=th:fc"))

    assert {"slatag.sample.reason": "rest", "slatag.sample.weight": pytest.approx(10)} == plain.attributes
    assert 64 == before.weight
    assert "" == sampler.choose(request(), context(LOST)).reason


def test_a_weight_of_one_is_not_said() -> None:
    """A request kept whole leaves the word to an earlier sampler's trace state."""
    sampler = TailSampler(rules())

    assert {"slatag.sample.reason": "failed"} == sampler.choose(
        request(status_code=500), context(KEPT, "ot=th:8")
    ).attributes


def test_slow_for_its_size() -> None:
    """After some hundred requests what is slow for its model and size is kept; the first are kept as new."""
    sampler = TailSampler(rules(quantile=0.9))
    first = [sampler.choose(request(20 + number % 10), context(LOST)).reason for number in range(400)]

    assert {"new"} == set(first[:50])
    assert {"slow"} == {sampler.choose(request(40), context(LOST)).reason}
    assert {""} == {sampler.choose(request(20), context(LOST)).reason}
    assert sampler.kept["slow"] < 0.3 * 350


def test_a_steady_trickle() -> None:
    """One request in ten seconds is kept whatever it is."""
    sampler = TailSampler(rules(trickle_s=10.0))
    reasons = [sampler.choose(request(arrived_s=second), context(LOST)).reason for second in range(100, 150)]

    assert 5 == reasons.count("trickle")
    assert "trickle" == reasons[0]


def test_what_was_kept_stands_for_all() -> None:
    """Over many runs Σ weights is what came, and kept and dropped add up to it exactly."""
    totals = []
    for seed in range(40):
        chance, sampler, total = random.Random(seed), TailSampler(rules(quantile=0.95, trickle_s=1.0)), 0.0
        for number in range(1500):
            timeline = request(chance.lognormvariate(3, 0.5), 3, arrived_s=number / 50)
            choice = sampler.choose(timeline, context(chance.getrandbits(128)))
            total += choice.weight if choice.reason else 0
        assert 1500 == sum(sampler.kept.values()) + sum(sampler.dropped.values())
        assert sum(sampler.kept.values()) < 700
        totals.append(total)

    error = np.std(totals, ddof=1) / np.sqrt(len(totals))
    assert abs(np.mean(totals) - 1500) < 3.5 * error


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, None),
        ({"SAMPLE": "1"}, None),
        ({"SAMPLE": "x"}, None),
        ({"SAMPLE": "0"}, None),
        ({"SAMPLE": "0.1"}, TailRules(0.1, {})),
        (
            {"SAMPLE": "0.5", "TTFT_MS": "300", "E2E_MS": "-1", "QUANTILE": "0", "TRICKLE": "0"},
            TailRules(0.5, {"ttft": 300_000.0}, 0.0, 0.0),
        ),
        ({"SAMPLE": "0.5", "QUANTILE": "nan", "TRICKLE": "x"}, TailRules(0.5, {})),
    ],
)
def test_settings(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: TailRules | None
) -> None:
    """Off unless asked for; a share that keeps nothing is refused, for nothing could be counted by it."""
    for name, value in variables.items():
        monkeypatch.setenv(f"OTEL_ATTRIB_TAIL_{name}", value)

    assert expected == tail_rules()
