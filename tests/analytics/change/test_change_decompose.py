"""Books of a change that must balance, over distributions that real stages resemble and over odd ones."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from otel_attrib.analytics.change.decompose import Change, decompose
from otel_attrib.analytics.columns import Floats, Rows
from otel_attrib.analytics.harrell_davis import quantile

Draw = Callable[[np.random.Generator, int], Floats]
Make = Callable[..., Rows]
LEVEL = 0.95
SIZES = [(1, 1), (2, 3), (30, 25), (800, 700)]


def split(baseline: Rows, current: Rows, displayed: tuple[float, float] | None = None) -> Change:
    """Decompose over about ten blocks of time."""
    first, second = (np.arange(rows.n) * 10 // max(10, rows.n) for rows in (baseline, current))
    return decompose(baseline, current, LEVEL, first, second, displayed)


def lines(change: Change) -> Floats:
    """All lines of the books as one array: stages, workload, unexplained."""
    return np.array([e.value for e in (*change.stages.values(), change.workload, change.unexplained)])


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_lines_add_up(distribution: Draw, rows: Make, sizes: tuple[int, int]) -> None:
    """Stages, workload and the unexplained are the change of the Harrell–Davis quantile, to rounding."""
    random = np.random.default_rng(3)
    before = rows(distribution(random, sizes[0]), random.integers(1, 900, sizes[0]).astype(np.float64))
    after = rows(distribution(random, sizes[1]) * 1.5, random.integers(1, 999, sizes[1]).astype(np.float64))

    change = split(before, after)

    expected = quantile(after.values, LEVEL) - quantile(before.values, LEVEL)
    scale = max(after.values.max(), before.values.max(), 1e-300)
    assert expected == pytest.approx(lines(change).sum(), rel=0, abs=1e-9 * scale)
    assert expected == pytest.approx(change.delta.value, rel=0, abs=1e-9 * scale)
    assert change.certificate and change.sum_error_ms <= 1e-9 * scale


@pytest.mark.parametrize("n", [1, 2, 30, 800])
def test_nothing_changed(distribution: Draw, rows: Make, n: int) -> None:
    """Compared with itself a window gives exactly nothing on every line, in any order of its rows."""
    same = rows(distribution(np.random.default_rng(1), n), np.arange(1.0, n + 1))
    shuffled = same.take(np.random.default_rng(2).permutation(n))

    change = split(same, same)

    assert [0.0] * 5 == lines(change).tolist()
    assert np.abs(lines(split(same, shuffled))).max() <= 1e-12 * max(1e-300, same.values.max())


def test_order_does_not_matter(distribution: Draw, rows: Make) -> None:
    """Neither the order of the rows nor that of the stages changes what a stage is given."""
    random = np.random.default_rng(4)
    before, after = rows(distribution(random, 500)), rows(distribution(random, 600) * [1.0, 2.0, 1.0])
    blocks = np.arange(500) // 50, np.arange(600) // 60
    moved = [random.permutation(500), random.permutation(600)]
    change = decompose(before, after, LEVEL, blocks[0], blocks[1])

    shuffled = decompose(
        before.take(moved[0]), after.take(moved[1]), LEVEL, blocks[0][moved[0]], blocks[1][moved[1]]
    )
    stages = [2, 1, 0]
    first, second = (replace(side, parts=side.parts[:, stages]) for side in (before, after))
    turned = decompose(first, second, LEVEL, blocks[0], blocks[1])

    scale = 1e-9 * max(1e-300, after.values.max())
    assert lines(change) == pytest.approx(lines(shuffled), rel=0, abs=scale)
    # `queue`, `prefill` and `outside` are read in other columns: no size is known to matter here.
    assert lines(change)[:3] == pytest.approx(lines(turned)[stages], rel=0, abs=scale)


@pytest.mark.parametrize("unit", [1024.0, 2.0**-20])
def test_unit_does_not_matter(distribution: Draw, rows: Make, unit: float) -> None:
    """All times in another unit give all lines in that unit."""
    random = np.random.default_rng(5)
    parts = distribution(random, 400), distribution(random, 500) * [3.0, 1.0, 1.0]

    here, there = (split(rows(parts[0] * factor), rows(parts[1] * factor)) for factor in (1.0, unit))

    tolerance = 1e-9 * max(1e-300, parts[1].sum(axis=1).max())
    assert lines(here) == pytest.approx(lines(there) / unit, rel=0, abs=tolerance)


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_one_slower_stage(rows: Make, stage: int) -> None:
    """A stage of the same rows that takes twice as long is given the whole change."""
    parts = np.random.default_rng(2).lognormal(2, 0.5, (5000, 3))
    slower = parts.copy()
    slower[:, stage] *= 2

    change = split(rows(parts), rows(slower))

    assert change.delta.value == pytest.approx(lines(change)[stage], rel=0.01)


def test_hit_in_one_place(rows: Make) -> None:
    """A fault on one node of four is undone there, and the stage is given what the fault did."""
    random = np.random.default_rng(6)
    parts, nodes = random.lognormal(2, 0.5, (2, 6000, 3)), random.integers(0, 4, (2, 6000))
    slower = parts[1].copy()
    slower[nodes[1] == 2, 0] *= 1.8
    names = [[f"node-{i}" for i in side] for side in nodes]

    change = split(rows(parts[0], node=names[0]), rows(slower, node=names[1]))

    expected = quantile(slower.sum(axis=1), LEVEL) - quantile(parts[1].sum(axis=1), LEVEL)
    assert change.hit == {"queue": "node"}
    assert expected == pytest.approx(change.stages["queue"].value, rel=0.05)


def test_hit_for_a_while(rows: Make) -> None:
    """A fault in the last quarter of the window is undone then only."""
    random = np.random.default_rng(7)
    parts = random.lognormal(2, 0.5, (2, 6000, 3))
    slower = parts[1].copy()
    slower[4500:, 1] *= 2

    change = split(rows(parts[0]), rows(slower))

    expected = quantile(slower.sum(axis=1), LEVEL) - quantile(parts[1].sum(axis=1), LEVEL)
    assert change.hit == {"prefill": "time"}
    assert expected == pytest.approx(change.stages["prefill"].value, rel=0.05)


def test_longer_prompts_are_workload(rows: Make) -> None:
    """Longer prompts at the same speed are workload, where tail accounting blames the stage."""
    random = np.random.default_rng(8)
    prompt = np.round(random.lognormal([[6.0], [6.4]], 0.8, (2, 8000)))
    parts = random.lognormal(0, 0.3, (2, 8000, 3))
    parts[:, :, 1] *= 5 + 0.05 * prompt

    change = split(rows(parts[0], prompt[0]), rows(parts[1], prompt[1]))

    assert change.delta.value == pytest.approx(change.workload.value, rel=0.2)
    assert abs(change.stages["prefill"].value) < 0.05 * change.delta.value
    assert change.tail_accounting["prefill"].value > 0.8 * change.delta.value


def test_work_never_seen_is_no_mix(rows: Make) -> None:
    """Requests of a size that the baseline lacks are reported as new, and not priced as workload."""
    random = np.random.default_rng(9)
    parts = random.lognormal(2, 0.3, (2, 2000, 3))
    prompt = np.full((2, 2000), 100.0)
    prompt[1, :500] = 50_000.0

    change = split(rows(parts[0], prompt[0]), rows(parts[1], prompt[1]))

    assert change.new_workload_share == 0.25
    assert change.workload.value == 0.0


def test_stage_seen_in_one_window_only(rows: Make) -> None:
    """A stage that one window did not observe counts into `outside` of both, and the lines add up."""
    random = np.random.default_rng(10)
    before, after = (rows(random.lognormal(2, 0.5, (1000, 3))) for _ in range(2))
    blind = before.fold(["queue"])

    change = split(blind, after)

    assert change.stages["queue"].value == 0.0
    assert change.delta.value == pytest.approx(lines(change).sum(), abs=1e-9)


def test_displayed_numbers_are_met(rows: Make) -> None:
    """Books and tail accounting close on numbers that came from elsewhere."""
    random = np.random.default_rng(11)
    before, after = (rows(random.lognormal(2, 0.5, (2000, 3)) * [1, factor, 1]) for factor in (1, 2))
    plain = split(before, after)
    displayed = (plain.before.value * 1.01, plain.after.value * 0.99)

    change = split(before, after, displayed)

    expected = displayed[1] - displayed[0]
    assert expected == pytest.approx(lines(change).sum(), abs=1e-9)
    assert expected == pytest.approx(sum(e.value for e in change.tail_accounting.values()), abs=1e-9)
    assert displayed == pytest.approx((change.before.value, change.after.value), abs=1e-9)


def test_tail_accounting_meets_what_no_row_reaches(rows: Make) -> None:
    """Displayed numbers beyond all rows at hand (a sketch's upper bound) are met by the tail's stages too."""
    random = np.random.default_rng(13)
    before, after = (rows(np.round(random.lognormal(2, 0.1, (900, 3)))) for _ in range(2))
    displayed = (float(before.values.max()) + 0.3, float(after.values.max()) + 1.7)

    change = split(before, after, displayed)

    expected = displayed[1] - displayed[0]
    assert expected == pytest.approx(lines(change).sum(), abs=1e-9)
    assert expected == pytest.approx(sum(e.value for e in change.tail_accounting.values()), abs=1e-9)


def test_blocks_do_not_split_a_request(rows: Make) -> None:
    """Gaps of one request leave together, whichever blocks they were put into."""
    random = np.random.default_rng(12)
    before, after = (
        replace(rows(random.lognormal(2, 0.5, (900, 3))), cluster=np.arange(900) // 30) for _ in range(2)
    )
    own, split_up = np.arange(900) // 30, np.arange(900) // 30
    split_up[np.arange(900) % 30 > 0] = np.arange(900)[np.arange(900) % 30 > 0] % 29

    together, apart = (decompose(before, after, LEVEL, blocks, blocks) for blocks in (own, split_up))

    assert together.delta == apart.delta


def test_intervals_hold_the_truth(rows: Make) -> None:
    """Over twenty pairs of windows the 95 % interval of the slowed stage holds its true effect."""
    random = np.random.default_rng(13)
    held = 0
    for _ in range(20):
        parts = random.lognormal(2, 0.6, (2, 1500, 3))
        slower = parts[1] * [1.0, 1.4, 1.0]
        line = split(rows(parts[0]), rows(slower)).stages["prefill"]
        truth = quantile(slower.sum(axis=1), LEVEL) - quantile(parts[1].sum(axis=1), LEVEL)
        held += line.interval()[0] <= truth <= line.interval()[1]

    assert held >= 18


def test_windows_that_cannot_be_compared(rows: Make) -> None:
    """Other stages, or a window without rows, are refused with a reason."""
    here = rows(np.ones((5, 3)))

    with pytest.raises(ValueError, match="different metrics"):
        split(here, replace(here, names=("queue", "sample", "outside")))
    with pytest.raises(ValueError, match="without rows"):
        split(here, here.take(np.zeros(5, dtype=np.bool_)))


def test_other_models_are_apart(rows: Make) -> None:
    """More requests of a slower model are workload."""
    random = np.random.default_rng(14)
    slow = random.random((2, 4000)) < np.array([[0.1], [0.3]])
    parts = random.lognormal(2, 0.3, (2, 4000, 3)) * np.where(slow, 3.0, 1.0)[:, :, None]
    words = [["large" if flag else "small" for flag in side] for side in slow]

    change = split(rows(parts[0], model=words[0]), rows(parts[1], model=words[1]))

    assert change.delta.value == pytest.approx(change.workload.value, rel=0.25)
    assert set(change.fit) == {"large", "small"}


def test_dimensions_with_other_words(rows: Make) -> None:
    """A new version has no baseline of its own: it is held against all of the baseline."""
    random = np.random.default_rng(15)
    parts = random.lognormal(2, 0.5, (2, 4000, 3))
    new = random.random(4000) < 0.3
    slower = parts[1].copy()
    slower[new, 1] *= 2
    before = rows(parts[0], version=["1"] * 4000)
    after = rows(slower, version=["2" if flag else "1" for flag in new])

    change = split(before, after)

    assert change.hit == {"prefill": "version"}
    assert change.stages["prefill"].value == pytest.approx(change.delta.value, rel=0.2)


def test_short_and_long_requests_slowed_unlike(rows: Make) -> None:
    """A stage that slows for short prompts alone changes the tail of long ones by next to nothing."""
    random = np.random.default_rng(16)
    prompt = np.round(random.lognormal(6, 1, (2, 20_000)))
    parts = random.lognormal(0, 0.3, (2, 20_000, 3))
    parts[:, :, 1] *= 5 + 0.05 * prompt
    slower = parts[1].copy()
    slower[prompt[1] < 400, 1] *= random.uniform(1, 5, 20_000)[prompt[1] < 400]

    change = split(rows(parts[0], prompt[0]), rows(slower, prompt[1]))

    truth = quantile(slower.sum(axis=1), LEVEL) - quantile(parts[1].sum(axis=1), LEVEL)
    total = quantile(slower.sum(axis=1), LEVEL)
    assert truth == pytest.approx(change.stages["prefill"].value, abs=0.05 * total)


def test_rest_of_rounding_is_no_stage(rows: Make) -> None:
    """What subtracting stages from a total leaves of `outside` is given nothing."""
    random = np.random.default_rng(17)
    parts = random.lognormal(2, 0.5, (2, 3000, 3))
    parts[0, :, 2], parts[1, :, 2] = 0.0, random.normal(0, 1e-14, 3000)

    assert split(rows(parts[0]), rows(parts[1])).stages["outside"].value == 0.0
