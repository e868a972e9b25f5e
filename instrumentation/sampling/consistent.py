"""Consistent sampling by the trace id, as OpenTelemetry's probability sampling in the trace state has it.

A trace has 56 random bits R: `rv` of the trace state's `ot` entry, else the last seven bytes of its id. With
a share p it is kept when R ≥ T = (1 − p)·2^56, so a service with a larger share keeps all that one with a
smaller share does. `th` is the T that somebody before has sampled by; one kept trace stands for
2^56 / (2^56 − T).

Source: OpenTelemetry specification, "TraceState: Probability Sampling" (1.44).
"""

import re

__all__ = ["SPACE", "adjusted_count", "randomness", "threshold", "threshold_before"]

SPACE = 1 << 56
_ENTRY = re.compile(r"(?:^|,)[ \t]*ot=([^,]*)")
_HEX = re.compile(r"[0-9a-f]{1,14}")


def threshold(share: float) -> int:
    """Return T for a share of the traces, from 0 (none) to 1 (all)."""
    return round((1 - min(1.0, max(0.0, share))) * SPACE)


def adjusted_count(rejected: int) -> float:
    """Return how many traces one kept at threshold T stands for."""
    return SPACE / (SPACE - rejected)


def randomness(trace_id: int, trace_state: str) -> int:
    """Return the trace's 56 random bits."""
    said = _said(trace_state, "rv")
    return int(said, 16) if len(said) == 14 else trace_id & (SPACE - 1)


def threshold_before(trace_state: str) -> int:
    """Return the T that the trace has been sampled by so far; 0 where nobody says so."""
    said = _said(trace_state, "th")
    return int(said.ljust(14, "0"), 16) if said else 0


def _said(trace_state: str, key: str) -> str:
    entry = _ENTRY.search(trace_state)
    pairs = (part.partition(":") for part in entry[1].split(";")) if entry else ()
    return next((value for name, _, value in pairs if name == key and _HEX.fullmatch(value)), "")
