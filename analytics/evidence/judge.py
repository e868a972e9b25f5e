"""`judge_layers`: the books of a change and what was measured beside it, to ms per layer.

ms of layer l = Σ_k φ_k · π(l | k); what π leaves unexplained joins the books' own, and so does all that
layers without evidence of their own would get. Hence
Σ layers + workload + load + unexplained = delta, asserted. Intervals carry the stages' variances through
this sum (delta method, lines of the books taken as independent); a share is a ratio to delta.
"""

from collections.abc import Mapping
from math import sqrt

import numpy as np

from otel_attrib.analytics.books import SUM_TOLERANCE_MS, Books
from otel_attrib.analytics.columns import Flags, Floats
from otel_attrib.analytics.evidence.layers import SIGNALS
from otel_attrib.analytics.evidence.lines import Evidence, LayerLine, Layers
from otel_attrib.analytics.evidence.model import SPOKEN, Judged, judge_view, layer_of, measure
from otel_attrib.analytics.evidence.sensors import missing_sensors, what_would_decide
from otel_attrib.analytics.evidence.signal import COLUMNS, Finding
from otel_attrib.analytics.evidence.view import View, canonical, look, mirrored
from otel_attrib.analytics.evidence.weights import Weights, load_weights
from otel_attrib.analytics.intervals import Estimate, student_quantile
from otel_attrib.analytics.period import Period
from otel_attrib.schema.attributes import LAYERS

__all__ = ["judge_layers", "layers_of"]

Mix = dict[str, Floats]


def judge_layers(
    books: Books,
    baseline: Period,
    current: Period,
    hit: Flags | None,
    model: Weights | None = None,
    *,
    level: float = 0.99,
) -> Layers:
    """Divide the books' stages over the layers by the evidence of both periods.

    `hit` flags the current rows of the slices found (None: found here). `model` is what `weights.json`
    holds unless given. A change for the better is judged backwards: what was wrong in the baseline.
    """
    if books.delta.value < 0:
        view = look(mirrored(books), current, baseline, None, level)
    else:
        view = look(books, baseline, current, hit, level)
    return layers_of(books, view, model or load_weights())


def layers_of(books: Books, view: View, weights: Weights) -> Layers:
    """Divide the books' stages by what a view shows."""
    findings, missing = measure(view), missing_sensors(view)
    return _assemble(books, view, findings, missing, judge_view(view, findings, missing, weights))


def _assemble(
    books: Books,
    view: View,
    findings: Mapping[str, Finding | None],
    missing: dict[str, tuple[str, ...]],
    judged: Judged,
) -> Layers:
    rows = {name: judged.pi[canonical(books.metric_name, name)] for name in books.stages}
    lines = {layer: _line(books, rows, layer, judged.p) for layer in LAYERS}
    rest = {name: row[COLUMNS.index("unexplained")] for name, row in rows.items()}
    unexplained = _sum(books, rest, {"unexplained": 1.0})
    _check(books, lines, unexplained)
    evidence = _evidence(findings, lines)
    return Layers(
        lines=lines,
        workload=books.workload,
        load=books.load,
        unexplained=unexplained,
        unexplained_share=unexplained.value / books.delta.value if books.delta.value else 0.0,
        evidence=evidence,
        pi={name: _by_layer(row) for name, row in rows.items()},
        missing_sensors=missing,
        deciding=_deciding(books, view, missing, judged, rows),
        coverage=_coverage(view, missing, judged),
        replay_valid=books.replay_valid,
        workload_low=_share(books, {}, {"workload": 1.0})[1],
        load_low=_share(books, {}, {"load": 1.0})[1],
        refused=dict(view.refused),
        clock_uncertainty_us=view.clock_uncertainty_us,
        claims={layer: _smallest_claim(books, rows, layer) for layer in LAYERS},
        slower=view.slower,
    )


def _smallest_claim(books: Books, rows: Mix, layer: str) -> float:
    """Return the ms of the smallest stage that makes up a tenth of what a layer is blamed for (0: none)."""
    mine = [number for number, column in enumerate(COLUMNS) if layer_of(column) == layer]
    blamed = {name: books.stages[name].value * float(row[mine].sum()) for name, row in rows.items()}
    whole = abs(sum(blamed.values()))
    claimed = [abs(books.stages[name].value) for name, ms in blamed.items() if abs(ms) > 0.1 * whole]
    return min(claimed, default=0.0)


def _line(books: Books, rows: Mix, layer: str, p: Floats) -> LayerLine:
    mine = [number for number, column in enumerate(COLUMNS) if layer_of(column) == layer]
    part = {name: float(row[mine].sum()) for name, row in rows.items()}
    share, low = _share(books, part, {})
    parts = {
        COLUMNS[number]: float(sum(books.stages[name].value * row[number] for name, row in rows.items()))
        for number in mine
    }
    return LayerLine(_sum(books, part, {}), share, low, float(p[mine].sum()), parts if len(mine) > 1 else {})


