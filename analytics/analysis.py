"""From two windows to the report: the whole calculation, as a function of its arguments alone.

decompose (stages, workload) → replay of the queue (the waiting that stages cause, the load) → slices (who
was hit) → evidence (layers) → verdict. `why` calls it on what `fetch` took from the store, the proof on
what the model fleet simulated.

Guarantee: in every report Σ stages + workload + load + stages_unexplained and
Σ layers + workload + load + unexplained both equal the change within 1e-6 ms; `InexactError` is raised
instead of a report that misses it. Same input, same report.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from otel_attrib.analytics import harrell_davis
from otel_attrib.analytics.advice import more_rows, wider_windows
from otel_attrib.analytics.blocks import Counts, block_ids
from otel_attrib.analytics.books import SUM_TOLERANCE_MS, Books
from otel_attrib.analytics.causes import TAIL_ROWS
from otel_attrib.analytics.change.decompose import Change, decompose
from otel_attrib.analytics.change.whole import over_whole
from otel_attrib.analytics.counted import weighed_counts
from otel_attrib.analytics.evidence import Layers, judge_layers
from otel_attrib.analytics.evidence.weights import load_weights
from otel_attrib.analytics.exemplars import exemplars_of
from otel_attrib.analytics.findings import Evidence, LayerLine, SliceLine
from otel_attrib.analytics.folded import fold_pair
from otel_attrib.analytics.intervals import Estimate
from otel_attrib.analytics.metric import OUTSIDE, Metric
from otel_attrib.analytics.notes import changed_coverage, means_of, never_observed, note_all, note_new_work
from otel_attrib.analytics.period import Period
from otel_attrib.analytics.replay import Replay, replay_queue
from otel_attrib.analytics.report import Report, Side
from otel_attrib.analytics.slices.find import find_slices
from otel_attrib.analytics.slices.found import Slices
from otel_attrib.analytics.verdict import (
    INSUFFICIENT,
    Facts,
    Verdict,
    conclude,
    judge_data,
    kept_above,
    threshold,
)
from otel_attrib.analytics.windows import rfc3339
from otel_attrib.errors import InexactError

__all__ = ["WHY_SIDES", "Naming", "analyse"]


@dataclass(frozen=True, slots=True)
class Naming:
    """What a side is called: in a sentence, and for a side of `diff` by its letter and its selection."""

    called: str
    name: str = ""
    selection: Mapping[str, str] = field(default_factory=dict)


WHY_SIDES = (Naming("the baseline"), Naming("the current window"))


@dataclass(frozen=True)
class _Pair:
    """Both windows with their counts; stages that cannot be compared are folded into `outside`."""

    metric: Metric
    level: float
    baseline: Period
    current: Period
    counts: tuple[Counts, Counts]
    left_out: tuple[str, ...]
    sides: tuple[Naming, Naming]

    @property
    def periods(self) -> tuple[Period, Period]:
        """Return baseline and current."""
        return self.baseline, self.current


@dataclass(frozen=True)
class _Found:
    """What the steps of the calculation gave."""

    change: Change
    certified: bool
    replay: Replay
    slices: Slices
    books: Books
    layers: Layers


def analyse(
    baseline: Period,
    current: Period,
    *,
    metric: Metric,
    level: float = 0.99,
    notes: tuple[str, ...] = (),
    where: Mapping[str, str] | None = None,
    displayed: tuple[float, float] | None = None,
    checks: Mapping[str, Any] | None = None,
    seed: int = 0,
    sides: tuple[Naming, Naming] = WHY_SIDES,
) -> Report:
    """Say why the quantile at `level` changed from `baseline` to `current`.

    `displayed` are the two numbers in ms that users were shown, when others than the windows' own; `notes`
    stand before those of the report, `checks` among its own. `sides` say what the two
    are called.
    """
    pair = _paired(baseline, current, metric, level, sides)
    found = _find(pair, displayed) if pair.baseline.rows.n and pair.current.rows.n else None
    told = (*notes, *note_all(*pair.counts, baseline.window, current.window))
    verdict = _judge(pair, found, dict(where or {}))
    blank = Report(
        verdict=verdict,
        metric=metric,
        level=level,
        baseline=_side(pair, 0, found.change.before.value if found else _alone(pair, 0)),
        current=_side(pair, 1, found.change.after.value if found else _alone(pair, 1)),
        delta=None,
        p_regression=None,
        stages={},
        exemplars=(),
        checks={**_data_checks(pair), **(checks or {})},
        notes=told,
        where=dict(where or {}),
        seed=seed,
        means=means_of(*pair.counts, baseline.window, current.window),
    )
    return _filled(blank, pair, found) if found else blank


def _paired(
    baseline: Period, current: Period, metric: Metric, level: float, sides: tuple[Naming, Naming]
) -> _Pair:
    counts = weighed_counts(baseline, metric, level), weighed_counts(current, metric, level)
    left_out = changed_coverage(*counts) + never_observed(*counts)
    return _Pair(metric, level, *fold_pair(baseline, current, metric), counts, left_out, sides)


def _find(pair: _Pair, displayed: tuple[float, float] | None) -> _Found:
    baseline, current = pair.periods
    change, certified = _change(pair, displayed)
    replay = replay_queue(baseline, current, change, pair.level)
    books = Books(
        metric_name=pair.metric.name,
        delta=change.delta,
        stages=replay.stages,
        workload=replay.workload,
        load=replay.load,
        unexplained=replay.unexplained,
        replay_valid=None if replay.valid and replay.r2 is None else replay.valid,
    )
    slices = find_slices(baseline.rows, current.rows, pair.level)
    layers = judge_layers(books, baseline, current, slices.hit, level=pair.level)
    return _Found(change, certified, replay, slices, books, layers)


def _change(pair: _Pair, displayed: tuple[float, float] | None) -> tuple[Change, bool]:
    """Return the change, and whether every row of the current window was looked at that can matter."""
    baseline, current = pair.periods
    change = decompose(
        baseline.rows,
        current.rows,
        pair.level,
        block_ids(baseline.rows, baseline.window),
        block_ids(current.rows, current.window),
        displayed=displayed or _displayed(pair),
    )
    if current.rows.total <= current.rows.n:
        return change, change.certificate
    upper = current.upper
    whole = over_whole(change, baseline.rows, current.rows, upper, pair.level) if upper else None
    return whole or change, whole is not None


def _displayed(pair: _Pair) -> tuple[float, float] | None:
    """Return both windows' quantiles where one of them is not that of the rows at hand."""
    shown = [period.displayed for period in pair.periods]
    if shown == [None, None]:
        return None
    before, after = (
        harrell_davis.quantile(period.rows.values, pair.level) if ms is None else ms
        for ms, period in zip(shown, pair.periods, strict=True)
    )
    return before, after


