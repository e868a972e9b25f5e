"""The caller: it reads slowly, or a proxy in front of it keeps the stream back."""

from otel_attrib.analytics.evidence.signal import NOTHING, Finding, Signal, events, rise
from otel_attrib.analytics.evidence.view import View

__all__ = ["SIGNALS"]

READ = ("egress", "outside", "decode_egress", "ingress", "gap")
SERVED = (
    "tokenize",
    "queue",
    "kv_init",
    "prefill",
    "sample",
    "decode_forward",
    "decode_sample",
    "decode_batch_wait",
)


def _tenant(view: View) -> Finding | None:
    if "tenant" not in view.focus:
        return None
    crowd = view.focus["tenant"]
    strength = max(0.0, (crowd - 0.3) / 0.7)
    return (
        Finding(strength, f"the slow requests are tenant {view.focus_on['tenant']}'s")
        if strength > 0
        else NOTHING
    )


def _server_moved(view: View) -> Finding | None:
    part = view.of(*SERVED)
    strength = max(0.0, (part - 0.3) / 0.7)
    return (
        Finding(strength, f"{100 * part:.0f} % of the rise lies in stages of the server")
        if strength > 0
        else NOTHING
    )


SIGNALS = (
    Signal("zero_window", "client", True, "tcp_zero_window", events("tcp_zero_window", 6.0), stages=READ),
    Signal("send_queue", "client", True, "send_queue", rise("send_queue", 0.5), stages=READ),
    Signal("tenant_slice", "client", True, "slice", _tenant, own=False, stages=READ),
    Signal("server_moved", "client", False, "stages", _server_moved, own=False),
)
