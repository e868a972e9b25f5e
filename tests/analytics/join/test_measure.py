"""One series over stretches of time, against integration by brute force and against truths that are known."""

import numpy as np
import pytest

from otel_attrib.analytics.columns import Floats, Ints
from otel_attrib.analytics.join.measure import HOLD_US, increase, level
from otel_attrib.analytics.totals import steps

SEEDS = range(5)


def readings(rng: np.random.Generator, n: int = 60) -> Ints:
    """(n,) times of readings, 1 µs to 2 s apart."""
    return np.cumsum(rng.integers(1, 2_000_000, n)).astype(np.int64)


def stretches(rng: np.random.Generator, time: Ints, k: int = 50) -> tuple[Ints, Ints]:
    """(k,) stretches of all lengths, some of them past the readings on either side."""
    start = rng.integers(time[0] - 3_000_000, time[-1], k)
    return start, start + rng.integers(1, 10 ** rng.uniform(1, 7.5, k).astype(np.int64) + 2, k)


def grown(time: Ints, value: Floats, at: int) -> float:
    """What a total had grown to at a time, by walking over its readings one after the other."""
    found = 0.0
    for left, right, low, high in zip(time, time[1:], value, value[1:], strict=False):
        step = high - low if high >= low else high
        found += step * min(1.0, max(0.0, (at - left) / (right - left)))
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_increase_is_the_integral(seed: int) -> None:
    """Within a stretch a total grows as the broken line through its readings does, restarts included."""
    rng = np.random.default_rng(seed)
    time = readings(rng)
    value = np.cumsum(rng.integers(0, 100, time.size)).astype(float)
    value[30:] -= value[30]
    start, end = stretches(rng, time)

    found = increase(time, value, start, end, wraps=False)

    for number, (left, right) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        if right <= time[0] or left >= time[-1]:
            assert np.isnan(found.value[number])
        else:
            expected = grown(time, value, right) - grown(time, value, left)
            assert pytest.approx(expected, abs=1e-6) == found.value[number]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_truth_lies_between_the_bounds(seed: int) -> None:
    """However a total grew between its readings, and however far (within the slack) its clock is off."""
    rng = np.random.default_rng(seed)
    moments = np.sort(rng.integers(0, 60_000_000, 3000))
    slack = int(rng.integers(0, 300_000)) * (seed % 2)
    off = int(rng.integers(-slack, slack + 1))
    time = np.arange(-2_000_000, 63_000_000, 700_000, dtype=np.int64)
    value = np.searchsorted(moments, time - off, side="right").astype(float)
    start, end = (each.clip(0, 60_000_000) for each in stretches(rng, time))
    kept = end > start
    start, end = start[kept], end[kept]

    found = increase(time, value, start, end, wraps=False, slack=slack)

    true = np.searchsorted(moments, end, side="right") - np.searchsorted(moments, start, side="right")
    assert (found.low <= true).all()
    assert (true <= found.high).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_adjacent_stretches_add_up(seed: int) -> None:
    """What is counted in the parts is what is counted in the whole, for totals and for gauges × time."""
    rng = np.random.default_rng(seed)
    time, value = readings(rng), rng.uniform(0, 9, 60)
    edges = np.sort(rng.integers(time[2], time[-3], 9))
    parts, whole = (edges[:-1], edges[1:]), (edges[:1], edges[-1:])
    dense = np.arange(time[0], time[-1], 100_000)

    total = np.cumsum(value)
    assert pytest.approx(increase(time, total, *whole, wraps=False).value[0]) == np.sum(
        increase(time, total, *parts, wraps=False).value
    )
    numbers = rng.uniform(0, 9, dense.size)
    means = level(dense, numbers, *parts).value
    assert pytest.approx(level(dense, numbers, *whole).value[0] * (edges[-1] - edges[0])) == np.sum(
        means * np.diff(edges)
    )


