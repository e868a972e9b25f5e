"""What may be said about a change, and why not more.

RULE is the text users see; the constants beside it are the same rule. Causes come with the evidence
of later releases and need 50 rows above the quantile on both sides; here only the change itself is judged.
"""

from dataclasses import dataclass

from otel_attrib.analytics.blocks import Counts
from otel_attrib.analytics.intervals import Estimate
from otel_attrib.analytics.metric import Metric

__all__ = [
    "GLOBAL",
    "INSUFFICIENT",
    "NO_REGRESSION",
    "RULE",
    "Verdict",
    "judge_change",
    "judge_data",
    "rows_above",
    "threshold",
]

NO_REGRESSION = "NO_REGRESSION"
INSUFFICIENT = "INSUFFICIENT"
GLOBAL = "GLOBAL"

RELATIVE = 0.05
ROWS_ABOVE = 5
BLOCKS = 8
COMPLETE = 0.90
OFFERED_LEVELS = (0.99, 0.98, 0.95, 0.9, 0.75, 0.5)

RULE = (
    "A regression is real when the lower end of the 95 % interval of the rise is above 5 % of the baseline"
    " and above 5 ms (0.5 ms for TPOT and TBT). That needs, in both windows, at least 5 rows above the"
    " quantile (500 requests at P99), requests in at least 8 of the blocks of time and node, and at least"
    " 90 % of the requests measured. Without a real rise the answer is no regression, unless the interval"
    " is so wide that a doubling would not have shown. GLOBAL means real and not yet traced to one layer"
    " or slice."
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One of the verdict words, with the reason in plain words."""

    word: str
    reason: str


def threshold(metric: Metric, baseline_ms: float) -> float:
    """Return the rise in ms up to which a change does not count."""
    return max(RELATIVE * baseline_ms, metric.least_ms)


def rows_above(n: int, level: float) -> float:
    """Return how many of `n` rows lie above their quantile."""
    return round(n * (1 - level), 6)


def judge_data(name: str, counts: Counts, level: float) -> Verdict | None:
    """Return why the window called `name` cannot be judged, or None when it can."""
    n = counts.measured
    if n == 0:
        return Verdict(INSUFFICIENT, f"the {name} holds no measured request (of {counts.requests})")
    if counts.complete < COMPLETE:
        share = f"{100 * counts.complete:.0f} %"
        return Verdict(INSUFFICIENT, f"only {share} of the {name}'s requests are measured; 90 % are needed")
    if rows_above(n, level) < ROWS_ABOVE:
        return Verdict(INSUFFICIENT, _too_few(name, n, level))
    if counts.sizes.size < BLOCKS:
        return Verdict(
            INSUFFICIENT,
            f"the {name}'s requests lie in {counts.sizes.size} of its blocks of time and node;"
            f" {BLOCKS} are needed for an interval",
        )
    return None


def _too_few(name: str, n: int, level: float) -> str:
    needed = round(ROWS_ABOVE / (1 - level))
    fitting = next((offer for offer in OFFERED_LEVELS if rows_above(n, offer) >= ROWS_ABOVE), None)
    advice = f"take a longer window or --quantile {fitting}" if fitting else "take a longer window"
    above = f"{rows_above(n, level):.3g}"
    return (
        f"{n} values in the {name} leave {above} above P{100 * level:g};"
        f" {ROWS_ABOVE} are needed ({needed} values): {advice}"
    )


def judge_change(metric: Metric, delta: Estimate, baseline_ms: float) -> Verdict:
    """Return the verdict on a change whose data passed `judge_data` on both sides."""
    low, high = delta.interval()
    limit = threshold(metric, baseline_ms)
    if low > limit:
        return Verdict(GLOBAL, f"the rise is above {limit:.3g} ms with 95 % confidence")
    if high > max(baseline_ms, metric.least_ms):
        return Verdict(
            INSUFFICIENT, f"the interval reaches {high:+.3g} ms: even a doubling would not have shown"
        )
    return Verdict(NO_REGRESSION, f"a rise above {limit:.3g} ms is not shown with 95 % confidence")
