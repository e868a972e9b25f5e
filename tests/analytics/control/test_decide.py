"""The threshold loop against a second implementation, and against sequences worked out by hand."""

from datetime import UTC, datetime, timedelta
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_attrib.analytics.control import Band, Day, Decision, Observed, ThresholdRule, decide
from otel_attrib.errors import UsageError

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
RULE = ThresholdRule()
GOLD = Band(120.0, 15.0)
ENOUGH = 1000  # requests of a period: ten above P99


def periods(*ms: float | None, n: int = ENOUGH) -> list[Observed]:
    """Periods of five minutes up to noon, oldest first."""
    ends = [NOON - timedelta(minutes=5 * k) for k in reversed(range(len(ms)))]
    return [Observed(end, 0 if value is None else n, value) for end, value in zip(ends, ms, strict=True)]


def day(ms: float | None, measured: int = 288) -> Day:
    """The last 24 hours."""
    return Day(288_000, ms, measured, 288)


def gold(
    threshold: float, ms: tuple[float | None, ...], whole: float | None, moved: datetime | None = None
) -> Decision:
    """Decide about a gold threshold."""
    return decide(RULE, GOLD, 0.99, threshold, periods(*ms), day(whole), moved, "TTFT")


def second(threshold: float, ms: list[float], whole: float, band: Band) -> tuple[str, float]:
    """The same rule in other words, for three measured periods and a whole day: (word, threshold)."""
    if min(ms) > 1.2 * threshold:
        way = 1
    elif max(ms) < threshold / 1.2:
        way = -1
    else:
        return "no change", threshold
    new = sorted(ms)[1]
    if not 0.95 * whole <= new <= 1.05 * whole:
        return "rejected", threshold
    new = max(band.floor_ms, min(band.ceiling_ms, new))
    if way * (new - threshold) <= 0 or abs(new - threshold) < 0.01 * threshold:
        return "held", threshold
    return ("raise" if way > 0 else "lower"), new


# θ = 110: up above 132, down below 91.67; the band is 105 … 135.
HAND = [
    ("inside", 110, (120, 130, 131), 120, "no change", 110),
    ("two of three above", 110, (120, 140, 150), 145, "no change", 110),
    ("exactly at 1.2 times is not above", 100, (120, 120, 120), 120, "no change", 100),
    ("above, day agrees, inside the band", 110, (134, 133, 134), 130, "raise", 134),
    ("above, beyond the ceiling", 110, (150, 140, 145), 145, "raise", 135),
    ("above, the day knows nothing of it", 110, (150, 140, 145), 100, "rejected", 110),
    ("above, exactly 5 % from the day", 110, (133, 133, 133), 140, "raise", 133),
    ("above, at the ceiling already", 135, (170, 180, 175), 175, "held", 135),
    ("above, and the limit stands above the band", 200, (250, 260, 255), 255, "held", 200),
    ("below, day agrees, at the floor", 135, (100, 101, 99), 101, "lower", 105),
    ("below, day agrees, inside the band", 135, (110, 111, 109), 109, "lower", 110),
    ("below, the day was slower", 135, (110, 111, 109), 130, "rejected", 135),
]


@pytest.mark.parametrize(
    ("threshold", "ms", "whole", "word", "after"), [row[1:] for row in HAND], ids=[row[0] for row in HAND]
)
def test_by_hand(threshold: float, ms: tuple[float, ...], whole: float, word: str, after: float) -> None:
    """Word and threshold are those worked out by hand, and the sentence has every number they rest on."""
    found = gold(threshold, ms, whole)

    assert (word, after) == (found.word, found.after_ms)
    assert all(f"{value:g}" in found.sentence for value in (*ms, threshold))


@settings(max_examples=400, deadline=None)
@given(
    st.floats(50, 300),
    st.lists(st.floats(20, 500), min_size=3, max_size=3),
    st.floats(0.85, 1.15),
    st.sampled_from([GOLD, Band(), Band(300, 40)]),
)
def test_second_implementation(threshold: float, ms: list[float], ratio: float, band: Band) -> None:
    """A second implementation decides the same, word and threshold, wherever no number lies on an edge."""
    whole = median(ms) / ratio
    edges = [value / threshold / edge - 1 for value in ms for edge in (1.2, 1 / 1.2)]
    edges += [abs(1 - ratio) / 0.05 - 1, abs(band.clamp(median(ms)) - threshold) / (0.01 * threshold) - 1]
    if min(map(abs, edges)) < 1e-9:
        return
    found = decide(RULE, band, 0.99, threshold, periods(*ms), day(whole))

    assert second(threshold, ms, whole, band) == (found.word, found.after_ms)