def test_readings_at_both_ends_are_exact() -> None:
    """A total read at both ends is known exactly: no width, full coverage."""
    time, value = np.array([0, 100, 250, 400]), np.array([0.0, 5.0, 5.0, 11.0])

    found = increase(time, value, np.array([0, 100]), np.array([400, 250]), wraps=False)

    assert [11.0, 0.0] == found.value.tolist() == found.low.tolist() == found.high.tolist()
    assert [1.0, 1.0] == found.coverage.tolist()


def test_a_stretch_between_two_readings() -> None:
    """50 ms between readings half a second apart get a tenth of the increase and of coverage, wide bounds."""
    found = increase(
        np.array([0, 500_000]), np.array([0.0, 40.0]), np.array([100_000]), np.array([150_000]), False
    )

    assert pytest.approx([4.0, 0.0, 40.0, 0.1]) == [
        column[0] for column in (found.value, found.low, found.high, found.coverage)
    ]


def test_past_the_last_reading_there_is_no_bound() -> None:
    """A stretch that reaches past the readings has what they show, and nothing above it."""
    found = increase(np.array([0, 100]), np.array([0.0, 10.0]), np.array([50]), np.array([150]), False)

    assert 5.0 == found.value[0]
    assert np.isnan(found.high[0])
    assert pytest.approx(50**2 / 100 / 100) == found.coverage[0]


def test_wraps_and_restarts() -> None:
    """A fall from the top of 32 bits of a counter of whole numbers is a wrap, every other fall a restart."""
    value = np.array([4_294_967_000.0, 204.0, 50.0, 60.0])

    assert [500.0, 50.0, 10.0] == steps(value, wraps=True).tolist()
    assert [204.0, 50.0, 10.0] == steps(value, wraps=False).tolist()


@pytest.mark.parametrize("means", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_level_is_the_mean_of_what_readings_stand_for(seed: int, means: bool) -> None:
    """Against a walk over every µs: readings hold up to one and a half times their usual distance."""
    rng = np.random.default_rng(seed)
    time = np.cumsum(rng.integers(1, 40, 12)).astype(np.int64)
    time[6:] += 300
    value = rng.uniform(0, 1, time.size)
    hold = 1.5 * sorted(np.diff(time))[5]
    held: dict[int, int] = {}
    for number, at in enumerate(time.tolist()):
        for half in range(2 * (time[-1] + 200)):
            moment = half / 2 + 0.25
            ours = at - hold < moment < at if means else at < moment < at + hold
            if ours and (not means or half not in held):
                held[half] = number
    start = rng.integers(0, time[-1] + 60, 40)
    end = start + rng.integers(1, 200, 40)

    found = level(time, value, start, end, means=means)

    for number, (left, right) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        mine = [value[held[half]] for half in range(2 * left, 2 * right) if half in held]
        assert pytest.approx(np.mean(mine) if mine else np.nan, nan_ok=True, abs=1e-9) == found.value[number]
        assert (found.coverage[number] > 0) == bool(mine)


def test_a_gauge_of_gpm_says_little_of_a_short_stage() -> None:
    """A mean over 100 ms covers a prefill of 50 ms by half at the most, and a request of 2 s nearly whole."""
    time = np.arange(0, 5_000_000, 100_000, dtype=np.int64)
    start, end = np.array([1_020_000, 1_000_000]), np.array([1_070_000, 3_000_000])

    found = level(time, np.full(time.size, 0.7), start, end, means=True)

    assert [pytest.approx(0.5), pytest.approx(1.0)] == found.coverage.tolist()
    assert [pytest.approx(0.7)] * 2 == found.value.tolist()


def test_a_single_reading_holds_a_minute() -> None:
    """A gauge read once stands for the minute after it and no longer."""
    start = np.array([0, HOLD_US + 1])

    found = level(np.array([0]), np.array([3.0]), start, start + 10)

    assert 3.0 == found.value[0]
    assert np.isnan(found.value[1])
    assert 0.0 == found.coverage[1]


def test_nothing_was_read() -> None:
    """No reading is not nought."""
    none, at = np.empty(0, dtype=np.int64), np.array([0])
    for found in (
        increase(none, none.astype(float), at, at + 1, False),
        level(none, none.astype(float), at, at + 1),
    ):
        assert np.isnan(found.value[0])
        assert 0.0 == found.coverage[0]
