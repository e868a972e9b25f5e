"""A signal: one thing that speaks for or against a layer, with how strongly and in plain words."""

from collections.abc import Callable
from dataclasses import dataclass

from otel_attrib.analytics.evidence.contrast import Contrast
from otel_attrib.analytics.evidence.view import View
from otel_attrib.analytics.wording import digits
from otel_attrib.schema.counters import counter_named

__all__ = ["COLUMNS", "NOTHING", "Finding", "Signal", "change_text", "events", "rise", "saturate"]

COLUMNS = (
    "scheduler",
    "gpu.compute",
    "gpu.memory",
    "pcie",
    "nvlink",
    "cpu",
    "network",
    "client",
    "unexplained",
)
"""What a stage's change is divided over: the layers, the GPU in two, and what nothing explains."""


@dataclass(frozen=True, slots=True)
class Finding:
    """How strongly a signal speaks, 0…1, and what it saw."""

    strength: float
    text: str = ""


NOTHING = Finding(0.0)
"""The sensor was read and shows nothing."""


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal. `measure` returns None when its sensor is missing.

    `speaks_for` is False where it speaks against. `own` marks the layer's own counters: without one of
    those (or a validated replay) no cause is named. `stages` limits it to stages it can bear on; empty for
    all. `counter` is the key of the counter, or the column, that it reads.
    """

    name: str
    layer: str
    speaks_for: bool
    counter: str
    measure: Callable[[View], Finding | None]
    own: bool = True
    stages: tuple[str, ...] = ()


def saturate(size: float, half: float) -> float:
    """Return size / (size + half) of a size above 0, else 0: half-way at `half`, never above 1."""
    return size / (size + half) if size > 0 else 0.0


def rise(key: str, half: float) -> Callable[[View], Finding | None]:
    """Return a measure of a counter's change for the worse in its own unit, relative for levels of a kind.

    `half` is the change that gives half strength: a share of the level before for gauges in MHz, lanes,
    watts and the like, the counter's unit (a second, for totals) otherwise.
    """
    counter = counter_named(key)
    sign = counter.bad or 1
    relative = counter.kind == "gauge" and counter.unit not in ("1", "s", "Cel")

    def measure(view: View) -> Finding | None:
        contrast = view.contrasts.get(key)
        if contrast is None:
            return None
        size = sign * (contrast.relative if relative else contrast.change)
        strength = saturate(size, half) * contrast.trust
        return Finding(strength, change_text(view, contrast)) if strength > 0 else NOTHING

    return measure


def events(key: str, half_a_minute: float) -> Callable[[View], Finding | None]:
    """Return a measure of a counter of events: half strength at so many more a minute."""
    return rise(key, half_a_minute / 60)


def change_text(view: View, contrast: Contrast) -> str:
    """Write a contrast as `SM clock 1980 → 1410 MHz on node3:GPU-5; peers unchanged`."""
    counter = counter_named(contrast.key)
    before, after, unit = _scaled(contrast)
    peers = _peers(contrast)
    meaning = counter.meaning[0].upper() + counter.meaning[1:]
    place = f" on {contrast.place or view.hit.name()}" if view.hit.groups else ""
    return f"{meaning} {before} → {after}{unit}{place}; {peers}"


def _scaled(contrast: Contrast) -> tuple[str, str, str]:
    counter = counter_named(contrast.key)
    if counter.unit == "1" and counter.most <= 1:
        return digits(100 * contrast.before), digits(100 * contrast.after), " %"
    if counter.unit == "s" and counter.kind == "total":
        return digits(1000 * contrast.before), digits(1000 * contrast.after), " ms a second"
    if counter.kind == "total":
        return digits(60 * contrast.before), digits(60 * contrast.after), " a minute"
    if counter.unit in ("s", "Hz"):
        scale, unit = (1000, " ms") if counter.unit == "s" else (1e-6, " MHz")
        return digits(scale * contrast.before), digits(scale * contrast.after), unit
    plain = {"1": "", "Cel": " °C"}.get(counter.unit, f" {counter.unit}")
    unit = "" if counter.unit.startswith("{") else plain
    return digits(contrast.before), digits(contrast.after), unit


def _peers(contrast: Contrast) -> str:
    if contrast.peers is None:
        return "no peers to compare with"
    moved = contrast.after - contrast.before
    if abs(contrast.peers) < 0.1 * abs(moved):
        return "peers unchanged"
    return f"peers moved by {100 * contrast.peers / moved:.0f} % of that" if moved else "peers moved too"
