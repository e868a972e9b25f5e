"""One short sentence for a device: where most of the time that was not spent computing went."""

from otel_attrib.analytics.profiles.breakdown import Breakdown
from otel_attrib.analytics.profiles.idle import Idle
from otel_attrib.analytics.wording import digits

__all__ = ["WASTE_SHARE", "duration", "verdict", "wasted_share"]

WASTE_SHARE = 0.2  # of the span: below it a loss is not the first thing to say
MOST, NEARLY_ALL = 0.5, 0.9


def verdict(one: Breakdown) -> str:
    """Return the sentence, without its subject: `idle 61 % of 18.4 ms, most of it waiting for the host`."""
    whole = duration(one.span_ns)
    losses = _losses(one)
    worst = max(losses, key=lambda loss: losses[loss])
    if not one.span_ns:
        return "ran nothing that took time"
    if losses[worst] < WASTE_SHARE * one.span_ns:
        rest = _rest(one, losses) if wasted_share(one) >= WASTE_SHARE else _mostly(one)
        return f"computes {_percent(one.compute_ns, one.span_ns)} of {whole}{rest}"
    share = _percent(losses[worst], one.span_ns)
    if worst == "idle":
        return f"idle {share} of {whole}{_reason(one.idle)}"
    does = "communicates" if worst == "communication" else "copies"
    return f"{does} {share} of {whole} with no compute beside it"


def wasted_share(one: Breakdown) -> float:
    """Return how much of the span the device did not compute."""
    return 1 - one.compute_ns / one.span_ns if one.span_ns else 0.0


def duration(ns: float) -> str:
    """Write a time with three digits that matter and its unit."""
    for unit, size in (("s", 1e9), ("ms", 1e6)):
        if ns >= 0.9995 * size:
            value = ns / size
            return f"{value:,.0f} {unit}" if value >= 99.95 else f"{digits(value)} {unit}"
    return f"{digits(ns / 1e3)} µs"


def _losses(one: Breakdown) -> dict[str, int]:
    """Return the time without compute by what it was: each moment once, communication before copies."""
    parts = one.parts_ns
    return {
        "idle": one.idle.total_ns,
        "communication": parts.get("communication", 0) + parts.get("communication+memory", 0),
        "copies": parts.get("memory", 0),
    }


def _reason(idle: Idle) -> str:
    reasons = {
        "waiting for the host": idle.host_ns,
        "short gaps between queued kernels": idle.kernel_ns,
        "queued work that did not start": idle.other_ns,
    }
    reason = max(reasons, key=lambda name: reasons[name])
    share = reasons[reason] / idle.total_ns
    if share < MOST:
        return ", for several reasons" if idle.unknown_ns < MOST * idle.total_ns else ", reason not recorded"
    return f", {'nearly all' if share >= NEARLY_ALL else 'most'} of it {reason}"


def _rest(one: Breakdown, losses: dict[str, int]) -> str:
    """Return each loss of a percent or more, the largest first."""
    named = {"communication": "only communicates", "copies": "only copies"}
    told = sorted(losses.items(), key=lambda loss: -loss[1])
    parts = (f"{named.get(name, name)} {_percent(ns, one.span_ns)}" for name, ns in told)
    large = (part for part, (_, ns) in zip(parts, told, strict=True) if ns >= 0.01 * one.span_ns)
    return f"; {', '.join(large)}"


def _mostly(one: Breakdown) -> str:
    """Return the class that computed longest; what the copy engines did is none of it."""
    most = max(one.kernels, key=lambda kind: kind.computing_ns, default=None)
    if most is None or not most.computing_ns:
        return ""
    return f", {_percent(most.computing_ns, one.span_ns)} in {most.kind.replace('_', ' ')}"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "0 %"
