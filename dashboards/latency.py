"""The panels of latency that several dashboards show: quantiles with their dots, verdicts, the slowest."""

from typing import Final

from grafana_foundation_sdk.builders import timeseries

from otel_attrib.dashboards import bounds
from otel_attrib.dashboards.links import report_links, trace_links
from otel_attrib.dashboards.palette import COLORS, QUANTILE_COLORS
from otel_attrib.dashboards.panels import AnyPanel, Said, colored, dots, field, lines, listing
from otel_attrib.dashboards.target import Target

__all__ = ["METRICS", "latency", "slowest", "verdicts"]

METRICS: Final = {
    "ttft": ("TTFT", "Time from a request's arrival to the first write of its first token"),
    "tpot": ("TPOT", "Mean time per output token after the first: (last − first token) / (tokens − 1)"),
    "tbt": ("TBT", "Single gaps between successive tokens, those of all requests together"),
    "e2e": ("E2E", "Time from a request's arrival to the last byte of its answer"),
}
"""Metric → its name and definition."""


def latency(metric: str, span: str = "half") -> timeseries.Panel:
    """P50, P95 and P99, and for each interval the request that stands at the P99."""
    name, meaning = METRICS[metric]
    title, queries = f"{name}: P50, P95, P99", [Target("quantiles", metric=metric)]
    if metric == "tbt":  # a gap is no request: there is nothing to open
        said = Said(f"{meaning}.", "milliseconds", bounds.SKETCHED.replace("1 %", "2 %"))
        return colored(lines(title, said, queries, "ms", span), QUANTILE_COLORS)
    said = Said(
        f"{meaning}. A dot is the request at the P99 of its interval: it opens with its waterfall, or "
        "with the "
        "evidence on the page.",
        "milliseconds",
        bounds.SKETCHED,
    )
    queries.append(Target("p99_dots", "table", "B", metric=metric))
    panel = colored(lines(title, said, queries, "ms", span), QUANTILE_COLORS)
    return dots(colored(panel, {"at_p99": COLORS["orange"]}), "at_p99", trace_links())


def verdicts() -> AnyPanel:
    """Incidents with their verdicts."""
    said = Said(
        "Incidents that `otel-attrib watch` judged, the latest state of each. An incident opens its "
        "whole report.",
        "milliseconds that the metric's quantile rose by (delta)",
        "the report gives an interval for every line; a layer is named only with enough evidence",
    )
    panel = listing("Verdicts", said, Target("verdicts", "table"), height=6)
    return panel.override_by_name("incident", [report_links()])


def slowest() -> AnyPanel:
    """The slowest requests, each a link."""
    said = Said(
        "The twenty requests whose first token came last. A trace id opens the request, here or on the page.",
        "milliseconds and tokens",
        bounds.ONE_REQUEST,
    )
    panel = listing("Slowest first tokens", said, Target("slowest", "table"), height=10)
    return panel.override_by_name("trace_id", [trace_links(), field("custom.width", 290)])