def _judge(pair: _Pair, found: _Found | None, where: dict[str, str]) -> Verdict:
    for side, period, counts in zip(pair.sides, pair.periods, pair.counts, strict=True):
        if not counts.requests:
            return Verdict(INSUFFICIENT, _empty(side, period, where))
        refused = judge_data(side.called, counts, pair.level)
        if refused:
            return refused
    if found is None:
        return Verdict(INSUFFICIENT, "a window holds no request")
    return conclude(pair.metric, found.change.delta, found.change.before.value, found.layers, _facts(pair))


def _facts(pair: _Pair) -> Facts:
    return Facts(
        tail_rows=min(kept_above(counts, pair.level) for counts in pair.counts),
        complete=min(counts.complete for counts in pair.counts),
        threshold=load_weights().threshold,
    )


def _empty(side: Naming, period: Period, where: dict[str, str]) -> str:
    asked = " ".join(f"{key}={value}" for key, value in {**where, **side.selection}.items())
    what = f"no request matches {asked}" if asked else "no request is stored"
    return f"{what} in {side.called} ({rfc3339(period.window.start)}…{rfc3339(period.window.end)})"


def _alone(pair: _Pair, which: int) -> float | None:
    """Return the quantile of a window whose other one holds nothing."""
    period = pair.periods[which]
    if period.displayed is not None or not period.rows.n:
        return period.displayed
    return harrell_davis.quantile(period.rows.values, pair.level)


def _side(pair: _Pair, which: int, shown: float | None) -> Side:
    side = pair.sides[which]
    return Side(
        window=pair.periods[which].window,
        n=pair.counts[which].measured,
        ms=shown,
        name=side.name,
        where=dict(side.selection),
    )


def _filled(blank: Report, pair: _Pair, found: _Found) -> Report:
    """Put what was found into a report that holds only the data's own words."""
    books, change, layers = found.books, found.change, found.layers
    stages = _named(books.stages, pair.left_out)
    lines = _layer_lines(layers)
    _check("stages", books, [line.value for line in stages.values()], books.unexplained)
    _check("layers", books, [line.ms for line in lines.values()], layers.unexplained)
    return replace(
        blank,
        delta=change.delta,
        p_regression=change.delta.probability_above(threshold(pair.metric, change.before.value)),
        stages=stages,
        layers=lines,
        workload=books.workload,
        load=books.load,
        unexplained=layers.unexplained,
        stages_unexplained=books.unexplained,
        tail_accounting=_named(change.tail_accounting, pair.left_out),
        slices=_slice_lines(pair, found.slices),
        evidence=tuple(Evidence(e.layer, e.speaks_for, e.counter, e.text) for e in layers.evidence),
        deciding=(*_data_wanted(pair, change), *layers.deciding),
        notes=(*blank.notes, *note_new_work(change.new_workload_share)),
        exemplars=exemplars_of(pair.current.rows, pair.level, change.after.value, stages),
        checks={**blank.checks, **_sum_checks(pair, found)},
    )


