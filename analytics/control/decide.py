"""The dynamic threshold loop as a function of what was observed; every constant is in `ThresholdRule`.

θ is the threshold in force, q₁ … qₖ the quantile of the k = `periods` last periods that began after θ was
last moved, Q the median of that quantile over the measured periods of the last `day_s` (24 h), [F, C] the
band.

    way up      all qᵢ > factor · θ
    way down    all qᵢ < θ / factor
    candidate   c = median(q₁ … qₖ)
    accepted    |c − Q| ≤ agreement · Q         and at least `covered` of the day's periods measured
    new         θ' = min(max(c, F), C)          up only if θ' > θ, down only if θ' < θ, |θ' − θ| ≥ least · θ

So an incident, which most of the last 24 h do not know, is left to the alerts and moves nothing; what has
been so for most of a day becomes the threshold. (One P99 of all requests of the day would not do as Q: a
quarter of an hour, 1 % of a day, is enough to move it to where the incident is.) Between θ / factor and
factor · θ nothing happens, and after a move only periods that began later count: that is the hysteresis. A
period with fewer than `rows_above` values beyond its quantile is not measured, and a row of periods with such
a one in it decides nothing.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from statistics import median

from otel_attrib.analytics.control.band import Band
from otel_attrib.analytics.control.decision import Decision, Word
from otel_attrib.analytics.control.observed import Day, Observed
from otel_attrib.analytics.control.rule import ThresholdRule
from otel_attrib.analytics.control.sentences import Said
from otel_attrib.analytics.verdict import rows_above

__all__ = ["decide", "measured"]


def measured(rule: ThresholdRule, level: float, period: Observed) -> bool:
    """Return whether a period's quantile may be relied on."""
    return period.ms is not None and rows_above(period.n, level) >= rule.rows_above


def decide(
    rule: ThresholdRule,
    band: Band,
    level: float,
    threshold_ms: float,
    periods: Sequence[Observed],
    day: Day,
    moved: datetime | None = None,
    name: str = "latency",
) -> Decision:
    """Decide about θ = `threshold_ms` at the end of the newest of `periods` (oldest first, none left out).

    `moved` is the end of the period after which θ was last moved; `name` is what the quantile is called.
    """
    length = timedelta(seconds=rule.period_s)
    recent = tuple(p for p in periods[-rule.periods :] if moved is None or p.end - length >= moved)
    say = Said(rule, band, level, threshold_ms, recent, day, name)
    if len(recent) < rule.periods:
        lacking = moved is not None and len(periods) >= rule.periods
        return _stays(
            "settling" if lacking else "not enough data", say.settling(moved) if lacking else say.short(), say
        )
    thin = [p for p in recent if not measured(rule, level, p)]
    if thin:
        return _stays("not enough data", say.thin(thin), say)
    q = [p.ms for p in recent if p.ms is not None]
    if all(ms > rule.factor * threshold_ms for ms in q):
        return _candidate(say, median(q), up=True)
    if all(ms < threshold_ms / rule.factor for ms in q):
        return _candidate(say, median(q), up=False)
    return _stays("no change", say.inside(), say)


def _candidate(say: Said, candidate: float, up: bool) -> Decision:
    """Evaluate a candidate against the long look back and the band."""
    rule, day, before = say.rule, say.day, say.threshold_ms
    if day.ms is None or day.covered < rule.covered:
        return _stays("not enough data", say.thin_day(up), say, candidate)
    if abs(candidate - day.ms) > rule.agreement * day.ms:
        return _stays("rejected", say.rejected(up, candidate), say, candidate)
    after = say.band.clamp(candidate)
    if (after <= before if up else after >= before) or abs(after - before) < rule.least * before:
        return _stays("held", say.held(up, candidate, after), say, candidate)
    word: Word = "raise" if up else "lower"
    return Decision(word, before, after, say.moved(up, candidate, after), say.periods, candidate, day)


def _stays(word: Word, sentence: str, say: Said, candidate: float | None = None) -> Decision:
    θ = say.threshold_ms
    return Decision(word, θ, θ, sentence, say.periods, candidate, None if candidate is None else say.day)
