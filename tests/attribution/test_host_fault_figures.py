"""Figures of hit requests beside the others, against scipy, brute force and numbers by hand."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import mannwhitneyu

from benchmarks.host_fault_figures import Overlap, agreement, apart, overlap, tell_apart
from benchmarks.host_fault_join import MEASURES, gap_ms, known, measured
from benchmarks.host_fault_table import table
from otel_attrib.analytics.columns import Flags, Floats
from otel_attrib.analytics.join.measure import Measured

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
NOON_US = int(NOON.timestamp()) * 1_000_000


def drawn(seed: int) -> tuple[Floats, Flags, Flags]:
    """Waits of 200 requests with many ties, who was hit, who lies at an edge."""
    rng = np.random.default_rng(seed)
    hit = rng.random(200) < 0.4
    return np.round(rng.exponential(1.0, 200) + hit, 1), hit, rng.random(200) < 0.1


@pytest.mark.parametrize("seed", range(5))
def test_the_auc_is_that_of_the_rank_test(seed: int) -> None:
    """The share of pairs in the right order is U over their number, ties as half."""
    wait, hit, edge = drawn(seed)

    pairs = hit.sum() * (~hit).sum()
    assert tell_apart(wait, hit, edge).auc == pytest.approx(
        mannwhitneyu(wait[hit], wait[~hit]).statistic / pairs
    )


@pytest.mark.parametrize("seed", range(5))
def test_no_limit_misplaces_fewer(seed: int) -> None:
    """The number of misplaced requests is the least over every limit."""
    wait, hit, edge = drawn(seed)

    limits = [-1.0, *wait]
    assert tell_apart(wait, hit, edge).misplaced == min(int(((wait > each) != hit).sum()) for each in limits)


def test_one_request_at_an_edge_is_told_apart() -> None:
    """One other request with a long wait where the fault ends costs `above`, and is said to be at an edge."""
    wait = np.array([5.0, 6.0, 7.0, 0.1, 0.2, 9.0])
    hit = np.array([True, True, True, False, False, False])
    edge = np.array([False, False, False, False, False, True])

    told = tell_apart(wait, hit, edge)

    assert (told.above, told.above_off_edges) == (0.0, 1.0)
    assert (told.misplaced, told.misplaced_at_edge) == (1, 1)
    assert (told.hit.median, told.others.largest) == (6.0, 9.0)
    assert told.auc == pytest.approx(6 / 9)


def test_requests_are_laid_over_the_stretches() -> None:
    """Before, across, around, inside, touching and between: shared time and distance by hand."""
    start = np.array([0, 90, 50, 120, 200, 250])
    end = np.array([40, 110, 350, 130, 240, 295])

    found = overlap(start, end, [(100, 200), (300, 400)])

    assert found.inside.tolist() == [0, 10, 150, 10, 0, 0]
    assert found.distance.tolist() == [60, -10, -100, -10, 0, 5]
    assert found.hit.tolist() == [False, True, True, True, False, False]


def test_an_edge_is_as_wide_as_it_is_said() -> None:
    """Requests within the width of where the fault begins or ends, on either side."""
    found = Overlap(np.array([50, 5, 0, 0]), np.array([-50, -5, 9, 10]))

    assert found.at_edge(10).tolist() == [False, True, True, False]


def test_how_far_apart_two_measures_are() -> None:
    """A tenth is a tenth of the middle, nothing beside nothing is no difference; bounds that meet agree."""
    assert apart(np.array([0.95, 0.0, 3.0]), np.array([1.05, 0.0, 1.0])).tolist() == pytest.approx(
        [0.1, 0.0, 1.0]
    )
    one = Measured(np.array([1.0, 2.0]), np.array([0.5, 1.9]), np.array([1.5, np.nan]), np.ones(2))
    other = Measured(np.array([1.0, 1.0]), np.array([1.5, 0.5]), np.array([2.0, 1.5]), np.ones(2))

    found = agreement((one, other), (one, other))

    assert (found.seconds, found.other_seconds) == (3.0, 2.0)
    assert (found.total, found.stretch) == pytest.approx((0.4, 2 / 3))
    assert found.disjoint == 1


def samples() -> pa.Table:
    """Readings of a node every 100 ms for 2 s: two processes, waits from 0.5 s to 1.5 s by both sources.

    schedstat's are a hundredth less.
    """
    rows = []
    for source, factor in (("ebpf", 1.0), ("", 0.99)):
        for role, share in (("engine_core", 0.2), ("worker", 0.3)):
            attributes = [("slatag.process.role", role), *([("slatag.source", source)] if source else [])]
            for ms in range(0, 2001, 100):
                waited = factor * share * (min(max(ms, 500), 1500) - 500) / 1e3
                rows.append((NOON + timedelta(milliseconds=ms), attributes, waited))
    return pa.table(
        {
            "time": pa.array([row[0] for row in rows], pa.timestamp("us", "UTC")),
            "metric": ["slatag.process.run_queue_wait"] * len(rows),
            "node": ["n1"] * len(rows),
            "device": [""] * len(rows),
            "service": ["vllm"] * len(rows),
            "attributes": pa.array([row[1] for row in rows], pa.map_(pa.string(), pa.string())),
            "value": [row[2] for row in rows],
        }
    )


def test_each_source_is_joined_by_itself() -> None:
    """A stretch of 400 ms in the fault has half of that as wait, by either source alone, never by both."""
    start = NOON_US + np.array([800_000, 1_600_000, 9_000_000])
    end = start + 400_000

    ebpf, schedstat = (
        measured(samples(), MEASURES[name], "n1", start, end) for name in ("eBPF", "schedstat")
    )

    assert ebpf.value[:2].tolist() == pytest.approx([0.2, 0.0])
    assert schedstat.value[:2].tolist() == pytest.approx([0.198, 0.0])
    assert known([ebpf, schedstat]).tolist() == [True, True, False]
    assert gap_ms(samples(), MEASURES["eBPF"]) == 100.0
    core = measured(samples(), MEASURES["core, schedstat"], "n1", start, end)
    assert core.value[:2].tolist() == pytest.approx([0.0792, 0.0])
    throttled = measured(samples(), MEASURES["throttled"], "n1", start, end)
    assert known([throttled]).tolist() == [False, False, False]


def test_the_table_says_nothing_of_nothing() -> None:
    """Without results two heads remain."""
    assert len(table([]).splitlines()) == 5
