"""What PCIe and NVLink have in common: time per byte, shares of the steps, and traffic of others.

The engine's own transfers (`slatag.engine.*`) tell a slow link from a busy engine: time per byte up is the
link's fault or a neighbour's, bytes up at the same time per byte is the engine's own doing. Link traffic
beyond the engine's own bytes is a neighbour's.
"""

from collections.abc import Callable

from otel_attrib.analytics.evidence.signal import NOTHING, Finding, saturate
from otel_attrib.analytics.evidence.view import View
from otel_attrib.analytics.wording import digits

__all__ = [
    "Measure",
    "more_bytes",
    "neighbour",
    "per_byte",
    "slower_per_byte",
    "steady_per_byte",
    "step_share",
]

STEADY = 0.05
FEW = 0.1
"""Of so small a part of the bytes before, what each copy takes to start is most of its time."""
Measure = Callable[[View], Finding | None]
"""What a signal does with a view."""


def per_byte(view: View, what: str) -> tuple[float, float] | None:
    """Return (time per byte now over before, trust), None without both counters or with hardly a byte."""
    time, size = view.contrasts.get(f"{what}_time"), view.contrasts.get(f"{what}_bytes")
    if time is None or size is None or time.before <= 0 or size.after <= FEW * size.before:
        return None
    ratio = (time.after / size.after) / (time.before / size.before)
    return ratio, 1.0 if time.paired else 0.75


def slower_per_byte(what: str, words: str) -> Measure:
    """Return a measure of how much longer a byte takes."""

    def measure(view: View) -> Finding | None:
        found = per_byte(view, what)
        if found is None:
            return None
        ratio, trust = found
        strength = saturate(ratio - 1 - STEADY, 0.3) * trust
        text = f"{words} take {digits(ratio)} times as long per byte on {view.hit.name()}"
        return Finding(strength, text) if strength > 0 else NOTHING

    return measure


def steady_per_byte(what: str, words: str) -> Measure:
    """Return a measure of a byte taking as long as before."""

    def measure(view: View) -> Finding | None:
        found = per_byte(view, what)
        if found is None:
            return None
        off = abs(found[0] - 1)
        return (
            Finding(1 - off / (2 * STEADY), f"{words} take as long per byte as before")
            if off < 2 * STEADY
            else NOTHING
        )

    return measure


def more_bytes(what: str, words: str) -> Measure:
    """Return a measure of the engine itself moving more at the same time per byte."""

    def measure(view: View) -> Finding | None:
        found, size = per_byte(view, what), view.contrasts.get(f"{what}_bytes")
        if found is None or size is None:
            return None
        steady = max(0.0, 1 - abs(found[0] - 1) / (4 * STEADY))
        strength = saturate(size.relative - 0.1, 0.5) * size.trust * steady
        text = f"The engine's own {words} moved {100 * size.relative:+.0f} % bytes at the same speed"
        return Finding(strength, text) if strength > 0 else NOTHING

    return measure


def step_share(column: str, words: str) -> Measure:
    """Return a measure of how much of the steps' lengthening at equal work lies in one column."""

    def measure(view: View) -> Finding | None:
        best: Finding | None = None
        for kind in ("prefill", "decode"):
            part, whole = view.steps.get((kind, column)), view.steps.get((kind, "duration_us"))
            if part is None or whole is None:
                continue
            best = best or NOTHING
            if whole.change <= 0 or whole.relative < 0.02:
                continue
            share = min(1.0, max(0.0, part.change / whole.change)) * saturate(whole.relative, 0.05)
            if share > best.strength:
                percent = min(100.0, 100 * part.change / whole.change)
                text = f"{percent:.0f} % of what {kind} steps take longer at equal work lies in {words}"
                best = Finding(share, text)
        return best

    return measure


def neighbour(links: tuple[str, ...], own: str, half: float, words: str) -> Measure:
    """Return a measure of link traffic beyond the engine's own; half strength at `half` bytes a second."""

    def measure(view: View) -> Finding | None:
        found = [view.contrasts[key] for key in links if key in view.contrasts]
        mine = view.contrasts.get(own)
        if not found or mine is None:
            return None
        beyond = sum(contrast.change for contrast in found) - max(0.0, mine.change)
        trust = max(contrast.trust for contrast in found)
        strength = saturate(beyond - 0.1 * half, half) * trust
        text = (
            f"{words} carries {digits(beyond / 1e9)} GB/s beyond what the engine moves on {view.hit.name()}"
        )
        return Finding(strength, text) if strength > 0 else NOTHING

    return measure
