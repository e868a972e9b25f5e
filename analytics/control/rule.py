"""Every constant of the dynamic threshold loop, in one place; `decide` writes the rule as formulas."""

from dataclasses import dataclass

from otel_attrib.errors import UsageError

__all__ = ["ThresholdRule"]

SECONDS_A_DAY = 86_400
STATES = 10  # seconds: the quantiles come from states of this length


@dataclass(frozen=True, slots=True)
class ThresholdRule:
    """When a threshold is moved; times in seconds, shares of 1.

    `factor` opens the way up above θ·factor and the way down below θ/factor, when `periods` periods of
    `period_s` in a row say so. `agreement` is how near the candidate must be to the quantile of the last
    `day_s`, of whose periods at least `covered` must have been measured. A quantile with fewer than
    `rows_above` values beyond it is not measured. A move of less than `least` of θ is none.
    """

    period_s: int = 300
    factor: float = 1.2
    periods: int = 3
    day_s: int = SECONDS_A_DAY
    agreement: float = 0.05
    covered: float = 0.5
    rows_above: int = 5
    least: float = 0.01

    def __post_init__(self) -> None:
        """Refuse what is no rule."""
        if self.period_s < STATES or self.period_s % STATES:
            raise UsageError(f"a period of {self.period_s} s is no multiple of {STATES} s")
        if self.day_s % self.period_s or self.day_s < self.periods * self.period_s:
            raise UsageError(
                f"{self.day_s} s are no whole number of periods of {self.period_s} s, {self.periods} at least"
            )
        if self.factor <= 1 or self.periods < 1 or self.agreement <= 0:
            raise UsageError("the factor must be above 1, and periods and agreement above 0")

    @property
    def day_periods(self) -> int:
        """Return how many periods the long look back holds."""
        return self.day_s // self.period_s
