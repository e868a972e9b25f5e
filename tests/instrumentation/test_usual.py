"""A running quantile in bounded memory."""

import math
import random

import numpy as np
import pytest

from otel_attrib.instrumentation.sampling.usual import FADES_AT, MOST_KINDS, Usual, Usually


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_it_is_the_quantile(level: float) -> None:
    """Of 4000 values the limit is numpy's quantile within the 2 % of a bucket and the neighbouring ranks."""
    values = np.random.default_rng(1).lognormal(10, 1, 4000)
    usual = Usual(level)
    for value in values.tolist():
        usual.see(value)

    low, high = np.quantile(values, [level - 0.006, level + 0.006])
    assert usual.limit is not None
    assert low <= usual.limit <= 1.02 * high


def test_no_limit_from_too_few() -> None:
    """P95 is not told before a hundred values, five of which can lie above it."""
    usually = Usually(0.95)
    told = [usually.exceeds("a", 100.0 + number) for number in range(120)]

    assert [None] * 100 == told[:100]
    assert None not in told[100:]


def test_the_usual_is_not_above_itself() -> None:
    """Where all values are alike none exceeds the limit, wherever in its bucket they lie."""
    for value in (1.0, 990.0, 1000.0, 1010.0, 123_456.7):
        usually = Usually(0.9)
        told = [usually.exceeds("a", value) for _ in range(200)]

        assert {None, False} == set(told)


def test_it_follows() -> None:
    """After traffic got ten times slower, the limit is that of the new traffic within a few fadings."""
    usual, chance = Usual(0.95), random.Random(2)
    for _ in range(10_000):
        usual.see(chance.uniform(90, 110))
    for _ in range(5 * FADES_AT):
        usual.see(chance.uniform(900, 1100))

    assert usual.limit is not None
    assert 1000 < usual.limit < 1130


def test_memory_is_bounded() -> None:
    """However many models and values there are, kinds and buckets stay few, and late kinds share one."""
    usually, chance = Usually(0.95), random.Random(3)
    for number in range(20_000):
        usually.exceeds(f"model {number % 5000}", math.exp(chance.uniform(0, 25)))

    assert MOST_KINDS + 1 == len(usually.kinds)
    assert max(len(usual.counts) for usual in usually.kinds.values()) < 1300
