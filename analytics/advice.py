"""What would decide a question that the windows at hand leave open."""

from collections.abc import Iterator
from math import ceil, isfinite

from otel_attrib.analytics.intervals import Estimate
from otel_attrib.analytics.verdict import OFFERED_LEVELS, rows_above

__all__ = ["more_rows", "wider_windows"]

TIMES_AT_MOST = 100


def more_rows(n: int, level: float, needed: float) -> Iterator[str]:
    """Say what gives `needed` rows above the quantile, where the smaller window holds `n` values."""
    if rows_above(n, level) >= needed:
        return
    longer = f"longer windows: {round(needed / (1 - level))} values each, the smaller holds {n}"
    fitting = next((offer for offer in OFFERED_LEVELS if rows_above(n, offer) >= needed), None)
    yield f"{longer}; or --quantile {fitting}" if fitting else longer


def wider_windows(delta: Estimate, limit: float) -> Iterator[str]:
    """Say how long windows would show a rise above `limit` ms, if it stays as it looks.

    An interval shrinks with the square root of the time that it rests on.
    """
    low, _ = delta.interval()
    if not isfinite(low) or low > limit or delta.value <= limit:
        return
    times = ((delta.value - low) / (delta.value - limit)) ** 2
    if times <= TIMES_AT_MOST:
        yield f"windows {ceil(10 * times) / 10:g} times as long would show the rise, if it stays as it is"
