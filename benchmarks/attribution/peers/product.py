"""The product itself, asked as every peer is: `analyse` over the two windows."""

from typing import Any

from benchmarks.attribution.peers.answer import Answer
from otel_attrib.analytics.analysis import analyse
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.period import Period
from otel_attrib.analytics.report import Report
from otel_attrib.analytics.verdict import threshold

__all__ = ["answer", "read_report"]

NAMES_A_LAYER = ("CAUSE", "CAUSE_SET")
NAMES_NO_LAYER = ("MIX", "LOAD", "NO_REGRESSION", "INSUFFICIENT")


def answer(baseline: Period, current: Period, level: float) -> Answer:
    """Name the top layer where the verdict is CAUSE or CAUSE_SET; its calibrated p is the score."""
    return read_report(analyse(baseline, current, metric=METRICS["ttft"], level=level))


def read_report(report: Report) -> Answer:
    """Return what the proof judges of a report; a layer without a millisecond is not guessed."""
    blamed = report.verdict.layers if report.verdict.word in NAMES_A_LAYER else ()
    largest = max(report.layers, key=lambda name: (report.layers[name].ms, name), default=None)
    named = next(iter(blamed), None)
    top = named or (largest if largest and report.layers[largest].ms > 0 else None)
    return Answer(
        layer=named,
        score=report.layers[top].p if top else 0.0,
        guess=None if report.verdict.word in NAMES_NO_LAYER else top,
        verdict="CAUSE" if named else report.verdict.word,
        layers_ms={name: line.ms for name, line in report.layers.items()} if report.layers else None,
        stages_ms={name: change.value for name, change in report.stages.items()} or None,
        workload_ms=report.workload.value if report.workload else None,
        load_ms=report.load.value if report.load else None,
        delta_ms=report.delta.value if report.delta else None,
        sum_error_ms=max(report.layers_error_ms, report.stages_error_ms),
        where=dict(report.slices[0].where) if report.slices else {},
        detected=_rose(report),
        note=f"{report.verdict.word}: {report.verdict.reason}",
        details=_details(report),
    )


def _rose(report: Report) -> bool:
    """Return whether the lower end of the rise is above what counts as one."""
    if report.delta is None or report.baseline.ms is None:
        return False
    return report.delta.interval()[0] > threshold(report.metric, report.baseline.ms)


def _details(report: Report) -> dict[str, Any]:
    lines = {name: [line.ms, line.share, line.p] for name, line in report.layers.items()}
    said = [[e.layer, e.speaks_for, e.counter] for e in report.evidence]
    named = ("replay_r2", "replay", "missing_sensors", "certificate")
    return {
        "lines": lines,
        "evidence": said,
        "unexplained_ms": report.unexplained.value if report.unexplained else None,
        "deciding": list(report.deciding),
        "checks": {name: report.checks.get(name) for name in named},
    }
