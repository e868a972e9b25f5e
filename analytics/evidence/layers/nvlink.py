"""The way between cards: errors, links lost, and collectives that take longer at equal bytes.

Only engines of more than one card use it. Losing it costs prefill far more than decode (35–49 % against
3–5 % where it was measured). One late rank makes all others wait in the collective at full utilisation:
then the time is the collective's and the fault is that rank's.
"""

from otel_attrib.analytics.evidence.layers.transfer import (
    more_bytes,
    neighbour,
    slower_per_byte,
    steady_per_byte,
    step_share,
)
from otel_attrib.analytics.evidence.signal import NOTHING, Finding, Signal, events, rise, saturate
from otel_attrib.analytics.evidence.view import View

__all__ = ["SIGNALS"]

BETWEEN = ("prefill", "queue", "decode_forward", "decode_batch_wait", "sample", "gap")


def _pattern(view: View) -> Finding | None:
    prefill, decode = view.work.ratios.get("prefill"), view.work.ratios.get("decode_forward")
    if view.hit.ranks < 2 or prefill is None or decode is None:
        return None
    strength = saturate(prefill - 1.1, 0.2) * (1 - saturate(decode - 1.05, 0.1))
    ranks, slower = view.hit.ranks, f"prefill {100 * (prefill - 1):.0f} % slower"
    text = f"{slower} on {ranks} ranks, decode {100 * (decode - 1):+.0f} %"
    return Finding(strength, text) if strength > 0 else NOTHING


def _one_rank_late(view: View) -> Finding | None:
    """Collectives longer while one card of the engine shows trouble of its own."""
    steps = [
        view.steps[kind, "collective_us"]
        for kind in ("prefill", "decode")
        if (kind, "collective_us") in view.steps
    ]
    clock = view.contrasts.get("gpu_clock")
    if not steps or clock is None or view.hit.ranks < 2:
        return None
    longer = max(change.relative for change in steps)
    strength = saturate(longer, 0.1) * saturate(-clock.relative, 0.1) * clock.trust
    return (
        Finding(strength, "one rank is late and its peers wait in the collective")
        if strength > 0
        else NOTHING
    )


SIGNALS = (
    Signal(
        "collectives_slower",
        "nvlink",
        True,
        "collective_time",
        slower_per_byte("collective", "Collectives"),
        stages=BETWEEN,
    ),
    Signal(
        "collective_steps",
        "nvlink",
        True,
        "steps.collective_us",
        step_share("collective_us", "collectives"),
        stages=BETWEEN,
    ),
    Signal("nvlink_crc", "nvlink", True, "nvlink_crc", events("nvlink_crc", 30.0), stages=BETWEEN),
    Signal(
        "nvlink_replays", "nvlink", True, "nvlink_replays", events("nvlink_replays", 30.0), stages=BETWEEN
    ),
    Signal(
        "nvlink_recoveries",
        "nvlink",
        True,
        "nvlink_recoveries",
        events("nvlink_recoveries", 1.0),
        stages=BETWEEN,
    ),
    Signal("links_down", "nvlink", True, "nvlink_links", rise("nvlink_links", 0.1), stages=BETWEEN),
    Signal(
        "nvlink_neighbour",
        "nvlink",
        True,
        "nvlink_receive",
        neighbour(("nvlink_receive", "nvlink_transmit"), "collective_bytes", 50e9, "NVLink"),
        stages=BETWEEN,
    ),
    Signal("nvlink_pattern", "nvlink", True, "requests.prefill_us", _pattern, own=False, stages=BETWEEN),
    Signal(
        "collectives_steady", "nvlink", False, "collective_time", steady_per_byte("collective", "Collectives")
    ),
    Signal("collectives_more", "nvlink", False, "collective_bytes", more_bytes("collective", "collectives")),
    Signal("one_rank_late", "nvlink", False, "steps.collective_us", _one_rank_late),
)
