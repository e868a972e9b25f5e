"""Bounds of the histograms: those that OpenTelemetry advises, and the ones that the store counts at."""

import re
from pathlib import Path

import pytest

from otel_attrib.analytics.exposition.bounds import HISTOGRAMS
from otel_attrib.analytics.objectives.presets import PRESETS

MIGRATION = Path(__file__).parents[3] / "schema/migrations/0019_alerting.sql"
# Semantic conventions 1.41.0, docs/gen-ai/gen-ai-metrics.md.
ADVISED = {
    "ttft": [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0],
    "tpot": [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5],
    "e2e": [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
}


@pytest.mark.parametrize("metric", ADVISED)
def test_advised_bounds(metric: str) -> None:
    """The server metrics of OpenTelemetry have the bounds that it advises."""
    assert ADVISED[metric] == list(HISTOGRAMS[metric].semconv_s)


@pytest.mark.parametrize("metric", HISTOGRAMS)
def test_stored_bounds_are_the_migrations(metric: str) -> None:
    """What the code believes the store counts at is what the migration says."""
    lists = re.findall(r"\[(-4294967295\.[^\]]*)\]", MIGRATION.read_text())
    listed = dict(zip(("ttft", "tpot", "tbt", "e2e"), lists, strict=True))[metric]
    bounds = sorted(-float(word) for word in listed.split(","))

    assert 4294967295 == bounds.pop()
    assert [1000 * bound for bound in HISTOGRAMS[metric].stored_ms] == bounds


@pytest.mark.parametrize("metric", HISTOGRAMS)
def test_advised_bounds_are_stored(metric: str) -> None:
    """Every bound that a page shows is one that the store counts at; bounds ascend."""
    histogram = HISTOGRAMS[metric]

    assert set() == set(histogram.bounds_ms()) - set(histogram.stored_ms)
    assert sorted(set(histogram.stored_ms)) == list(histogram.stored_ms)


def test_presets_are_exact() -> None:
    """The limits of every preset of TTFT and TPOT are bounds, so that their rules are exact."""
    limits = {(limit.metric, limit.ms) for preset in PRESETS.values() for limit in preset.limits}

    assert len(limits) > 10
    assert set() == {(metric, ms) for metric, ms in limits if not HISTOGRAMS[metric].is_exact(ms)}


def test_limits_of_objectives_are_shown() -> None:
    """A limit that the store counts at becomes a bound of the page, another does not."""
    shown = HISTOGRAMS["ttft"].bounds_ms([135, 136])

    assert 135 in shown
    assert 136 not in shown
    assert 200 == HISTOGRAMS["ttft"].above(136 + 20)
    assert HISTOGRAMS["ttft"].above(1e9) is None
