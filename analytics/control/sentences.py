"""The sentence of each decision about a threshold, with every number that it rests on."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from otel_attrib.analytics.control.band import Band
from otel_attrib.analytics.control.observed import Day, Observed
from otel_attrib.analytics.control.rule import ThresholdRule
from otel_attrib.analytics.windows import duration_text
from otel_attrib.analytics.wording import milliseconds

__all__ = ["Said"]


@dataclass(frozen=True, slots=True)
class Said:
    """What the sentences are made of."""

    rule: ThresholdRule
    band: Band
    level: float
    threshold_ms: float
    periods: tuple[Observed, ...]
    day: Day
    name: str

    def short(self) -> str:
        """Say that there are not enough periods yet."""
        return (
            f"There {_are(len(self.periods))} of the {self.rule.periods} needed, each {self._length()};"
            f" the threshold stays at {_ms(self.threshold_ms)}."
        )

    def settling(self, moved: datetime | None) -> str:
        """Say that the threshold was moved too recently."""
        when = f"{moved:%Y-%m-%d %H:%M} UTC" if moved else "just now"
        return (
            f"The threshold was moved to {_ms(self.threshold_ms)} at {when}; {len(self.periods)} of"
            f" {self.rule.periods} periods of {self._length()} have begun and ended since."
        )

    def thin(self, thin: Sequence[Observed]) -> str:
        """Say which periods had too few requests for their quantile."""
        listed = ", ".join(f"{p.end:%H:%M} UTC: {p.n:,}" for p in thin)
        return (
            f"{len(thin)} of the last {self.rule.periods} periods of {self._length()} have fewer than"
            f" {self.rule.rows_above} values above {self._quantile()} (period ending {listed} requests);"
            f" the threshold stays at {_ms(self.threshold_ms)}."
        )

    def inside(self) -> str:
        """Say between which bounds the threshold stays, and how far a row of periods has come."""
        low, high = self.threshold_ms / self.rule.factor, self.threshold_ms * self.rule.factor
        return (
            f"{self._observed()}: not all above {_ms(high)} ({self.rule.factor:g} × {_ms(self.threshold_ms)})"
            f" nor all below {_ms(low)} (÷ {self.rule.factor:g}); {self._streak(low, high)}."
        )

    def thin_day(self, up: bool) -> str:
        """Say that the long look back holds too little to evaluate a candidate."""
        return (
            f"{self._trigger(up)}, but of the last {self._day()} only {self.day.measured:,} of"
            f" {self.day.periods:,} periods were measured (at least {100 * self.rule.covered:.0f} % needed);"
            f" the threshold stays at {_ms(self.threshold_ms)}."
        )

    def rejected(self, up: bool, candidate: float) -> str:
        """Say that the candidate is not what the long look back says."""
        return (
            f"{self._trigger(up)}; their median {_ms(candidate)} is {self._apart(candidate)} from"
            f" {self._usual()}, more than"
            f" {100 * self.rule.agreement:g} %: not what most of the time was like;"
            f" the threshold stays at {_ms(self.threshold_ms)}."
        )

    def held(self, up: bool, candidate: float, after: float) -> str:
        """Say that the band keeps the threshold where it is."""
        bound = "ceiling" if up else "floor"
        why = (
            f"the {bound} of {self.band} is {_ms(after)}"
            if after != candidate
            else f"it differs by less than {100 * self.rule.least:g} %"
        )
        return (
            f"{self._trigger(up)}, and their median {_ms(candidate)} agrees with {self._usual()},"
            f" but {why}: the threshold stays at {_ms(self.threshold_ms)}"
            f"{self._outside(candidate)}."
        )

    def moved(self, up: bool, candidate: float, after: float) -> str:
        """Say from where to where the threshold goes."""
        bound = f", the {'ceiling' if candidate > after else 'floor'} of {self.band}"
        unbounded = ", which no baseline bounds" if self.band.baseline_ms is None else ""
        return (
            f"{self._trigger(up)}; their median {_ms(candidate)} is within {100 * self.rule.agreement:g} %"
            f" of {self._usual()} ({self._apart(candidate)}): the threshold goes from"
            f" {_ms(self.threshold_ms)} to {_ms(after)}"
            f"{bound if after != candidate else unbounded}{self._outside(candidate)}."
        )

    def _trigger(self, up: bool) -> str:
        edge = self.threshold_ms * self.rule.factor if up else self.threshold_ms / self.rule.factor
        sign = f"{self.rule.factor:g} × " if up else f"1/{self.rule.factor:g} × "
        side = "above" if up else "below"
        return f"{self._observed()}: all {side} {_ms(edge)} ({sign}{_ms(self.threshold_ms)})"

    def _observed(self) -> str:
        values = ", ".join("none" if p.ms is None else milliseconds(p.ms) for p in self.periods)
        counts = ", ".join(f"{p.n:,}" for p in self.periods)
        return (
            f"{self._quantile()} of the last {len(self.periods)} periods of {self._length()} was"
            f" {values} ms ({counts} requests)"
        )

    def _streak(self, low: float, high: float) -> str:
        above = _run([p.ms is not None and p.ms > high for p in self.periods])
        below = _run([p.ms is not None and p.ms < low for p in self.periods])
        if above or below:
            return f"{above or below} of {self.rule.periods} in a row {'above' if above else 'below'}"
        return f"the threshold stays at {_ms(self.threshold_ms)}"

    def _usual(self) -> str:
        """Name what the candidate is compared with."""
        return f"the median {_ms(self.day.ms or 0.0)} of {self.day.measured:,} periods in {self._day()}"

    def _apart(self, candidate: float) -> str:
        ms = self.day.ms or candidate
        return f"{100 * abs(candidate - ms) / ms:.1f} %"

    def _outside(self, candidate: float) -> str:
        beyond = candidate - self.band.clamp(candidate)
        if beyond == 0:
            return ""
        side = "above" if beyond > 0 else "below"
        return f"; the observed level lies {_ms(abs(beyond))} {side} the band of its class"

    def _quantile(self) -> str:
        return f"P{100 * self.level:g} {self.name}"

    def _length(self) -> str:
        return duration_text(timedelta(seconds=self.rule.period_s))

    def _day(self) -> str:
        hours = self.rule.day_s / 3600
        return f"{hours:g} h" if hours >= 1 else duration_text(timedelta(seconds=self.rule.day_s))


def _ms(value: float) -> str:
    return f"{milliseconds(value)} ms"


def _are(number: int) -> str:
    return "is 1 whole period" if number == 1 else f"are {number} whole periods"


def _run(flags: list[bool]) -> int:
    """Return how many of the last flags in a row are set."""
    return next((k for k, flag in enumerate(reversed(flags)) if not flag), len(flags))
