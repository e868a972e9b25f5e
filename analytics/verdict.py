"""What may be said about a change, and why not more.

RULE is the text users see; the constants beside it and in `causes` are the same rule. `judge_data` and
`judge_change` judge the change itself, `conclude` names what caused it or says why it cannot.
"""

from dataclasses import dataclass
from math import isfinite

from otel_attrib.analytics.blocks import Counts
from otel_attrib.analytics.causes import Facts, nearest, objections, set_of
from otel_attrib.analytics.evidence.lines import Layers
from otel_attrib.analytics.intervals import Estimate
from otel_attrib.analytics.metric import Metric
from otel_attrib.analytics.wording import count, digits, layer_title, milliseconds, probability

__all__ = [
    "CAUSE",
    "CAUSE_SET",
    "GLOBAL",
    "INSUFFICIENT",
    "LOAD",
    "MIX",
    "NO_REGRESSION",
    "OFFERED_LEVELS",
    "RULE",
    "Facts",
    "Verdict",
    "conclude",
    "judge_change",
    "judge_data",
    "kept_above",
    "rows_above",
    "threshold",
]

NO_REGRESSION = "NO_REGRESSION"
INSUFFICIENT = "INSUFFICIENT"
GLOBAL = "GLOBAL"
CAUSE = "CAUSE"
CAUSE_SET = "CAUSE_SET"
MIX = "MIX"
LOAD = "LOAD"

RELATIVE = 0.05
ROWS_ABOVE = 5
BLOCKS = 8
LIKELY = 0.8
COMPLETE = 0.90
REST_SHARE = 0.5
REST_LOW = 0.4
SLOWER = 0.15
OFFERED_LEVELS = (0.99, 0.98, 0.95, 0.9, 0.75, 0.5)