def _data_wanted(pair: _Pair, change: Change) -> tuple[str, ...]:
    limit = threshold(pair.metric, change.before.value)
    n = min(round(counts.measured / counts.each) for counts in pair.counts)
    return (*more_rows(n, pair.level, TAIL_ROWS), *wider_windows(change.delta, limit))


def _layer_lines(layers: Layers) -> dict[str, LayerLine]:
    return {
        name: LayerLine(line.ms, line.share, line.p, line.ci, line.parts)
        for name, line in layers.lines.items()
    }


def _named(stages: Mapping[str, Estimate], left_out: tuple[str, ...]) -> dict[str, Estimate]:
    """Return the stages without those that nobody observed, whose share is nought."""
    return {name: line for name, line in stages.items() if name not in left_out or line.value}


def _check(what: str, books: Books, lines: list[float], unexplained: Estimate) -> None:
    rest = books.workload.value + books.load.value + unexplained.value
    error = abs(sum(lines) + rest - books.delta.value)
    if not error <= SUM_TOLERANCE_MS:
        raise InexactError(what, error)


def _slice_lines(pair: _Pair, slices: Slices) -> tuple[SliceLine, ...]:
    """Return the slices with their requests counted up to the whole window's."""
    rows = pair.current.rows
    factor = rows.total / max(1, rows.n)
    return tuple(
        SliceLine(found.where, round(found.requests * factor), found.share_of_excess)
        for found in slices.slices
    )


def _data_checks(pair: _Pair) -> dict[str, Any]:
    names = ("baseline", "current")
    measured = [counts.measured for counts in pair.counts]
    return {
        "sum_error_ms": 0.0,
        "telemetry_complete": round(min(counts.complete for counts in pair.counts), 6),
        "n": dict(zip(names, measured, strict=True)),
        "rows_above": {name: kept_above(c, pair.level) for name, c in zip(names, pair.counts, strict=True)},
        "blocks": {name: int(c.sizes.size) for name, c in zip(names, pair.counts, strict=True)},
        "missing_stages": _missing(*pair.counts),
        **_sampled_away(pair),
    }


def _sampled_away(pair: _Pair) -> dict[str, Any]:
    """Return the share of each window's requests that is not stored, where any is not."""
    shares = {
        name: round(1 - c.kept, 6) for name, c in zip(("baseline", "current"), pair.counts, strict=True)
    }
    return {"sampled_away": shares} if any(shares.values()) else {}


def _missing(baseline: Counts, current: Counts) -> dict[str, dict[str, float]]:
    """Return the share of the requests that lack each stage, where any does."""
    if not (baseline.measured and current.measured):
        return {}
    pairs = {stage: (share, current.missing[stage]) for stage, share in baseline.missing.items()}
    return {
        stage: {"baseline": round(old, 6), "current": round(new, 6)}
        for stage, (old, new) in pairs.items()
        if old or new
    }


def _ways(pair: _Pair, certified: bool) -> dict[str, str]:
    """Say which rows of each window the lines of the change are of."""
    upper = pair.current.upper
    ways = {"baseline": pair.baseline.way, "current": pair.current.way}
    if certified and upper:
        return {**ways, "current": f"the {upper.rows.n:,} of {upper.rows.total:,} rows that can matter"}
    return ways


def _sum_checks(pair: _Pair, found: _Found) -> dict[str, Any]:
    change, replay = found.change, found.replay
    return {
        "sum_error_ms": round(found.books.sum_error_ms, 12),
        "certificate": found.certified,
        "decomposition": _ways(pair, found.certified),
        "size_fit": {
            model: {stage: round(r2, 6) for stage, r2 in fit.items() if stage != OUTSIDE}
            for model, fit in change.fit.items()
        },
        "new_workload": round(change.new_workload_share, 6),
        "replay": replay.reason,
        "replay_r2": None if replay.r2 is None else round(replay.r2, 6),
        "replay_p99_error": None if replay.p99_error is None else round(replay.p99_error, 6),
        "slice_p": [round(found_slice.p, 6) for found_slice in found.slices.slices],
        "global": found.slices.global_,
        "missing_sensors": {layer: list(keys) for layer, keys in found.layers.missing_sensors.items()},
        "refused_readings": found.layers.refused,
        "coverage": round(found.layers.coverage, 6),
        "clock_uncertainty_us": found.layers.clock_uncertainty_us,
    }
