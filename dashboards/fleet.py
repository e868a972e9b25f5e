"""The fleet: is the first token late, for whom, and what fills its tail."""

from typing import Final

from grafana_foundation_sdk.builders import dashboard, heatmap
from grafana_foundation_sdk.models.common import HeatmapCellLayout
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode, HeatmapColorScale

from otel_attrib.dashboards import bounds
from otel_attrib.dashboards.config import GRIDS, PAGE_URL
from otel_attrib.dashboards.frame import Part, framed
from otel_attrib.dashboards.latency import METRICS, latency, slowest, verdicts
from otel_attrib.dashboards.palette import BAD, COLORS, STAGE_COLORS
from otel_attrib.dashboards.panels import AnyPanel, Said, colored, figures, lines, listing, source, stacked
from otel_attrib.dashboards.target import Target

__all__ = ["fleet", "groups", "rate", "tokens"]

# Of the stored bins, a twentieth of a decade each, two a row from 1 ms (10³ µs) to 100 s (10⁸ µs).
_FIRST, _LAST, _WIDTH = 60, 160, 2
_FIGURES: Final = {
    "requests_per_s": ("Requests", "reqps"),
    "failed": ("Failed", "percentunit"),
    "ttft_p50": ("TTFT, P50", "ms"),
    "ttft_p99": ("TTFT, P99", "ms"),
    "tpot_p99": ("TPOT, P99", "ms"),
    "e2e_p99": ("E2E, P99", "ms"),
    "tokens_per_s": ("Output tokens/s", "short"),
}


def fleet(page: str = PAGE_URL) -> dashboard.Dashboard:
    """The dashboard as a builder, so that a site can add its own panels."""
    parts: list[Part] = [
        ("", [_now()]),
        ("Latency", [latency(metric) for metric in METRICS]),
        ("What the tail is made of", [_tail(), _heat_map()]),
        ("Traffic", [rate(), tokens()]),
        ("Where to look", [verdicts(), groups("node", "Nodes"), slowest()]),
    ]
    about = (
        "Is the first token late, for whom, since when, and what fills the tail. A dot leads to its request."
    )
    return framed("fleet", "LLM serving: fleet", about, parts, page)


def rate() -> AnyPanel:
    """Requests and failures a second."""
    said = Said(
        "Requests by when they arrived, and those of them that ended in an error or a timeout",
        "requests a second",
        bounds.COUNTED,
    )
    panel = lines("Requests and failures", said, [Target("rate")], "reqps")
    return colored(panel, {"requests": COLORS["blue"], "failures": BAD})


def tokens() -> AnyPanel:
    """Tokens a second."""
    said = Said(
        "Prompt and output tokens of requests, by when the request arrived", "tokens a second", bounds.COUNTED
    )
    panel = lines("Tokens", said, [Target("tokens")], "short")
    return colored(panel, {"prompt": COLORS["sky"], "output": COLORS["green"]})


def groups(column: str, title: str, span: str = "whole") -> AnyPanel:
    """A row for each value of a dimension, the slowest first."""
    said = Said(
        f"Requests, failures, mean lengths and latencies of the range, a row for each {column}, "
        "slowest first",
        "milliseconds, shares and tokens",
        bounds.SKETCHED,
    )
    return listing(title, said, Target("groups", "table", column=column), span)


def _now() -> AnyPanel:
    said = Said(
        "All requests of the chosen range as one: rates, share that failed, latencies",
        "as written under each number",
        bounds.SKETCHED,
    )
    return figures("The range in figures", said, Target("figures", "table"), _FIGURES)


def _tail() -> AnyPanel:
    said = Said(
        "Mean time in each stage of TTFT of the slowest hundredth of each interval. It says what is "
        "in the tail, "
        "not what caused it: a fault makes others wait in `queue`. `otel-attrib why` names the cause.",
        "milliseconds",
        "exact means; a stage that a request does not report is in `outside`",
    )
    panel = lines("Stages of the slowest hundredth", said, [Target("tail_stages")], "ms")
    return colored(stacked(panel), STAGE_COLORS)


def _heat_map() -> AnyPanel:
    said = Said(
        "How many requests had which TTFT: a row is a tenth of a decade, the last takes all above",
        "requests; milliseconds at the axis",
        "exact counts; a row is 26 % wide",
    )
    color = (
        heatmap.HeatmapColorOptions()
        .mode(HeatmapColorMode.SCHEME)
        .scheme("Cividis")  # even in lightness, and made for people who see no red or no green
        .scale(HeatmapColorScale.EXPONENTIAL)
        .exponent(0.5)
        .steps(64)
        .fill(COLORS["orange"])
        .reverse(False)
    )
    return (
        heatmap.Panel()
        .title("TTFT heat map")
        .description(said.text())
        .datasource(source())
        .span(GRIDS["half"])
        .height(8)
        .interval("1m")
        .calculate(False)
        .rows_frame(heatmap.RowsHeatmapOptions().layout(HeatmapCellLayout.LE))
        .y_axis(heatmap.YAxisConfig().unit("ms"))
        .cell_gap(0)
        .color(color)
        .with_target(Target("heat_map", metric="ttft", columns=_columns()))
    )


def _columns() -> str:
    """A column for each row of the heat map: the bins from one edge up to the next, named by the upper."""
    edges = range(_FIRST, _LAST + 1, _WIDTH)
    found = []
    for upper in edges:
        inside = f"bin < {upper}" if upper == _FIRST else f"bin >= {upper - _WIDTH} AND bin < {upper}"
        if upper == _LAST:
            inside = f"bin >= {upper - _WIDTH}"
        count = f"arraySum((bin, n) -> if({inside}, n, 0), bins.1, bins.2)"
        found.append(f"{count} AS `{10 ** (upper / 20) / 1000:.4g}`")
    return ",\n  ".join(found)
