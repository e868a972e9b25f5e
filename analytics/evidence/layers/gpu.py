"""The GPU itself: its clock and throttling (compute), its memory's bandwidth and errors (memory).

Prefill is bound by arithmetic and goes with 1/clock; decode is bound by memory and hardly does (a card that
lost 20 % of its clock lost 5 % of its decode speed). Memory that slowed shows in decode first. Utilisation
says that a kernel was running, not that work was done: it is no evidence.
"""

from collections.abc import Callable

from otel_attrib.analytics.evidence.signal import NOTHING, Finding, Signal, events, rise, saturate
from otel_attrib.analytics.evidence.view import View

__all__ = ["SIGNALS"]

STEADY = 0.03
COMPUTED = ("prefill", "sample", "decode_forward", "decode_sample", "decode_batch_wait", "queue", "gap")


def _clock_explains(view: View) -> Finding | None:
    """How much of the prefill's slowing 1/clock foretells."""
    clock, ratio = view.contrasts.get("gpu_clock"), view.work.ratios.get("prefill")
    if clock is None or ratio is None:
        return None
    drop = -clock.relative
    if drop <= 0 or drop >= 1 or ratio < 1 + STEADY:
        return NOTHING
    foretold = 1 / (1 - drop) - 1
    part = min(1.0, foretold / (ratio - 1)) * clock.trust
    return Finding(
        part,
        f"1/clock foretells {100 * foretold:.0f} % of the {100 * (ratio - 1):.0f} % by which prefill slowed",
    )


def _body(kind: str, word: str) -> Callable[[View], Finding | None]:
    def measure(view: View) -> Finding | None:
        forward, whole = view.steps.get((kind, "forward_us")), view.steps.get((kind, "duration_us"))
        if forward is None or whole is None:
            return None
        beside = sum(
            view.steps[kind, name].change
            for name in ("collective_us", "copy_us")
            if (kind, name) in view.steps
        )
        if whole.relative < STEADY or whole.change <= 0:
            return NOTHING
        part = min(1.0, max(0.0, (forward.change - beside) / whole.change)) * saturate(whole.relative, 0.05)
        return Finding(
            part, f"{word} steps {100 * whole.relative:.0f} % longer at equal work, in the kernels themselves"
        )

    return measure


def _memory_pattern(view: View) -> Finding | None:
    prefill, decode = view.work.ratios.get("prefill"), view.work.ratios.get("decode_forward")
    if prefill is None or decode is None:
        return None
    more = (decode - 1) - max(0.0, prefill - 1)
    strength = saturate(more - STEADY, 0.1)
    return Finding(
        strength, f"decode {100 * (decode - 1):.0f} % slower, prefill {100 * (prefill - 1):+.0f} %"
    )


def _compute_pattern(view: View) -> Finding | None:
    prefill, decode = view.work.ratios.get("prefill"), view.work.ratios.get("decode_forward")
    if prefill is None or decode is None:
        return None
    more = (prefill - 1) - max(0.0, decode - 1)
    strength = saturate(more - STEADY, 0.1)
    return Finding(
        strength,
        f"prefill {100 * (prefill - 1):.0f} % slower at equal work, decode {100 * (decode - 1):+.0f} %",
    )


def _decode_only(view: View) -> Finding | None:
    """Decode alone slower: arithmetic is not what slowed."""
    found = _memory_pattern(view)
    if found is None or not found.strength:
        return found
    quiet = saturate(STEADY, max(0.0, view.work.ratios["prefill"] - 1))
    return Finding(found.strength * quiet, found.text)


def _clock_steady(view: View) -> Finding | None:
    clock = view.contrasts.get("gpu_clock")
    if clock is None:
        return None
    if abs(clock.relative) >= STEADY:
        return NOTHING
    return Finding(1 - abs(clock.relative) / STEADY, f"SM clock steady at {clock.after:.0f} MHz")


def _host_bound(view: View) -> Finding | None:
    """SM activity falls while the host's threads wait: the card is waiting for its host."""
    activity, off = view.contrasts.get("sm_activity"), view.contrasts.get("off_cpu")
    if activity is None or off is None:
        return None
    strength = saturate(-activity.relative, 0.1) * activity.trust * saturate(off.change, 0.1) * off.trust
    return Finding(strength, "SM activity fell while the engine's threads were off the CPU")


SIGNALS = (
    Signal("clock_down", "gpu.compute", True, "gpu_clock", rise("gpu_clock", 0.1), stages=COMPUTED),
    Signal("clock_explains", "gpu.compute", True, "gpu_clock", _clock_explains, stages=COMPUTED),
    Signal("throttled", "gpu.compute", True, "gpu_throttled", rise("gpu_throttled", 0.1), stages=COMPUTED),
    Signal(
        "throttle_time",
        "gpu.compute",
        True,
        "gpu_throttle_time",
        rise("gpu_throttle_time", 0.1),
        stages=COMPUTED,
    ),
    # A limit that is never drawn, and heat that throttles nothing, are no cause: they only support one.
    Signal(
        "power_capped",
        "gpu.compute",
        True,
        "gpu_power_limit",
        rise("gpu_power_limit", 0.1),
        own=False,
        stages=COMPUTED,
    ),
    Signal(
        "hot",
        "gpu.compute",
        True,
        "gpu_temperature",
        rise("gpu_temperature", 10.0),
        own=False,
        stages=COMPUTED,
    ),
    Signal("xid", "gpu.compute", True, "xid", events("xid", 0.1), stages=COMPUTED),
    Signal(
        "prefill_kernels",
        "gpu.compute",
        True,
        "steps.forward_us",
        _body("prefill", "Prefill"),
        own=False,
        stages=COMPUTED,
    ),
    Signal(
        "prefill_pattern",
        "gpu.compute",
        True,
        "requests.prefill_us",
        _compute_pattern,
        own=False,
        stages=COMPUTED,
    ),
    Signal("clock_steady", "gpu.compute", False, "gpu_clock", _clock_steady),
    Signal("decode_only", "gpu.compute", False, "requests.decode_forward_us", _decode_only, own=False),
    Signal("host_bound", "gpu.compute", False, "sm_activity", _host_bound),
    Signal(
        "decode_kernels", "gpu.memory", True, "steps.forward_us", _body("decode", "Decode"), stages=COMPUTED
    ),
    Signal(
        "decode_pattern",
        "gpu.memory",
        True,
        "requests.decode_forward_us",
        _memory_pattern,
        own=False,
        stages=COMPUTED,
    ),
    Signal(
        "memory_corrected", "gpu.memory", True, "remapped_rows", events("remapped_rows", 1.0), stages=COMPUTED
    ),
    Signal(
        "memory_uncorrected", "gpu.memory", True, "ecc_errors", events("ecc_errors", 0.1), stages=COMPUTED
    ),
)
