"""Models and tenants: who is served how well, and who makes the load."""

from grafana_foundation_sdk.builders import dashboard

from otel_attrib.dashboards import bounds
from otel_attrib.dashboards.config import PAGE_URL
from otel_attrib.dashboards.fleet import groups
from otel_attrib.dashboards.frame import Part, framed
from otel_attrib.dashboards.latency import METRICS, latency, slowest
from otel_attrib.dashboards.panels import AnyPanel, Said, lines, stacked
from otel_attrib.dashboards.target import Target

__all__ = ["tenants"]


def tenants(page: str = PAGE_URL) -> dashboard.Dashboard:
    """The dashboard as a builder."""
    parts: list[Part] = [
        ("Per model", [groups("model", "Models"), *_of("model"), _share("model", "requests", "Requests")]),
        (
            "Per tenant",
            [groups("tenant", "Tenants"), *_of("tenant"), _share("tenant", "requests", "Requests")],
        ),
        ("Who makes the load", [_share("tenant", "prompt_tokens", "Prompt tokens"), _output()]),
        ("Classes and versions", [groups("sla_class", "SLA classes", "half"), _versions()]),
        ("Requests of the chosen", [latency("ttft"), latency("tpot"), slowest()]),
    ]
    about = "Who is served how well, and who makes the load. Choose models and tenants above."
    return framed("tenants", "LLM serving: models and tenants", about, parts, page)


def _of(column: str) -> list[AnyPanel]:
    return [_p99(column, "ttft"), _p99(column, "tpot"), _p99(column, "e2e")]


def _p99(column: str, metric: str) -> AnyPanel:
    name, meaning = METRICS[metric]
    said = Said(
        f"P99 for each {column}, of the ten with the most requests. {meaning}.",
        "milliseconds",
        bounds.SKETCHED,
    )
    query = Target("group_lines", column=column, amount=f"quantileDDMerge(0.01, 0.99)({metric}) / 1000")
    title = f"{name}, P99 by {column}"
    return lines(title, said, [query], "ms", display="${__field.labels.name}")


def _share(column: str, amount: str, what: str) -> AnyPanel:
    said = Said(
        f"{what} of each {column}, of the ten with the most requests, by when the request arrived",
        f"{what.lower()} a second",
        bounds.COUNTED,
    )
    query = Target("group_lines", column=column, amount=f"sum({amount}) / $__interval_s")
    unit = "reqps" if amount == "requests" else "short"
    return stacked(lines(f"{what} by {column}", said, [query], unit, display="${__field.labels.name}"))


def _output() -> AnyPanel:
    return _share("tenant", "output_tokens", "Output tokens")


def _versions() -> AnyPanel:
    return groups("version", "Versions", "half")
