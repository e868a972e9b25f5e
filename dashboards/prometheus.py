"""For sites that have Prometheus alone: latencies and counters of /metrics, without the ClickHouse store."""

from typing import Final

from grafana_foundation_sdk.builders import dashboard, heatmap, prometheus
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from otel_attrib.analytics.exposition.bounds import HISTOGRAMS
from otel_attrib.dashboards.config import GRIDS, PAGE_URL
from otel_attrib.dashboards.frame import Part, framed
from otel_attrib.dashboards.latency import METRICS
from otel_attrib.dashboards.own_metrics import panels as own_panels
from otel_attrib.dashboards.palette import BAD, COLORS, QUANTILE_COLORS
from otel_attrib.dashboards.panels import AnyPanel, Said, colored, lines, source, stacked
from otel_attrib.dashboards.target import promql
from otel_attrib.dashboards.variables import choice

__all__ = ["prometheus_only"]

_CHOSEN: Final = 'service_name=~"$service",gen_ai_request_model=~"$model"'
_LABELS: Final = {
    "service": ("Service", "service_name"),
    "model": ("Model", "gen_ai_request_model"),
}
_LOOK: Final = (
    "exact: rows are counted, at the service's last look; shown where `alerts` is on and `slo` is set"
)
_BUCKETS: Final = (
    "linear within the histogram's bucket (OpenTelemetry's bounds, and those of objectives); the store's own "
    "dashboards are within 1 %"
)


def prometheus_only(page: str = PAGE_URL) -> dashboard.Dashboard:
    """The dashboard as a builder; its dots are exemplars, which scrapes of OpenMetrics bring."""
    parts: list[Part] = [
        ("Latency", [_quantiles(metric) for metric in METRICS]),
        ("Traffic", [_requests(), _failed(), _heat_map(), _by_model()]),
        ("Objectives and incidents", [_attained(), _budget(), _burn(), _incidents()]),
        ("The service: receiver, spool, writer", own_panels()),
    ]
    about = (
        "Latencies and the service's own counters from a Prometheus that scrapes /metrics; no ClickHouse "
        "needed."
    )
    own = [_choice(name, label, column) for name, (label, column) in _LABELS.items()]
    return framed(
        "prometheus",
        "LLM serving: Prometheus only",
        about,
        parts,
        page,
        own,
        clickhouse=False,
        prometheus=True,
    )


def _choice(name: str, label: str, column: str) -> dashboard.QueryVariable:
    query = f"label_values(otel_attrib_requests_total, {column})"
    return choice(name, label, query, prometheus=True).all_value(".*")


def _quantile(level: float, metric: str, by: str = "le") -> str:
    name = HISTOGRAMS[metric].name
    return f"histogram_quantile({level}, sum by ({by}) (rate({name}_bucket{{{_CHOSEN}}}[$__rate_interval])))"


def _quantiles(metric: str) -> AnyPanel:
    name, meaning = METRICS[metric]
    said = Said(
        f"{meaning} (`{HISTOGRAMS[metric].name}`). A dot is an exemplar: it opens its trace",
        "seconds",
        _BUCKETS,
    )
    levels = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    queries = [
        promql(_quantile(level, metric), label, ref_id).exemplar(label == "p99" and metric != "tbt")
        for ref_id, (label, level) in zip("ABC", levels.items(), strict=True)
    ]
    return colored(lines(f"{name}: P50, P95, P99", said, queries, "s", prometheus=True), QUANTILE_COLORS)


def _requests() -> AnyPanel:
    said = Said("Requests by what came of them", "requests a second", "exact between scrapes")
    rate = f"sum by (slatag_status) (rate(otel_attrib_requests_total{{{_CHOSEN}}}[$__rate_interval]))"
    panel = lines("Requests by status", said, [promql(rate, "{{slatag_status}}")], "reqps", prometheus=True)
    colors = {"ok": COLORS["blue"], "error": BAD, "timeout": COLORS["orange"], "aborted": COLORS["grey"]}
    return colored(stacked(panel), colors)


def _failed() -> AnyPanel:
    said = Said(
        "Share of requests that ended in an error or a timeout", "share of requests", "exact between scrapes"
    )
    bad = f'{{{_CHOSEN},slatag_status=~"error|timeout"}}'
    every = f"sum(rate(otel_attrib_requests_total{{{_CHOSEN}}}[$__rate_interval]))"
    share = f"(sum(rate(otel_attrib_requests_total{bad}[$__rate_interval])) or 0 * {every}) / {every}"
    panel = lines("Failed", said, [promql(share, "failed")], "percentunit", prometheus=True)
    return colored(panel, {"failed": BAD})


def _by_model() -> AnyPanel:
    said = Said("P99 of TTFT for each model", "seconds", _BUCKETS)
    query = promql(_quantile(0.99, "ttft", "le, gen_ai_request_model"), "{{gen_ai_request_model}}")
    return lines("TTFT, P99 by model", said, [query], "s", prometheus=True)


def _attained() -> AnyPanel:
    said = Said(
        "Share of good requests of each objective over its own window", "share of judged requests", _LOOK
    )
    query = promql("max by (slo) (otel_attrib_slo_attained)", "{{slo}}")
    return lines("Attainment by objective", said, [query], "percentunit", prometheus=True)


def _budget() -> AnyPanel:
    said = Said(
        "What is left of each objective's budget; below 0 it is overspent", "share of the budget", _LOOK
    )
    query = promql("max by (slo) (otel_attrib_slo_budget_left)", "{{slo}}")
    return lines("Budget left", said, [query], "percentunit", prometheus=True)


def _burn() -> AnyPanel:
    said = Said(
        "How fast the budget burns, for each objective, limit and window of its burn alerts: share "
        "of bad requests "
        "over the share that is allowed",
        "multiples",
        _LOOK,
    )
    query = promql("max by (slo, limit, window) (otel_attrib_slo_burn_rate)", "{{slo}} {{limit}} {{window}}")
    return lines("Burn rate by objective", said, [query], "short", prometheus=True)


def _incidents() -> AnyPanel:
    said = Said(
        "Incidents that are open, with their verdict and layer; none, and there is no line",
        "incidents",
        "as old as the service's last look (`alert_interval`)",
    )
    by = "service_name, metric, slo, verdict, layer"
    legend = "{{service_name}} {{metric}}{{slo}}: {{verdict}} {{layer}}"
    query = promql(f"sum by ({by}) (otel_attrib_incident)", legend)
    return lines("Open incidents", said, [query], "short", prometheus=True)


def _heat_map() -> AnyPanel:
    said = Said(
        "How many requests had which TTFT", "requests; seconds at the axis", "the histogram's buckets"
    )
    rate = f"sum by (le) (increase({HISTOGRAMS['ttft'].name}_bucket{{{_CHOSEN}}}[$__rate_interval]))"
    query: prometheus.Dataquery = promql(rate, "{{le}}").format(PromQueryFormat.HEATMAP)
    return (
        heatmap.Panel()
        .title("TTFT heat map")
        .description(said.text())
        .datasource(source(prometheus=True))
        .span(GRIDS["half"])
        .height(8)
        .calculate(False)
        .y_axis(heatmap.YAxisConfig().unit("s"))
        .cell_gap(0)
        .color(heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME).scheme("Cividis").steps(64))
        .with_target(query)
    )