@settings(max_examples=200, deadline=None)
@given(st.floats(105, 135), st.lists(st.floats(20, 500), min_size=3, max_size=3), st.floats(0.8, 1.2))
def test_never_leaves_the_band(threshold: float, ms: list[float], ratio: float) -> None:
    """From inside its band a threshold never leaves it, and moves only towards what was observed."""
    found = gold(threshold, tuple(ms), median(ms) * ratio)

    assert 105 <= found.after_ms <= 135
    assert (found.after_ms - threshold) * (median(ms) - threshold) >= 0
    assert found.moves == (found.after_ms != found.before_ms)


@settings(max_examples=100, deadline=None)
@given(st.floats(60, 240), st.floats(20, 500))
def test_settles(threshold: float, level: float) -> None:
    """Under one level that lasts, a threshold without a band moves once at most: the loop does not swing."""
    found = decide(RULE, Band(), 0.99, threshold, periods(level, level, level), day(level))
    again = decide(RULE, Band(), 0.99, found.after_ms, periods(level, level, level), day(level))

    assert not again.moves


def test_after_a_move_only_later_periods_count() -> None:
    """A move at noon is followed by three whole periods before the next, whatever they hold."""
    moved = NOON - timedelta(minutes=10)
    early = gold(110, (150, 150, 150), 150, moved)
    ready = gold(110, (150, 150, 150), 150, NOON - timedelta(minutes=15))

    assert ("settling", 110) == (early.word, early.after_ms)
    assert "2 of 3" in early.sentence
    assert "raise" == ready.word


def test_too_little_data_decides_nothing() -> None:
    """A thin period, a missing one, too few of them and a day half seen: each is told and moves nothing."""
    thin = decide(RULE, GOLD, 0.99, 110, periods(150, 150, 150, n=400), day(150))
    gap = gold(110, (150, None, 150), 150)
    short = gold(110, (150, 150), 150)
    new = decide(RULE, GOLD, 0.99, 110, periods(150, 150, 150), day(150, measured=143))

    assert ["not enough data"] * 4 == [found.word for found in (thin, gap, short, new)]
    assert "12:00 UTC: 400" in thin.sentence
    assert "11:55 UTC: 0" in gap.sentence
    assert "2 whole periods" in short.sentence
    assert "143 of 288" in new.sentence


def test_the_band_is_never_left_silently() -> None:
    """Where the observed level lies beyond the band, the sentence says by how much."""
    assert "lies 10.0 ms above the band" in gold(110, (145, 145, 145), 145).sentence
    assert "ceiling of 120 ± 15 ms" in gold(110, (145, 145, 145), 145).sentence
    assert "lies 5.00 ms below the band" in gold(135, (100, 100, 100), 100).sentence
    assert "no baseline bounds" in decide(RULE, Band(), 0.99, 110, periods(145, 145, 145), day(145)).sentence


def test_all_constants_come_from_the_rule() -> None:
    """Factor, number of periods and agreement are those of the rule, not of the code."""
    rule = ThresholdRule(period_s=60, factor=2.0, periods=2, agreement=0.5, day_s=3600)
    day_of = Day(1000, 200.0, 60, 60)

    assert "no change" == decide(rule, Band(), 0.99, 100, periods(190, 190), day_of).word
    assert "raise" == decide(rule, Band(), 0.99, 100, periods(290, 290), day_of).word
    assert "rejected" == decide(rule, Band(), 0.99, 100, periods(310, 310), day_of).word


@pytest.mark.parametrize(
    "wrong",
    [{"period_s": 15}, {"period_s": 7000}, {"day_s": 600}, {"factor": 1.0}, {"periods": 0}],
    ids=["no states", "not whole in a day", "day too short", "factor", "periods"],
)
def test_rules_that_are_none(wrong: dict[str, int]) -> None:
    """A rule that could not be followed is refused."""
    with pytest.raises(UsageError):
        ThresholdRule(**wrong)
