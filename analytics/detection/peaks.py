"""How high the bets climb while nothing is wrong, and from there the threshold.

A fair bet climbs above e^h with probability at most e^−h (Ville), so excursions of its log have tails that
fall at least like e^−h. Bursts of a real series let bets climb further than the model says, so the fall is
measured: above each of LEVELS the excess of the peaks is taken as exponential, of mean at least 1, and the
threshold is where, by the level that says most, so many peaks a day are left as alarms are allowed. What
is learned fades with a half-life of a day.
"""

from dataclasses import dataclass, field
from math import log, sqrt

__all__ = ["Peaks"]

LEVELS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
FEW = 5.0  # peaks below which a level says nothing
BACKING = 10.0  # peaks of a fair bet that the measured ones are set against
DAY_S = 86_400.0
HALF_LIFE_S = DAY_S


@dataclass(slots=True)
class Peaks:
    """Faded seconds; peaks above each level and their summed excess; height of the excursion under way.

    `idle` are the seconds since these were last faded.
    """

    seconds: float = 0.0
    peaks: list[float] = field(default_factory=lambda: [0.0] * len(LEVELS))
    excess: list[float] = field(default_factory=lambda: [0.0] * len(LEVELS))
    height: float = 0.0
    idle: float = 0.0

    def add(self, won: float, step_s: float) -> None:
        """Learn from a bin after which the log of the capital is `won`."""
        self.idle += step_s
        if won > 0:
            self.height = max(self.height, won)
        elif self.height > 0:
            height, self.height = self.height, 0.0
            if height > LEVELS[0]:
                self.end(height)

    def end(self, height: float) -> None:
        """Count an excursion that climbed to `height`."""
        self._fade()
        for i, level in enumerate(LEVELS):
            if height > level:
                self.peaks[i] += 1
                self.excess[i] += height - level

    def threshold(self, alarms_per_day: float) -> float:
        """Return the log capital above which `alarms_per_day` peaks a day are to be expected at most."""
        self._fade()
        days = max(self.seconds, 60.0) / DAY_S
        return max(
            _reach(level, peaks, excess, (peaks + 1) / days / alarms_per_day)
            for level, peaks, excess in zip(LEVELS, self.peaks, self.excess, strict=True)
            if level == LEVELS[0] or peaks >= FEW
        )

    def _fade(self) -> None:
        fade: float = 0.5 ** (self.idle / HALF_LIFE_S)
        self.seconds = self.seconds * fade + self.idle
        self.peaks = [peaks * fade for peaks in self.peaks]
        self.excess = [excess * fade for excess in self.excess]
        self.idle = 0.0


def _reach(level: float, peaks: float, excess: float, often: float) -> float:
    """Return the height that one in `often` peaks above `level` reaches.

    The steeper slope of a fair bet is guaranteed; a flatter one is an estimate, and bursts have tails that
    flatten still: so the further from fair, the rarer the peaks are made that count as an alarm.
    """
    mean = max(1.0, (excess + BACKING) / (peaks + BACKING) * (1 + 0.25 / sqrt(peaks + BACKING)))
    return level + mean * log(max(1.0, often * mean**2))
