"""Quiet streams for detectors: a second's requests, and the probability with which each exceeds its limit.

On average 1 % exceed in every stream. `independent` is what textbooks assume. In the others exceedances
clump: real arrivals (Azure's code trace and Mooncake's, two-minute stretches dealt out at random, scaled to
100 requests a second) that fill a queue whose wait makes all requests late together; rates that wander
(scatter 0.5 for 10 s, 0.8 for 30 s) or jump (0.8 every 5 s); pauses that make some thirty requests late at
once each minute; and a rate that doubles in the evening of each day.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
import polars as pl
from scipy.signal import lfilter

from otel_attrib.analytics.columns import Floats, Ints

__all__ = ["STREAMS", "Stream", "make"]

RATE = 0.01
A_SECOND = 100.0
STRETCH_S = 120
LOAD = 0.8


@dataclass(frozen=True)
class Stream:
    """One entry a second: requests, the probability of an exceedance, and exceedances."""

    n: Ints
    rate: Floats
    exceed: Ints

    def worse(self, rng: np.random.Generator, start: int, ratio: float) -> "Stream":
        """Return the stream whose probability is `ratio` times as large from second `start` on."""
        rate = self.rate.copy()
        rate[start:] = np.minimum(1.0, rate[start:] * ratio)
        more = np.where(rate < 1, (rate - self.rate) / np.maximum(1e-12, 1 - self.rate), 1.0)
        return Stream(self.n, rate, self.exceed + rng.binomial(self.n - self.exceed, np.clip(more, 0, 1)))


def make(name: str, seconds: int, seed: int) -> Stream:
    """Return a quiet stream."""
    rng = np.random.default_rng(seed)
    n, shape = STREAMS[name](rng, seconds)
    rate = np.minimum(0.9, RATE * shape / np.average(shape, weights=np.maximum(n, 1)))
    return Stream(n, rate, rng.binomial(n, rate))


Shape = tuple[Ints, Floats]


def _independent(rng: np.random.Generator, seconds: int) -> Shape:
    return rng.poisson(A_SECOND, seconds), np.ones(seconds)


def _wandering(lasts_s: float, scatter: float) -> Callable[[np.random.Generator, int], Shape]:
    def shape(rng: np.random.Generator, seconds: int) -> Shape:
        keep = np.exp(-1 / lasts_s)
        latent = lfilter([1.0], [1.0, -keep], rng.normal(0, scatter * np.sqrt(1 - keep**2), seconds))
        return rng.poisson(A_SECOND * np.exp(0.3 * latent - 0.045 * scatter**2)), np.exp(latent)

    return shape


def _jumping(rng: np.random.Generator, seconds: int) -> Shape:
    latent = np.repeat(rng.normal(0, 0.8, seconds // 5 + 1), 5)[:seconds]
    return rng.poisson(A_SECOND, seconds), np.exp(latent)


def _pauses(rng: np.random.Generator, seconds: int) -> Shape:
    n = rng.poisson(A_SECOND, seconds)
    late = np.where(rng.random(seconds) < 1 / 60, rng.poisson(30, seconds), 0)
    return n, 0.5 * RATE + late / np.maximum(n, 1)


def _evenings(rng: np.random.Generator, seconds: int) -> Shape:
    daily = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(seconds) / 86_400)
    return rng.poisson(A_SECOND * (0.5 + daily)), 1 + daily


def _real(trace: str) -> Callable[[np.random.Generator, int], Shape]:
    def shape(rng: np.random.Generator, seconds: int) -> Shape:
        n = rng.poisson(A_SECOND * _profile(trace, rng, seconds))
        wait = _wait_s(n, A_SECOND / LOAD)
        return n, np.exp(np.minimum(wait, 4.0))

    return shape


def _profile(trace: str, rng: np.random.Generator, seconds: int) -> Floats:
    """Return arrivals relative to their mean, smoothed over 10 s, of stretches in random order."""
    path = files("otel_attrib.fleet").joinpath("data", f"{trace}.csv.gz")
    at = (pl.read_csv(str(path))["ms"].to_numpy() // 1000).astype(np.int64)
    counts = np.bincount(at - at.min())
    smooth = np.convolve(counts / counts.mean(), np.ones(10) / 10, mode="valid")
    starts = rng.integers(0, smooth.size - STRETCH_S, seconds // STRETCH_S + 1)
    profile: Floats = np.concatenate([smooth[start : start + STRETCH_S] for start in starts])[:seconds]
    return profile


def _wait_s(n: Ints, capacity: float) -> Floats:
    """Return how long the queue is, in seconds of work, when so many requests a second are served."""
    surplus = np.cumsum(n - capacity)
    waiting = surplus - np.minimum(np.minimum.accumulate(surplus), 0)
    wait: Floats = waiting / capacity
    return wait


STREAMS: dict[str, Callable[[np.random.Generator, int], Shape]] = {
    "independent": _independent,
    "azure": _real("azure_code"),
    "mooncake": _real("mooncake"),
    "wander 10 s": _wandering(10, 0.5),
    "wander 30 s": _wandering(30, 0.8),
    "jumps 5 s": _jumping,
    "pauses": _pauses,
    "evenings": _evenings,
}
