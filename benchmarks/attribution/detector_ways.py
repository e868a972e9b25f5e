"""The detector and what people use instead, on the same streams: when each raises an alarm.

Peers that look at the P99 get it for windows of ten seconds, drawn from its own distribution: above the
baseline's P99 times have a Pareto tail of index 2 (three times the exceedances are then a P99 1.7 times as
large), so the k-th largest of n follows from a Beta variable. All learn from the same hour before.
"""

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.attribution.detector_streams import RATE, Stream
from otel_attrib.analytics.columns import Floats
from otel_attrib.analytics.detection import Detector, ECusum, Spread

__all__ = ["LEARN_S", "WAYS"]

LEARN_S = 3600
WINDOW_S = 10
TAIL = 2.0
HOLD_S = 60  # an alarm is one alarm until a minute without
Way = Callable[[Stream, np.random.Generator], Iterator[int]]


def ours(stream: Stream, rng: np.random.Generator) -> Iterator[int]:
    """The product's detector."""
    detector = Detector(RATE)
    bins = zip(range(stream.n.size), stream.n.tolist(), stream.exceed.tolist(), strict=True)
    past = [next(bins) for _ in range(LEARN_S)]
    detector.learn((float(second), float(n), float(over)) for second, n, over in past)
    for second, n, over in bins:
        if detector.update(float(second), float(n), float(over)):
            yield second


def plain_e_cusum(stream: Stream, rng: np.random.Generator) -> Iterator[int]:
    """The same bets for independent exceedances, stopped at the seconds of a day; nothing is learned."""
    cusum, limit, last = ECusum(), np.log(86_400), -HOLD_S
    counts = zip(stream.n[LEARN_S:].tolist(), stream.exceed[LEARN_S:].tolist(), strict=True)
    for second, (n, over) in enumerate(counts, LEARN_S):
        if cusum.step(second, over, n * RATE, Spread()) >= limit:
            if second - last >= HOLD_S:
                yield second
            last = second
            cusum.restart()


def twice_the_p99(stream: Stream, rng: np.random.Generator) -> Iterator[int]:
    """An alert rule: P99 of the last minute above twice the baseline's."""
    windows = _p99(stream, rng, 60)
    yield from _raised(windows > 2 * np.median(windows[: LEARN_S // 60]), 60)


def cusum_of_p99(stream: Stream, rng: np.random.Generator) -> Iterator[int]:
    """Page's CUSUM of the standardised log P99 of ten seconds: allowance ½, limit 5 (textbook values)."""
    logs = np.log(_p99(stream, rng, WINDOW_S))
    past = logs[: LEARN_S // WINDOW_S]
    score = (logs - past.mean()) / past.std()
    held, above = 0.0, np.zeros(logs.size, dtype=np.bool_)
    for i, value in enumerate(score.tolist()):
        held = max(0.0, held + value - 0.5)
        above[i] = held > 5
        held = 0.0 if above[i] else held
    yield from _raised(above, WINDOW_S)


def _p99(stream: Stream, rng: np.random.Generator, window_s: int) -> Floats:
    """Return the P99 of each window, in units of the baseline's."""
    cut = stream.n.size // window_s * window_s
    n = stream.n[:cut].reshape(-1, window_s).sum(axis=1)
    late = (stream.rate * stream.n)[:cut].reshape(-1, window_s).sum(axis=1) / np.maximum(n, 1)
    rank = np.maximum(1, np.round(n * RATE))
    late = np.where(n > 0, late, RATE)  # a window without requests shows what is usual
    drawn: Floats = (late / rng.beta(rank, np.maximum(1, n + 1 - rank))) ** (1 / TAIL)
    return drawn


def _raised(above: np.ndarray, window_s: int) -> Iterator[int]:
    """Yield the last second of each first window above, after the learning time."""
    last = -HOLD_S
    for window in np.flatnonzero(above).tolist():
        second = (window + 1) * window_s - 1
        if second >= LEARN_S:
            if second - last > HOLD_S:
                yield second
            last = second


WAYS: dict[str, Way] = {
    "otel-attrib": ours,
    "e-CUSUM, Poisson null": plain_e_cusum,
    "CUSUM of P99": cusum_of_p99,
    "P99 > 2 × baseline": twice_the_p99,
}
