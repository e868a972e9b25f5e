"""One series watched: bins of (rows, exceedances) in, at most one alarm an incident out.

An alarm needs the e-CUSUM above its threshold and, in this order: the excess still there in the last
seconds (what went away by itself is no incident), and more than is usual at this hour. While an incident
lasts there is no second alarm; it is over after a quiet minute. Times are seconds since 1970.

Over-dispersion and the threshold are learned from the series itself, from the bins that are part of no
incident. The least effect (5 %, 5 ms) is a matter of milliseconds, which counts do not tell: whoever has
the rows judges it.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from otel_attrib.analytics.detection.cusum import ECusum
from otel_attrib.analytics.detection.dispersion import Dispersion, Spread
from otel_attrib.analytics.detection.peaks import Peaks
from otel_attrib.analytics.detection.season import Season

__all__ = ["QUIET_S", "Alarm", "Bin", "Detector"]

RECENT_S = 5.0
QUIET_S = 60.0
BRIEF_S = 180.0
STILL = 1.5  # times the expected rate that the last seconds must have
ADAPT_S = 60.0


Bin = tuple[float, float, float]
"""Start of a bin, rows, exceedances."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """A series left its baseline at about `onset`, was seen at `time`, at `ratio` times the usual rate."""

    time: float
    onset: float
    ratio: float
    log_e: float


@dataclass(slots=True)
class Detector:
    """State of one series; `rate` is the expected share of exceedances, a bin lasts `step_s`."""

    rate: float
    step_s: float = 1.0
    alarms_per_day: float = 1.0
    incident: Alarm | None = None
    cusum: ECusum = field(default_factory=ECusum)
    dispersion: Dispersion = field(default_factory=Dispersion)
    peaks: Peaks = field(default_factory=Peaks)
    season: Season = field(default_factory=Season)
    recent: deque[tuple[float, float, float, float]] = field(default_factory=deque)
    spread: Spread = field(default_factory=Spread)
    threshold: float = 0.0
    adapted_at: float = 0.0
    quiet_since: float = 0.0

    def learn(self, bins: Iterable[Bin]) -> None:
        """Learn from bins of the past, known to be part of no incident, in order of time."""
        past = [(time, exceed, self._mean(time, n)) for time, n, exceed in bins]
        for _, exceed, mean in past:
            self.dispersion.add(exceed, mean)
        self.spread = self.dispersion.spread()
        for time, exceed, mean in past:
            self.peaks.add(self.cusum.step(time, exceed, mean, self.spread), self.step_s)
        self.cusum.restart()
        self.threshold = self.peaks.threshold(self.alarms_per_day)

    def update(self, time: float, n: float, exceed: float) -> Alarm | None:
        """Take the bin that starts at `time`; return an alarm when an incident is seen for the first time."""
        mean = self._mean(time, n)
        self._remember(time, n, exceed, mean)
        if self.incident:
            self._end_if_quiet(time)
            return None
        if time - self.adapted_at >= ADAPT_S:
            self._adapt(time)
        won = self.cusum.step(time, exceed, mean, self.spread)
        self.peaks.add(won, self.step_s)
        if won < self.threshold or not self._still_there(time):
            return None
        return self._alarm(time, won)

    def _adapt(self, time: float) -> None:
        self.spread, self.adapted_at = self.dispersion.spread(), time
        self.threshold = self.peaks.threshold(self.alarms_per_day)

    def _mean(self, time: float, n: float) -> float:
        return n * self.rate * self.season.factor(time, self.rate)

    def _remember(self, time: float, n: float, exceed: float, mean: float) -> None:
        """Keep the last minute; learn from what leaves it unless an incident was under way."""
        self.recent.append((time, n, exceed, mean))
        while self.recent[0][0] <= time - QUIET_S:
            old = self.recent.popleft()
            if not self.incident and old[0] >= self.quiet_since:
                self.dispersion.add(old[2], old[3])
                self.season.add(*old[:3])

    def _ratio(self, since: float) -> float:
        """Return exceedances over expected from `since` on, as far as remembered."""
        counts = [(exceed, mean) for time, _, exceed, mean in self.recent if time >= since]
        return sum(exceed for exceed, _ in counts) / max(1e-9, sum(mean for _, mean in counts))

    def _still_there(self, time: float) -> bool:
        return self._ratio(time - RECENT_S + self.step_s) >= STILL

    def _alarm(self, time: float, won: float) -> Alarm:
        onset = self.cusum.onset
        self.incident = Alarm(time, onset, round(self._ratio(onset), 6), round(won, 6))
        self.cusum.restart()
        return self.incident

    def _end_if_quiet(self, time: float) -> None:
        if self.recent[-1][0] - self.recent[0][0] < QUIET_S - 2 * self.step_s:
            return
        if self.incident and time - self.incident.time >= QUIET_S and self._ratio(time - QUIET_S) < STILL:
            if time - self.incident.onset <= BRIEF_S:  # a burst like those that the series has anyway
                self.peaks.end(self.incident.log_e)
            self.incident, self.quiet_since = None, time

    def as_dict(self) -> dict[str, Any]:
        """Return all of its state for JSON."""
        return {
            "rate": self.rate,
            "step_s": self.step_s,
            "alarms_per_day": self.alarms_per_day,
            "incident": asdict(self.incident) if self.incident else None,
            "cusum": asdict(self.cusum),
            "dispersion": self.dispersion.as_list(),
            "season": asdict(self.season),
            "recent": [list(bin_) for bin_ in self.recent],
            "quiet_since": self.quiet_since,
            "peaks": asdict(self.peaks),
            "threshold": self.threshold,
            "adapted_at": self.adapted_at,
            "spread": asdict(self.spread),
        }

    @classmethod
    def of_dict(cls, state: dict[str, Any]) -> "Detector":
        """Return the detector that `as_dict` told of; it goes on as the first would have."""
        detector = cls(state["rate"], state["step_s"], state["alarms_per_day"])
        detector.incident = Alarm(**state["incident"]) if state["incident"] else None
        detector.cusum = ECusum(**state["cusum"])
        detector.dispersion = Dispersion.of_list(state["dispersion"], state["step_s"])
        detector.season = Season(**state["season"])
        detector.recent = deque(tuple(bin_) for bin_ in state["recent"])
        detector.quiet_since, detector.adapted_at = state["quiet_since"], state["adapted_at"]
        detector.peaks, detector.threshold = Peaks(**state["peaks"]), state["threshold"]
        detector.spread = Spread(**state["spread"])
        return detector
