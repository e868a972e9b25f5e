"""e-CUSUM: how much was won by betting, since the best moment to start, that exceedances became more.

For each rate ratio of a grid the bet's factor in a bin is the likelihood ratio of the negative binomial
with that ratio to the one without, to the power 1/stretch; its mean is at most 1 while nothing changed,
so the product is a test martingale's (Shin, Ramdas, Rinaldo 2023, "E-detectors", arXiv 2203.03532), and so
is the average over the grid. Restarting each at 1 whenever it falls below gives the CUSUM form, whose mean
time to a false alarm is at least the threshold, in bins: no alarm rate has to be tuned.
"""

from dataclasses import dataclass, field
from math import exp, inf, log

from otel_attrib.analytics.detection.dispersion import Spread

__all__ = ["RATIOS", "ECusum"]

RATIOS = (1.5, 2.0, 3.0, 5.0, 10.0)


@dataclass(slots=True)
class ECusum:
    """Log capital of each bet, and the bin since which each has been above its start."""

    capital: list[float] = field(default_factory=lambda: [0.0] * len(RATIOS))
    since: list[float] = field(default_factory=lambda: [0.0] * len(RATIOS))

    def step(self, time: float, exceed: float, mean: float, spread: Spread) -> float:
        """Add one bin that starts at `time`; return the log of the average capital."""
        for i, ratio in enumerate(RATIOS):
            held = self.capital[i]
            if held <= 0:
                held, self.since[i] = 0.0, time
            self.capital[i] = held + log_ratio(exceed, mean, ratio, spread)
        top = max(self.capital)
        return top + log(sum(exp(held - top) for held in self.capital) / len(RATIOS))

    @property
    def onset(self) -> float:
        """Return when the change began if there was one: the start of the bet that has won most."""
        return self.since[max(range(len(RATIOS)), key=lambda i: self.capital[i])]

    def restart(self) -> None:
        """Forget every win."""
        self.capital = [0.0] * len(RATIOS)


def log_ratio(exceed: float, mean: float, ratio: float, spread: Spread) -> float:
    """Return the log factor of one bet in one bin."""
    if spread.shape == inf:
        return (exceed * log(ratio) - (ratio - 1) * mean) / spread.stretch
    without, grown = spread.shape + mean, spread.shape + ratio * mean
    shrink = log(grown / without)
    return (exceed * (log(ratio) - shrink) - spread.shape * shrink) / spread.stretch
