"""First use: kernels and graphs that are compiled when a version serves its first requests.

It looks like a noisy neighbour and is none: nothing is at fault that these layers name.
"""

from otel_attrib.analytics.evidence.signal import NOTHING, Finding, Signal
from otel_attrib.analytics.evidence.view import View

__all__ = ["SIGNALS"]


def _first_use(view: View) -> Finding | None:
    strength = max(0.0, (view.start_up - 0.3) / 0.7)
    text = "the slow requests crowd in the first minute after a start: first-use compilation"
    return Finding(strength, text) if strength > 0 else NOTHING


SIGNALS = (Signal("first_use", "unexplained", True, "requests.version", _first_use, own=False),)
