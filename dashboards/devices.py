"""Cards, links and hosts: what the counters say, layer by layer."""

from typing import Final

from grafana_foundation_sdk.builders import dashboard, timeseries

from otel_attrib.dashboards import bounds
from otel_attrib.dashboards.config import PAGE_URL
from otel_attrib.dashboards.frame import Part, framed
from otel_attrib.dashboards.panels import AnyPanel, Said, lines, listing
from otel_attrib.dashboards.target import FRAGMENTS, Target
from otel_attrib.schema.context_counters import EVERY_COUNTER
from otel_attrib.schema.counter_rules import summed
from otel_attrib.schema.counters import Counter

__all__ = ["counter", "devices"]

_BY_KEY: Final = {one.key: one for one in EVERY_COUNTER}
# Unit of the registry → Grafana's, and the factor to it.
_GAUGES: Final = {
    "MHz": ("hertz", "1e6"),
    "Hz": ("hertz", "1"),
    "W": ("watt", "1"),
    "Cel": ("celsius", "1"),
    "1": ("percentunit", "1"),
    "By": ("bytes", "1"),
    "By/s": ("binBps", "1"),
    "s": ("s", "1"),
}
# Seconds a second are a share; a host with many threads has more than one.
_TOTALS: Final = {"s": ("percentunit", "1"), "By": ("binBps", "1")}
_PLAIN: Final = ("short", "1")


def devices(page: str = PAGE_URL) -> dashboard.Dashboard:
    """The dashboard as a builder."""
    parts: list[Part] = [
        ("Cards: clocks and power", _counters("gpu_clock", "gpu_throttled", "gpu_power", "gpu_temperature")),
        (
            "Cards: work",
            _counters("sm_activity", "dram_activity", "gpu_utilization", "gpu_memory_used"),
        ),
        ("PCIe", [*_counters("pcie_receive", "pcie_transmit", "pcie_replays", "copy_bytes"), _links()]),
        (
            "NVLink",
            _counters("nvlink_receive", "nvlink_transmit", "collective_bytes", "nvlink_links"),
        ),
        (
            "Hosts",
            _counters(
                "run_queue_wait",
                "cpu_throttled",
                "cpu_utilization",
                "cpu_clock",
                "tcp_retransmits",
                "tcp_rtt",
            ),
        ),
        ("Errors", [_errors()]),
    ]
    about = (
        "What cards, links and hosts did: the counters that verdicts rest on, before they are joined to "
        "requests."
    )
    return framed("devices", "LLM serving: GPU and links", about, parts, page)


def counter(key: str, places: str = FRAGMENTS["node_filter"], span: str = "half") -> timeseries.Panel:
    """A counter of the registry over time, a line a device: its level, or how fast it grows."""
    found = _BY_KEY[key]
    growing = found.kind == "total"
    unit, scale = (_TOTALS if growing else _GAUGES).get(found.unit, _PLAIN)
    words = {"metric": found.metric, "matching": _matching(found), "places": places, "scale": scale}
    if not growing:
        words["combine"] = "sum" if summed(found) else "avg"
    title = f"{found.meaning[:1].upper()}{found.meaning[1:]}".replace("`", "")
    said = Said(
        f"{title} (`{found.metric}`), a line for each {'device' if found.per_device else 'host'}",
        f"{found.unit} a second" if growing else found.unit,
        bounds.READ,
    )
    query = Target("total" if growing else "gauge", **words)
    return lines(title, said, [query], unit, span, display="${__field.labels.name}")


def _counters(*keys: str) -> list[AnyPanel]:
    return [counter(key) for key in keys]


def _matching(found: Counter) -> str:
    return f"attributes['{found.select[0]}'] = '{found.select[1]}'" if found.select else "1"


def _links() -> AnyPanel:
    said = Said(
        "Width and generation of each card's PCIe link at its lowest beside what is possible, and "
        "its NVLinks. A "
        "resting card lowers its generation by itself; fewer lanes than possible under load are a fault.",
        "lanes, generation, links",
        bounds.READ,
    )
    return listing("Links at their lowest", said, Target("links", "table"))


def _errors() -> AnyPanel:
    said = Said(
        "What devices counted in the range by kind: ECC, XID, PCIe replays, NVLink CRC, …",
        "errors",
        "those between the first and the last reading of the range",
    )
    return listing("Errors counted", said, Target("errors", "table"))
