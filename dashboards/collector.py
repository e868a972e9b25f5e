"""The collector itself: what arrives, what waits, what is refused, and what the agents cost."""

from typing import Final

from grafana_foundation_sdk.builders import dashboard

from otel_attrib.dashboards import bounds
from otel_attrib.dashboards.config import PAGE_URL
from otel_attrib.dashboards.devices import counter
from otel_attrib.dashboards.frame import Part, framed
from otel_attrib.dashboards.own_metrics import panels as own_panels
from otel_attrib.dashboards.panels import AnyPanel, Said, lines, listing
from otel_attrib.dashboards.target import Target

__all__ = ["collector"]

_NAMED: Final = "${__field.labels.name}"


def collector(page: str = PAGE_URL) -> dashboard.Dashboard:
    """The dashboard as a builder; on the service itself it asks a Prometheus that scrapes /metrics."""
    parts: list[Part] = [
        ("What is in the store", [_arrivals(), _newest()]),
        ("The service: receiver, spool, writer (Prometheus)", own_panels()),
        (
            "The agents",
            [counter("agent_cpu"), _slowest_source(), _answers(), counter("agent_lost"), _sources()],
        ),
        ("Clocks", [counter("clock_uncertainty")]),
    ]
    about = "Does everything arrive, does the writer keep up, and what do the agents cost their nodes."
    return framed("collector", "LLM serving: the collector itself", about, parts, page, prometheus=True)


def _arrivals() -> AnyPanel:
    said = Said("Rows of each table by their own times", "rows a second", "exact")
    return lines("Rows stored", said, [Target("arrivals")], "short")


def _newest() -> AnyPanel:
    said = Said(
        "How old the newest row of each table is at the end of the range, and how many rows the "
        "range has. An age "
        "that grows on one table alone means that its source has stopped.",
        "rows, seconds",
        "exact; ages to the second",
    )
    return listing("Newest rows", said, Target("newest", "table"), "half")


def _slowest_source() -> AnyPanel:
    said = Said("Time of one read of each source of the agents, the slowest node's", "seconds", bounds.READ)
    query = Target("agent_gauge", metric="slatag.agent.source.duration", worst="max")
    return lines("Time of a read, by source", said, [query], "s", display=_NAMED)


def _answers() -> AnyPanel:
    said = Said(
        "1: the last read succeeded on every node; 0: it failed on one or more", "1 or 0", bounds.READ
    )
    query = Target("agent_gauge", metric="slatag.agent.source.success", worst="min")
    return lines("Sources that answer", said, [query], "short", display=_NAMED)


def _sources() -> AnyPanel:
    said = Said(
        "Each source of each agent over the range: does it answer, how often it is read and how long "
        "that took at "
        "most, how many values it gave, and how many were refused or missed",
        "seconds, milliseconds, counts",
        bounds.READ,
    )
    return listing("Sources of the agents", said, Target("agent_sources", "table"))
