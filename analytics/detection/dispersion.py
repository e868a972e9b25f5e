"""How much more exceedances clump than independent ones would, learned while nothing is wrong.

Requests that share a queue are slow together, so counts vary more than Poisson counts do, and stay high
for a while. Two numbers say so: `shape` (counts of one bin are negative binomial, variance μ + μ²/shape),
and `stretch` ≥ 1 (variance of long sums over that of independent bins), by which evidence is discounted.

Kept as sums of squares over bins of 1, 2, 4 … 64 steps that fade with a half-life, so it costs a few
numbers whatever the length of the history.
"""

from dataclasses import dataclass, field
from math import inf, sqrt
from typing import Any

__all__ = ["HALF_LIFE_S", "SCALES", "Dispersion", "Spread"]

SCALES = (1, 2, 4, 8, 16, 32, 64)
HALF_LIFE_S = 6 * 3600.0
FEW = 20.0  # blocks below which a scale is not believed


@dataclass(frozen=True, slots=True)
class Spread:
    """What was learned; (inf, 1) is Poisson."""

    shape: float = inf
    stretch: float = 1.0


@dataclass(slots=True)
class _Scale:
    """Faded sums over the blocks of one scale, and the block that is filling."""

    squares: float = 0.0
    expected: float = 0.0
    expected_squares: float = 0.0
    blocks: float = 0.0
    filled: int = 0
    surplus: float = 0.0
    mean: float = 0.0

    def add(self, surplus: float, mean: float, size: int, fade: float) -> None:
        """Count one bin of counts minus expected, and of expected."""
        self.filled += 1
        self.surplus += surplus
        self.mean += mean
        if self.filled < size:
            return
        self.squares = self.squares * fade + self.surplus**2
        self.expected = self.expected * fade + self.mean
        self.expected_squares = self.expected_squares * fade + self.mean**2
        self.blocks = self.blocks * fade + 1
        self.filled, self.surplus, self.mean = 0, 0.0, 0.0

    @property
    def fano(self) -> float:
        """Return variance over mean; 1 for independent exceedances."""
        return self.squares / self.expected if self.expected else 1.0


@dataclass(slots=True)
class Dispersion:
    """Learns from bins of `step_s` seconds."""

    step_s: float = 1.0
    scales: list[_Scale] = field(default_factory=lambda: [_Scale() for _ in SCALES])

    def add(self, exceed: float, mean: float) -> None:
        """Learn from one bin that had `exceed` exceedances where `mean` were expected."""
        for size, scale in zip(SCALES, self.scales, strict=True):
            scale.add(exceed - mean, mean, size, 0.5 ** (size * self.step_s / HALF_LIFE_S))

    def spread(self) -> Spread:
        """Return what the bins so far say."""
        first = self.scales[0]
        if first.blocks < FEW or not first.expected:
            return Spread()
        own = max(1.0, first.fano)
        beyond = max(0.0, first.squares - first.expected)
        shape = first.expected_squares / beyond if beyond > 2 * _noise(first) else inf
        stretch = max(
            (scale.fano * (1 - sqrt(2 / scale.blocks)) / own for scale in self.scales if scale.blocks >= FEW),
            default=1.0,
        )
        return Spread(shape, max(1.0, stretch))

    def as_list(self) -> list[list[float]]:
        """Return its state for JSON."""
        return [
            [s.squares, s.expected, s.expected_squares, s.blocks, s.filled, s.surplus, s.mean]
            for s in self.scales
        ]

    @classmethod
    def of_list(cls, state: list[list[Any]], step_s: float) -> "Dispersion":
        """Return what `as_list` gave."""
        scales = []
        for squares, expected, expected_squares, blocks, filled, surplus, mean in state:
            scales.append(_Scale(squares, expected, expected_squares, blocks, int(filled), surplus, mean))
        return cls(step_s, scales)


def _noise(scale: _Scale) -> float:
    """Return the standard deviation that the sum of squares has when the counts are Poisson."""
    return sqrt(2 * scale.expected_squares + scale.expected)
