"""Reports made by hand, one for each verdict: their numbers are in the tables that follow from them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from otel_attrib.analytics.findings import Evidence, LayerLine, SliceLine
from otel_attrib.analytics.intervals import Estimate
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.report import Exemplar, Report, Side
from otel_attrib.analytics.verdict import Verdict
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.attributes import LAYERS

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
QUARTER = timedelta(minutes=15)
BEFORE, AFTER = Window(NOON, NOON + QUARTER), Window(NOON + QUARTER, NOON + 2 * QUARTER)
Make = Callable[..., Report]


@pytest.fixture
def make() -> Make:
    """Make a report of one of `CASES`, or of its own numbers."""
    return make_report


@pytest.fixture
def case() -> Make:
    """Make the report of a named case, some of its fields changed."""
    return lambda name, **changed: make_report(**{**CASES[name], **changed})


def estimate(ms: float, deviation: float = 5.0) -> Estimate:
    """A number known to `deviation` from 19 blocks."""
    return Estimate(ms, deviation**2, 18.0)


def line(
    ms: float, delta: float, p: float, reach: float = 20.0, parts: dict[str, float] | None = None
) -> LayerLine:
    """A layer's line."""
    return LayerLine(ms, ms / delta, p, (ms - reach, ms + reach), parts or {})


def make_report(
    word: str,
    reason: str,
    ms: tuple[float | None, float | None],
    layers: dict[str, tuple[float, float]] | None = None,
    workload: float = 0.0,
    load: float = 0.0,
    stages: dict[str, float] | None = None,
    parts: dict[str, float] | None = None,
    metric: str = "ttft",
    deviation: float = 14.0,
    names: tuple[str, str] = ("", ""),
    selections: tuple[dict[str, str], dict[str, str]] = ({}, {}),
    blamed: tuple[str, ...] = (),
    **fields: Any,
) -> Report:
    """Return a report; what no line explains is unexplained, so that each table adds up to the change."""
    before, after = ms
    delta = None if before is None or after is None else after - before
    lines: dict[str, LayerLine] = {}
    if delta is not None and layers is not None:
        given = {layer: layers.get(layer, (0.0, 0.0)) for layer in LAYERS}
        lines = {layer: line(own, delta or 1.0, p) for layer, (own, p) in given.items()}
        if parts:
            lines["gpu"] = line(lines["gpu"].ms, delta or 1.0, lines["gpu"].p, parts=parts)
    known = workload + load
    return Report(
        verdict=Verdict(word, reason, blamed),
        metric=METRICS[metric],
        level=0.99,
        baseline=Side(BEFORE, 20000, before, names[0], selections[0]),
        current=Side(AFTER, 21044, after, names[1], selections[1]),
        delta=None if delta is None else estimate(delta, deviation),
        p_regression=None if delta is None else 0.999,
        stages={name: estimate(own) for name, own in (stages or {}).items()},
        checks={"telemetry_complete": 0.998},
        layers=lines,
        workload=estimate(workload, 3) if lines else None,
        load=estimate(load, 3) if lines else None,
        unexplained=estimate((delta or 0.0) - known - sum(own.ms for own in lines.values()))
        if lines
        else None,
        stages_unexplained=estimate((delta or 0.0) - known - sum((stages or {}).values()))
        if stages
        else None,
        **{"exemplars": (), **fields},
    )


TRACES = (
    Exemplar("4bf92f3577b34da6a3ce929d0e0e4736", 873.1, "prefill", 702.4),
    Exemplar("5b8efff798038103d269b633813fc60c", 869.0, "prefill", 690.2),
)

