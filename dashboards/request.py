"""One request: its stages as a waterfall, its token gaps, and what its cards and host did meanwhile."""

from typing import Final

from grafana_foundation_sdk.builders import barchart, histogram, trend
from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.models.common import StackingMode, VisibilityMode, VizOrientation

from otel_attrib.dashboards import bounds, variables
from otel_attrib.dashboards.config import GRIDS, PAGE_URL
from otel_attrib.dashboards.devices import counter
from otel_attrib.dashboards.frame import Part, framed
from otel_attrib.dashboards.latency import verdicts
from otel_attrib.dashboards.palette import COLORS, STAGE_COLORS
from otel_attrib.dashboards.panels import (
    AnyPanel,
    Said,
    field,
    figures,
    fixed,
    legend,
    listing,
    source,
    tooltip,
)
from otel_attrib.dashboards.target import FRAGMENTS, Target

__all__ = ["request"]

# The nodes of the request: its own, and those that its set of devices names.
_PLACES: Final = (
    "node IN (SELECT arrayJoin(arrayPushFront(extractAll(gpu_set, '([^:,;+ ]+):'), toString(node))) "
    f"FROM requests WHERE {FRAGMENTS['this_trace']})"
)
_COUNTERS: Final = (
    "gpu_clock",
    "gpu_throttled",
    "sm_activity",
    "dram_activity",
    "pcie_receive",
    "nvlink_receive",
    "run_queue_wait",
    "tcp_rtt",
)
_FIGURES: Final = {
    "ttft": ("TTFT", "ms"),
    "tpot": ("TPOT", "ms"),
    "e2e": ("E2E", "ms"),
    "longest_gap": ("Longest gap", "ms"),
}


def request(page: str = PAGE_URL) -> builders.Dashboard:
    """The dashboard as a builder; the variable `trace` names the request."""
    parts: list[Part] = [
        ("", [_figures(), _facts()]),
        ("Where its time went", [_waterfall(), _gaps(), _gap_sizes()]),
        ("What its cards and host did in its stages", [_evidence()]),
        ("The same counters over time", [counter(key, _PLACES, "third") for key in _COUNTERS]),
        ("Around it", [_spans(), verdicts()]),
    ]
    about = "One request, named by its trace id: stages, token gaps, counters of its devices, spans."
    return framed("request", "LLM serving: one request", about, parts, page, own=[variables.trace()])


def _figures() -> AnyPanel:
    said = Said(
        "TTFT, mean time per later token, time to the last byte, and the longest gap between two tokens",
        "milliseconds",
        bounds.ONE_REQUEST,
    )
    return figures("Its latencies", said, Target("request_figures", "table"), _FIGURES)


def _facts() -> AnyPanel:
    said = Said(
        "The request's row: who asked, what served it, its lengths, what the engine did meanwhile",
        "tokens and counts",
        bounds.ONE_REQUEST,
    )
    return listing("The request", said, Target("request", "table"), height=4)


def _waterfall() -> AnyPanel:
    said = Said(
        "Stages of TTFT one after another, then the decode. `outside` is what no stage explains; a "
        "stage that was "
        "not observed has no bar",
        "milliseconds since arrival",
        f"{bounds.ONE_REQUEST}; the stages add up to TTFT",
    )
    panel = (
        barchart.Panel()
        .title("Waterfall of stages")
        .description(said.text())
        .datasource(source())
        .unit("ms")
        .span(GRIDS["whole"])
        .height(9)
        .x_field("stage")
        .orientation(VizOrientation.HORIZONTAL)
        .stacking(StackingMode.NORMAL)
        .show_value(VisibilityMode.NEVER)
        .bar_width(0.9)
        .group_width(0.9)
        .fill_opacity(90)
        .line_width(0)
        .legend(legend("max"))
        .tooltip(tooltip())
        .with_target(Target("waterfall", "table"))
        .override_by_name("begins", [fixed("transparent"), field("custom.fillOpacity", 0)])
    )
    for name, color in {**STAGE_COLORS, "decode": COLORS["blue"]}.items():
        panel = panel.override_by_name(name, [fixed(color)])
    return panel


def _gaps() -> AnyPanel:
    said = Said(
        "Each gap between two tokens in order; only where the engine's whole series was kept "
        "(`OTEL_ATTRIB_TOKEN_TIMELINE`, or a request that was kept whole)",
        "milliseconds; the number of the token at the axis",
        bounds.ONE_REQUEST,
    )
    return (
        trend.Panel()
        .title("Token gaps in order")
        .description(said.text())
        .datasource(source())
        .unit("ms")
        .span(GRIDS["half"])
        .height(8)
        .x_field("token")
        .axis_soft_min(0)
        .no_value("the series was not kept")
        .legend(legend("max", "mean"))
        .tooltip(tooltip())
        .with_target(Target("token_gaps", "table"))
        .override_by_name("gap", [fixed(COLORS["blue"])])
    )


def _gap_sizes() -> AnyPanel:
    said = Said(
        "How many gaps between tokens were how long",
        "milliseconds; gaps at the axis",
        "each gap within 1 % where only the sketch was kept",
    )
    return (
        histogram.Panel()
        .title("Token gaps by size")
        .description(said.text())
        .datasource(source())
        .unit("ms")
        .span(GRIDS["half"])
        .height(8)
        .fill_opacity(80)
        .with_target(Target("gap_sizes", "table"))
        .override_by_name("gap", [fixed(COLORS["blue"])])
    )


def _evidence() -> AnyPanel:
    said = Said(
        "Each counter of the request's cards and hosts in exactly the whole request, each of its "
        "stages and the "
        "decode: a total's increase, a gauge's mean",
        "as in the column",
        "the value lies between low and high; coverage is the share of the stage that readings stand for",
    )
    return listing("Counters in its stages", said, Target("request_counters", "table"), height=12)


def _spans() -> AnyPanel:
    said = Said("Every span of the trace, also of other services", "milliseconds", bounds.ONE_REQUEST)
    panel = builders.Panel().type("traces").title("Spans of the trace").description(said.text())
    return (
        panel.datasource(source())
        .span(GRIDS["whole"])
        .height(12)
        .with_target(Target("request_spans", "traces"))
    )