def _others(books: Books) -> dict[str, Estimate]:
    return {"workload": books.workload, "load": books.load, "unexplained": books.unexplained}


def _sum(books: Books, part: Mapping[str, float], other: Mapping[str, float]) -> Estimate:
    """Return Σ part·stage + Σ other·line with its variance."""
    terms = [(weight, books.stages[name]) for name, weight in part.items()]
    terms += [(weight, _others(books)[name]) for name, weight in other.items()]
    value = sum(weight * estimate.value for weight, estimate in terms)
    variance = sum(weight**2 * estimate.variance for weight, estimate in terms)
    return Estimate(value, variance, _freedom(terms))


def _freedom(terms: list[tuple[float, Estimate]]) -> float:
    """Return Welch–Satterthwaite degrees of freedom of a weighted sum."""
    spread = [(weight**2 * e.variance, e.freedom) for weight, e in terms if weight and e.variance]
    if any(freedom < 1 for _, freedom in spread):
        return 0.0
    below = sum(variance**2 / freedom for variance, freedom in spread)
    return sum(variance for variance, _ in spread) ** 2 / below if below else float("inf")


def _share(books: Books, part: Mapping[str, float], other: Mapping[str, float]) -> tuple[float, float]:
    """Return a sum's share of delta and the lower end of the share's 95 % interval."""
    delta = books.delta.value
    if not delta:
        return 0.0, 0.0
    whole = _sum(books, part, other)
    share = whole.value / delta
    lines = [(part.get(name, 0.0) - share, estimate) for name, estimate in books.stages.items()]
    lines += [(other.get(name, 0.0) - share, estimate) for name, estimate in _others(books).items()]
    spread = sqrt(sum(weight**2 * estimate.variance for weight, estimate in lines)) / abs(delta)
    freedom = _freedom(lines)
    if freedom < 1:
        return share, -np.inf
    return share, share - _reach(freedom) * spread if spread else share


def _reach(freedom: float) -> float:
    return student_quantile(0.975, min(freedom, 1e4))


def _check(books: Books, lines: Mapping[str, LayerLine], unexplained: Estimate) -> None:
    found = sum(line.ms for line in lines.values()) + unexplained.value
    error = abs(found + books.workload.value + books.load.value - books.delta.value)
    if not error <= SUM_TOLERANCE_MS * max(1.0, abs(books.delta.value) * 1e-3):
        raise AssertionError(f"the layers miss the change by {error} ms")


def _by_layer(row: Floats) -> dict[str, float]:
    out = dict.fromkeys((*LAYERS, "unexplained"), 0.0)
    for column, share in zip(COLUMNS, row, strict=True):
        out[layer_of(column)] += float(share)
    return out


def _evidence(findings: Mapping[str, Finding | None], lines: Mapping[str, LayerLine]) -> tuple[Evidence, ...]:
    """Return what was found, layers by size, the strongest first, for before against."""
    told = [
        Evidence(
            layer_of(signal.layer),
            signal.speaks_for,
            signal.counter,
            found.text,
            found.strength,
            signal.own,
            signal.name,
            signal.layer,
        )
        for signal in SIGNALS
        if (found := findings[signal.name]) is not None and found.strength >= SPOKEN and found.text
    ]
    size = {layer: lines[layer].ms if layer in lines else 0.0 for layer in (*LAYERS, "unexplained")}
    return tuple(sorted(told, key=lambda e: (-size[e.layer], e.layer, not e.speaks_for, -e.strength, e.name)))


def _deciding(
    books: Books, view: View, missing: Mapping[str, object], judged: Judged, rows: Mix
) -> tuple[str, ...]:
    """Say what would decide: missing sensors of layers that are in question, the most probable first."""
    by_layer = {layer: 0.0 for layer in LAYERS}
    for stage, share in view.share.items():
        for column, part in zip(COLUMNS, judged.suspected[stage], strict=True):
            if column != "unexplained":
                by_layer[layer_of(column)] += share * float(part)
    asked = [layer for layer in sorted(by_layer, key=lambda name: -by_layer[name]) if layer in missing]
    out = [what_would_decide(layer, view) for layer in asked if by_layer[layer] >= 0.05]
    if books.replay_valid is False and view.of("queue") > 0.1:
        want = (
            "a window in which fewer requests wait" if view.steps else "engine steps, recorded by the shim,"
        )
        out.append(f"the queue's replay missed its gate: {want} would decide it")
    return tuple(out)


def _coverage(view: View, missing: Mapping[str, object], judged: Judged) -> float:
    """Return the share of the rise that lies on layers whose sensors were read."""
    seen = 0.0
    for stage, share in view.share.items():
        row = _by_layer(judged.suspected[stage])
        seen += share * sum(
            part for layer, part in row.items() if layer not in missing and layer != "unexplained"
        )
    return seen