CASES: dict[str, dict[str, Any]] = {
    "cause": {
        "word": "CAUSE",
        "blamed": ("gpu",),
        "reason": "GPU explains most of the rise, its own counters speak for it and none against",
        "ms": (412.0, 871.3),
        "layers": {"gpu": (398.2, 0.97), "pcie": (6.3, 0.02)},
        "parts": {"gpu.compute": 390.0, "gpu.memory": 8.2},
        "workload": 10.4,
        "load": 21.0,
        "stages": {"queue": 12.1, "prefill": 402.7, "outside": 1.5},
        "slices": (SliceLine({"node": "node3", "gpu_set": "GPU-5"}, 2510, 0.94),),
        "evidence": (
            Evidence(
                "gpu", True, "hw.gpu.throttled", "power cap 62 % of the window, 0 % before and on 7 peers"
            ),
            Evidence("gpu", True, "", "prefill grew as the clock fell"),
            Evidence("pcie", True, "hw.pcie.replays", "9 replays a minute, none before"),
        ),
        "exemplars": TRACES,
        "notes": ("compared with the 15m just before",),
    },
    "cause_set": {
        "word": "CAUSE_SET",
        "blamed": ("cpu", "network"),
        "reason": "two layers explain the rise together",
        "ms": (412.0, 871.0),
        "layers": {"cpu": (210.0, 0.6), "network": (180.0, 0.55), "gpu": (30.0, 0.05)},
        "stages": {"ingress": 190.0, "prefill": 200.0, "outside": 1.0},
        "evidence": (
            Evidence(
                "cpu", True, "process.cpu.off", "engine threads off the core 31 % of the time, 2 % before"
            ),
            Evidence("network", True, "hw.network.retransmits", "40 retransmits/s, 1 before"),
        ),
        "deciding": ("Run-queue latency of node3: no sensor reported it",),
    },
    "mix": {
        "word": "MIX",
        "reason": "98 % of the rise comes from requests of other sizes",
        "ms": (412.0, 871.0),
        "layers": {"gpu": (4.0, 0.02)},
        "workload": 450.0,
        "stages": {"prefill": 4.0, "outside": 1.0},
        "means": {"prompt_tokens": (800.0, 1650.0), "output_tokens": (200.0, 205.0)},
        "notes": ("prompt tokens a request went 800 → 1650",),
    },
    "load": {
        "word": "LOAD",
        "reason": "91 % of the rise is waiting that the same engine would have shown at this rate",
        "ms": (412.0, 871.0),
        "layers": {"scheduler": (12.0, 0.05)},
        "load": 418.0,
        "stages": {"queue": 20.0, "outside": 1.0},
        "means": {"requests_per_s": (22.2, 41.0)},
    },
    "global": {
        "word": "GLOBAL",
        "reason": "the rise is real, and no layer reaches 40 % of it with evidence of its own",
        "ms": (412.0, 871.0),
        "layers": {"gpu": (120.0, 0.4), "cpu": (90.0, 0.3), "network": (-8.0, 0.01)},
        "stages": {"prefill": 300.0, "queue": 90.0, "outside": 20.0},
        "evidence": (
            Evidence("gpu", True, "", "prefill and decode are slower together"),
            Evidence("gpu", False, "hw.gpu.clock", "SM clock as before: 1980 MHz"),
        ),
        "deciding": (
            "A second window after the fault, as long as this one",
            "Host counters of node3 (otel-attrib agent): none were stored, so the host can neither be blamed"
            " nor cleared",
        ),
    },
    "no_regression": {
        "word": "NO_REGRESSION",
        "reason": "a rise above 20.6 ms is not shown with 95 % confidence, nor likely",
        "ms": (412.0, 418.1),
        "layers": {},
        "stages": {"prefill": 4.0, "outside": 0.5},
    },
    "fell": {
        "word": "NO_REGRESSION",
        "reason": "a rise above 20.6 ms is not shown with 95 % confidence, nor likely",
        "ms": (412.0, 300.0),
        "layers": {"gpu": (-110.0, 0.0)},
        "stages": {"prefill": -110.0, "outside": 0.5},
    },
    "insufficient": {
        "word": "INSUFFICIENT",
        "reason": "the interval reaches +890 ms: even a doubling would not have shown",
        "ms": (412.0, 771.0),
        "deviation": 250.0,
        "layers": {"gpu": (120.0, 0.3)},
        "stages": {"prefill": 300.0, "outside": 2.0},
        "deciding": ("A longer window: 3 h at this rate of requests",),
    },
    "likely": {
        "word": "INSUFFICIENT",
        "reason": "a rise of +139 ms is likely but not sure: it is above 18.7 ms with p = 0.92, and 0.975 is"
        " needed",
        "ms": (373.0, 512.0),
        "deviation": 81.0,
        "layers": {"gpu": (60.0, 0.3)},
        "stages": {"prefill": 100.0, "outside": 2.0},
        "deciding": ("windows 2.1 times as long would show the rise, if it stays as it is",),
    },
    "empty": {
        "word": "INSUFFICIENT",
        "reason": "no request is stored in the baseline (2026-05-01T12:00:00Z…2026-05-01T12:15:00Z)",
        "ms": (None, 412.0),
    },
    "diff": {
        "word": "CAUSE",
        "blamed": ("cpu",),
        "reason": "the host's CPU explains most of the rise, its own counters speak for it and none against",
        "ms": (412.0, 871.0),
        "layers": {"cpu": (420.0, 0.91)},
        "stages": {"tokenize": 430.0, "outside": 1.5},
        "names": ("A", "B"),
        "selections": ({"version": "1.0"}, {"version": "1.1"}),
        "where": {"model": "llama-8b"},
    },
}