RULE = (
    "A regression is real when the lower end of the 95 % interval of the rise is above 5 % of the baseline"
    " and above 5 ms (0.5 ms for TPOT and TBT). That needs, in both windows, at least 5 rows above the"
    " quantile (500 requests at P99), requests in at least 8 of the blocks of time and node, and at least"
    " 90 % of the requests measured. Without a real rise the answer is no regression, unless a rise above"
    " that limit is likely all the same (p 0.8 or more), or the interval so wide that a doubling would not"
    " have shown: then there is too little data to say. A layer is the CAUSE when the lower end of its share"
    " is at least 40 %, at most 35 % stays unexplained, its calibrated probability reaches the threshold, a"
    " counter of its own (or the replayed queue) speaks for it and none against, at least 50 rows lie above"
    " the quantile on both sides, and clocks agree to a quarter of the smallest stage blamed; two layers of"
    " at least 25 % each and 65 % together are a CAUSE_SET, where the sum of their probabilities reaches the"
    " threshold and each of them 80 % of it. MIX (other requests) and LOAD (other arrivals)"
    " need half of the rise, surely 40 %, and LOAD steps that are not 15 % longer at equal work. GLOBAL"
    " means real and not traced to one layer."
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One of the verdict words, with the reason in plain words, and the layers named if any are."""

    word: str
    reason: str
    layers: tuple[str, ...] = ()


def threshold(metric: Metric, baseline_ms: float) -> float:
    """Return the rise in ms up to which a change does not count."""
    return max(RELATIVE * baseline_ms, metric.least_ms)


def rows_above(n: int, level: float) -> float:
    """Return how many of `n` rows lie above their quantile."""
    return round(n * (1 - level), 6)


def kept_above(counts: Counts, level: float) -> float:
    """Return how many stored rows lie above the quantile of a window; one that counts tenfold is one."""
    return rows_above(counts.measured, level) / counts.each


def judge_data(name: str, counts: Counts, level: float) -> Verdict | None:
    """Return why the window called `name` (`the baseline`) cannot be judged, or None when it can."""
    n = counts.measured
    if n == 0:
        return Verdict(INSUFFICIENT, f"{name} holds no measured request (of {counts.requests})")
    if counts.complete < COMPLETE:
        share = f"{100 * counts.complete:.0f} %"
        return Verdict(INSUFFICIENT, f"only {share} of {name}'s requests are measured; 90 % are needed")
    if kept_above(counts, level) < ROWS_ABOVE:
        return Verdict(INSUFFICIENT, _too_few(name, counts, level))
    if counts.sizes.size < BLOCKS:
        return Verdict(
            INSUFFICIENT,
            f"{name}'s requests lie in {counts.sizes.size} of its blocks of time and node;"
            f" {BLOCKS} are needed for an interval",
        )
    return None


def _too_few(name: str, counts: Counts, level: float) -> str:
    needed = round(ROWS_ABOVE / (1 - level))
    fitting = next((offer for offer in OFFERED_LEVELS if kept_above(counts, offer) >= ROWS_ABOVE), None)
    advice = f"take a longer window or --quantile {fitting}" if fitting else "take a longer window"
    stored = "" if counts.each == 1 else f", each stored one for {digits(counts.each)},"
    return (
        f"{counts.measured} values in {name}{stored} leave {count(kept_above(counts, level))} above"
        f" P{100 * level:g};"
        f" {ROWS_ABOVE} are needed ({needed} values): {advice}"
    )


def judge_change(metric: Metric, delta: Estimate, baseline_ms: float) -> Verdict:
    """Return the verdict on a change whose data passed `judge_data` on both sides."""
    low, high = delta.interval()
    limit = threshold(metric, baseline_ms)
    if low > limit:
        return Verdict(GLOBAL, f"the rise is above {digits(limit)} ms with 95 % confidence")
    p = delta.probability_above(limit)
    if p >= LIKELY:
        return Verdict(INSUFFICIENT, _likely(delta, limit, p))
    if high > max(baseline_ms, metric.least_ms):
        reach = milliseconds(high, sign=True) if isfinite(high) else "any number of"
        return Verdict(INSUFFICIENT, f"the interval reaches {reach} ms: even a doubling would not have shown")
    return Verdict(
        NO_REGRESSION, f"a rise above {digits(limit)} ms is not shown with 95 % confidence, nor likely"
    )


def _likely(delta: Estimate, limit: float, p: float) -> str:
    return (
        f"a rise of {milliseconds(delta.value, sign=True)} ms is likely but not sure: it is above"
        f" {digits(limit)} ms with p {_signed(probability(p))}, and 0.975 is needed"
    )


def conclude(metric: Metric, delta: Estimate, baseline_ms: float, layers: Layers, facts: Facts) -> Verdict:
    """Return the verdict on a change whose data passed `judge_data` on both sides: the cause, or why none.

    `facts.tail_rows` is the smaller side's; GLOBAL says what kept the nearest cause from being named.
    """
    verdict = judge_change(metric, delta, baseline_ms)
    if verdict.word != GLOBAL:
        return verdict
    rest = _rest_of(layers)
    if rest is not None:
        return rest
    top, pair = layers.ranked[:1], set_of(layers)
    alone = objections(layers, top, facts)
    if not alone:
        return _cause(layers, top[0])
    if pair and not objections(layers, pair, facts):
        return Verdict(CAUSE_SET, " and ".join(_part(layers, name) for name in pair), pair)
    surer = max(pair, key=lambda name: layers.lines[name].p, default=top[0])
    if not objections(layers, (surer,), facts):
        return _cause(layers, surer)
    return Verdict(GLOBAL, f"{verdict.reason}; no layer is named: {nearest(layers, facts)}")


def _cause(layers: Layers, name: str) -> Verdict:
    return Verdict(CAUSE, f"{_part(layers, name)}{_spoken(layers, name)}", (name,))


def _rest_of(layers: Layers) -> Verdict | None:
    """Return MIX or LOAD where it is half of the rise, and surely two fifths.

    Steps that became longer at equal work fill a queue as more requests do: then it is not called load.
    """
    lines = (
        (MIX, "other requests than before", layers.workload.value, layers.workload_low),
        (LOAD, "other arrivals than before (rate, bursts, engines)", layers.load.value, layers.load_low),
    )
    for word, text, ms, low in sorted(lines, key=lambda line: -line[2]):
        share = ms / layers.delta if layers.delta else 0.0
        slow = word == LOAD and (layers.slower or 0.0) > SLOWER
        if share >= REST_SHARE and low >= REST_LOW and not slow:
            return Verdict(word, f"{text} make {100 * share:.0f} % of the rise, at least {100 * low:.0f} %")
    return None


def _part(layers: Layers, name: str) -> str:
    line = layers.lines[name]
    low = 100 * max(0.0, line.share_low)
    held = f"{100 * line.share:.0f} % of the rise (at least {low:.0f} %)"
    return f"{layer_title(name)} holds {held}, p {_signed(probability(line.p))}"


def _signed(p: str) -> str:
    """Write `> 0.99` as it is and `0.98` with its sign."""
    return f"{p[0]} {p[1:]}" if p[0] in "<>" else f"= {p}"


def _spoken(layers: Layers, name: str) -> str:
    spoken = [e.text for e in layers.speaking(name, True) if e.own][:1]
    return f": {spoken[0]}" if spoken else ""
