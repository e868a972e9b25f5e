"""The network between server and callers: segments sent again, longer round trips."""

from otel_attrib.analytics.evidence.signal import NOTHING, Finding, Signal, rise, saturate
from otel_attrib.analytics.evidence.view import View

__all__ = ["SIGNALS"]

EDGES = ("ingress", "egress", "outside", "decode_egress", "kv_init", "gap")


def _one_tenant(view: View) -> Finding | None:
    if "tenant" not in view.focus:
        return None
    crowd = view.focus["tenant"] - max(view.focus.get("node", 0.0), 0.3)
    strength = min(1.0, max(0.0, crowd / 0.5))
    return (
        Finding(strength, f"the slow requests are tenant {view.focus_on['tenant']}'s")
        if strength > 0
        else NOTHING
    )


def _quiet(view: View) -> Finding | None:
    found = [view.contrasts[key] for key in ("tcp_retransmits", "tcp_rtt") if key in view.contrasts]
    if not found:
        return None
    loudest = max(
        contrast.trust * saturate(contrast.change, 0.002 if contrast.key == "tcp_rtt" else 1.0)
        for contrast in found
    )
    return (
        Finding(max(0.0, 1 - 4 * loudest), "round trips and retransmits as before")
        if loudest < 0.25
        else NOTHING
    )


SIGNALS = (
    Signal("retransmits", "network", True, "tcp_retransmits", rise("tcp_retransmits", 2.0), stages=EDGES),
    Signal("round_trip", "network", True, "tcp_rtt", rise("tcp_rtt", 0.01), stages=EDGES),
    Signal("one_tenant", "network", False, "slice", _one_tenant, own=False),
    Signal("wires_quiet", "network", False, "tcp_rtt", _quiet),
)
