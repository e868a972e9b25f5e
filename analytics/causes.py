"""When a layer may be named as the cause: every condition, and the words for one that fails.

A cause needs enough of the change (lower bound of its share), little left unexplained, a calibrated
probability above the threshold that was set so that at most 5 % of the answers are wrong, a counter of its
own (or the replay) that speaks for it, none that speaks against it, 50 rows above the quantile on both
sides, and clocks that agree to a quarter of the smallest stage it is blamed for. Of two layers the sum of
their probabilities must reach the threshold t, and each one's 0.8·t: two that are equally to blame have
little more than half each, and one well below it is a guess beside a cause.
"""

from dataclasses import dataclass

from otel_attrib.analytics.evidence.lines import Evidence, Layers
from otel_attrib.analytics.wording import count, digits, layer_title

__all__ = ["AGAINST", "TAIL_ROWS", "Facts", "nearest", "objections", "set_of"]

SHARE_LOW = 0.4
UNEXPLAINED = 0.35
SET_SHARE = 0.25
SET_TOGETHER = 0.65
SET_PROBABLE = 0.8  # of the threshold, for each layer of a set
TAIL_ROWS = 50
COMPLETE = 0.90
SPEAKS = 0.3
AGAINST = 0.5
CLOCK_PART = 0.25
NOTHING = 0.05  # a share of the rise that is not worth naming its layer for


@dataclass(frozen=True, slots=True)
class Facts:
    """What beside the layers decides: rows above the quantile, telemetry's completeness, the threshold t."""

    tail_rows: float
    complete: float
    threshold: float


def objections(layers: Layers, names: tuple[str, ...], facts: Facts) -> tuple[str, ...]:
    """Return why these layers may not be named as causes, each in words; empty when they may."""
    shared = len(names) > 1
    found = [
        *_data(layers, names, facts),
        *([] if shared else _share(layers, names[0])),
        *_rest(layers),
        *_probable(layers, names, facts.threshold),
    ]
    for name in names:
        found += _counters(layers, name)
    return tuple(found)


def nearest(layers: Layers, facts: Facts) -> str:
    """Return why the nearest layer is not named: the largest, or if none holds any the likeliest."""
    top = layers.ranked[0]
    unexplained = _rest(layers)
    if layers.lines[top].share >= NOTHING or not unexplained:
        return objections(layers, (top,), facts)[0]
    likeliest = max(sorted(layers.lines), key=lambda name: layers.lines[name].p)
    lacking = _counters(layers, likeliest)
    told = f"{layer_title(likeliest)} is likeliest, p = {layers.lines[likeliest].p:.2f}"
    return "; ".join([unexplained[0], ", but ".join([told, *lacking[:1]])])


def set_of(layers: Layers) -> tuple[str, ...]:
    """Return the two layers that share the change, or nothing: each ≥ 25 %, together ≥ 65 %."""
    first, second = layers.ranked[:2]
    shares = [layers.lines[name].share for name in (first, second)]
    return (first, second) if min(shares) >= SET_SHARE and sum(shares) >= SET_TOGETHER else ()


def _data(layers: Layers, names: tuple[str, ...], facts: Facts) -> list[str]:
    out = []
    if facts.tail_rows < TAIL_ROWS:
        out.append(
            f"{count(facts.tail_rows)} rows lie above the quantile; a cause needs {TAIL_ROWS} on each side"
        )
    if facts.complete < COMPLETE:
        out.append(f"telemetry is {100 * facts.complete:.0f} % complete; 90 % are needed")
    claim = min((layers.claims.get(name, 0.0) for name in names), default=0.0)
    clock = layers.clock_uncertainty_us
    if clock is not None and clock / 1000 >= CLOCK_PART * claim:
        out.append(
            f"clocks agree to {digits(clock / 1000)} ms only, too coarse for a stage of {digits(claim)} ms"
        )
    return out


def _share(layers: Layers, name: str) -> list[str]:
    line = layers.lines[name]
    if line.share_low >= SHARE_LOW:
        return []
    held = f"{layer_title(name)} holds {100 * line.share:.0f} % of it"
    return [f"{held}, perhaps no more than {_low(line.share_low)}"]


def _low(share: float) -> str:
    return f"{100 * max(0.0, share):.0f} %"


def _rest(layers: Layers) -> list[str]:
    share = layers.unexplained_share
    return [] if share <= UNEXPLAINED else [f"{100 * share:.0f} % of it stays unexplained"]


def _probable(layers: Layers, names: tuple[str, ...], threshold: float) -> list[str]:
    p = sum(layers.lines[name].p for name in names)
    words = " and ".join(map(layer_title, names))
    if p < threshold:
        return [f"{words} is the cause with p = {p:.2f}; {threshold:.2f} is needed"]
    least = SET_PROBABLE * threshold if len(names) > 1 else threshold
    return [
        f"{layer_title(name)} is a cause with p = {layers.lines[name].p:.2f}; {least:.2f} is needed of each"
        for name in names
        if layers.lines[name].p < least
    ]


def _counters(layers: Layers, name: str) -> list[str]:
    out = []
    if not any(e.own and e.strength >= SPEAKS for e in layers.speaking(name, True)):
        out.append(f"no counter of {layer_title(name)} itself speaks for it")
    against = [e for e in layers.speaking(name, False) if e.own and e.strength >= AGAINST]
    out += [f"against {layer_title(name)}: {e.text}" for e in against if _meant(e, layers)]
    return out


def _meant(evidence: Evidence, layers: Layers) -> bool:
    """Whether evidence against a part of a layer (`gpu.compute`) meets the part that is blamed."""
    parts = layers.lines[evidence.layer].parts
    return not parts or evidence.part == max(sorted(parts), key=lambda part: parts[part])
