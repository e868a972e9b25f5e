"""Every device and host counter that is read as evidence, once: unit, kind, layer and bad direction.

Names are those of the semantic conventions (`hw.*`, `system.*`), then those that OpenLIT's GPU collector uses
for what the conventions lack, then ours. In `samples`: `metric` is the name, `device` the `hw.id`, and the
attribute named here tells apart what shares a name. A *gauge* is a level at its time; a *total* only grows,
and its increase counts. Only the standard library is imported: agents read it in other people's servers.
"""

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["COUNTERS", "Counter", "counter_named"]

Kind = Literal["gauge", "total"]


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter: `bad` is +1 where more speaks for trouble in `layer`, −1 where less does, 0 for context.

    `select` is the attribute and value that tell it apart from others of the same metric. A gauge above
    `most` is no measurement (an idle card was seen reporting 209,713 MB/s over PCIe) and is refused.
    """

    key: str
    metric: str
    unit: str
    kind: Kind
    layer: str
    bad: int
    meaning: str
    select: tuple[str, str] | None = None
    per_device: bool = True
    most: float = float("inf")


def _gpu(
    key: str, metric: str, unit: str, kind: Kind, layer: str, bad: int, meaning: str, **more: object
) -> Counter:
    return Counter(key, metric, unit, kind, layer, bad, meaning, **more)  # type: ignore[arg-type] # fields by name


def _host(
    key: str, metric: str, unit: str, kind: Kind, layer: str, bad: int, meaning: str, **more: object
) -> Counter:
    return _gpu(key, metric, unit, kind, layer, bad, meaning, per_device=False, **more)


_REASON = "hw.gpu.throttle_reasons"
_ERROR = "error.type"
_WAY = "network.io.direction"

COUNTERS: Final = (
    _gpu("gpu_clock", "hw.gpu.clock.graphics", "MHz", "gauge", "gpu", -1, "SM clock", most=5e3),
    _gpu(
        "gpu_throttled",
        "hw.gpu.throttled",
        "1",
        "gauge",
        "gpu",
        1,
        "share of time throttled (any reason)",
        most=1.0,
    ),
    _gpu(
        "gpu_throttle_time", "slatag.gpu.throttle_time", "s", "total", "gpu", 1, "time throttled, cumulative"
    ),
    _gpu("gpu_power", "hw.gpu.power.draw", "W", "gauge", "gpu", 0, "power drawn", most=3e3),
    _gpu("gpu_power_limit", "hw.gpu.power.limit", "W", "gauge", "gpu", -1, "power limit", most=3e3),
    _gpu("gpu_temperature", "hw.temperature", "Cel", "gauge", "gpu", 1, "temperature", most=150.0),
    _gpu(
        "gpu_utilization",
        "hw.gpu.utilization",
        "1",
        "gauge",
        "gpu",
        0,
        "a kernel was running (not work)",
        most=1.0,
    ),
    _gpu(
        "sm_activity",
        "slatag.gpu.sm_activity",
        "1",
        "gauge",
        "gpu",
        0,
        "share of SM cycles with a warp",
        most=1.0,
    ),
    _gpu(
        "dram_activity",
        "slatag.gpu.dram_activity",
        "1",
        "gauge",
        "gpu",
        0,
        "share of HBM cycles used",
        most=1.0,
    ),
    _gpu(
        "ecc_errors",
        "hw.errors",
        "{error}",
        "total",
        "gpu",
        1,
        "uncorrected ECC errors",
        select=(_ERROR, "uncorrected"),
    ),
    _gpu(
        "remapped_rows",
        "hw.errors",
        "{error}",
        "total",
        "gpu",
        1,
        "corrected ECC errors",
        select=(_ERROR, "corrected"),
    ),
    _gpu("xid", "hw.errors", "{error}", "total", "gpu", 1, "XID events", select=(_ERROR, "xid")),
    _gpu(
        "pcie_receive",
        "hw.gpu.pcie.throughput",
        "By/s",
        "gauge",
        "pcie",
        0,
        "PCIe to the card",
        select=(_WAY, "receive"),
        most=1.3e11,
    ),
    _gpu(
        "pcie_transmit",
        "hw.gpu.pcie.throughput",
        "By/s",
        "gauge",
        "pcie",
        0,
        "PCIe from the card",
        select=(_WAY, "transmit"),
        most=1.3e11,
    ),
    _gpu(
        "pcie_replays",
        "hw.errors",
        "{error}",
        "total",
        "pcie",
        1,
        "PCIe replays",
        select=(_ERROR, "pcie_replay"),
    ),
    _gpu(
        "pcie_width",
        "slatag.gpu.pcie.link_width",
        "{lane}",
        "gauge",
        "pcie",
        -1,
        "PCIe lanes in use",
        most=32.0,
    ),
    _gpu(
        "pcie_width_max",
        "slatag.gpu.pcie.link_width.max",
        "{lane}",
        "gauge",
        "pcie",
        0,
        "PCIe lanes possible",
        most=32.0,
    ),
    _gpu(
        "pcie_generation",
        "slatag.gpu.pcie.link_generation",
        "1",
        "gauge",
        "pcie",
        -1,
        "PCIe generation in use",
        most=8.0,
    ),
    _gpu(
        "pcie_generation_max",
        "slatag.gpu.pcie.link_generation.max",
        "1",
        "gauge",
        "pcie",
        0,
        "PCIe generation possible",
        most=8.0,
    ),
    _gpu(
        "nvlink_receive",
        "hw.gpu.interconnect.throughput",
        "By/s",
        "gauge",
        "nvlink",
        0,
        "NVLink to the card",
        select=(_WAY, "receive"),
        most=2e12,
    ),
    _gpu(
        "nvlink_transmit",
        "hw.gpu.interconnect.throughput",
        "By/s",
        "gauge",
        "nvlink",
        0,
        "NVLink from the card",
        select=(_WAY, "transmit"),
        most=2e12,
    ),
    _gpu(
        "nvlink_links",
        "slatag.gpu.nvlink.active_links",
        "{link}",
        "gauge",
        "nvlink",
        -1,
        "NVLinks active",
        most=64.0,
    ),
    _gpu(
        "nvlink_crc",
        "hw.errors",
        "{error}",
        "total",
        "nvlink",
        1,
        "NVLink CRC errors",
        select=(_ERROR, "nvlink_crc"),
    ),
    _gpu(
        "nvlink_replays",
        "hw.errors",
        "{error}",
        "total",
        "nvlink",
        1,
        "NVLink replays",
        select=(_ERROR, "nvlink_replay"),
    ),
    _gpu(
        "nvlink_recoveries",
        "hw.errors",
        "{error}",
        "total",
        "nvlink",
        1,
        "NVLink recoveries",
        select=(_ERROR, "nvlink_recovery"),
    ),
    _gpu(
        "copy_bytes",
        "slatag.engine.copy_bytes",
        "By",
        "total",
        "pcie",
        0,
        "bytes the engine itself copied to and from the card",
    ),
    _gpu(
        "copy_time", "slatag.engine.copy_time", "s", "total", "pcie", 0, "time the engine's own copies took"
    ),
    _gpu(
        "collective_bytes",
        "slatag.engine.collective_bytes",
        "By",
        "total",
        "nvlink",
        0,
        "bytes of the engine's own collectives",
    ),
    _gpu(
        "collective_time",
        "slatag.engine.collective_time",
        "s",
        "total",
        "nvlink",
        0,
        "time the engine's own collectives took",
    ),
    _host(
        "run_queue_wait",
        "slatag.process.run_queue_wait",
        "s",
        "total",
        "cpu",
        1,
        "engine threads runnable, not running",
    ),
    _host("off_cpu", "slatag.process.off_cpu_time", "s", "total", "cpu", 1, "engine threads blocked"),
    _host(
        "cpu_throttled", "slatag.cgroup.cpu.throttled_time", "s", "total", "cpu", 1, "cgroup CPU throttling"
    ),
    _host(
        "cpu_pressure",
        "slatag.pressure.stall_time",
        "s",
        "total",
        "cpu",
        1,
        "some task waited for a CPU (PSI)",
        select=("resource", "cpu"),
    ),
    _host(
        "memory_pressure",
        "slatag.pressure.stall_time",
        "s",
        "total",
        "cpu",
        1,
        "some task waited for memory (PSI)",
        select=("resource", "memory"),
    ),
    _host(
        "cpu_utilization",
        "system.cpu.utilization",
        "1",
        "gauge",
        "cpu",
        1,
        "share of all cores busy",
        most=1.0,
    ),
    _host("cpu_steal", "system.cpu.steal_time", "s", "total", "cpu", 1, "stolen by the hypervisor"),
    _host("cpu_clock", "system.cpu.frequency", "Hz", "gauge", "cpu", -1, "CPU clock", most=1e10),
    _host("gc_time", "slatag.python.gc_time", "s", "total", "cpu", 1, "Python garbage collection"),
    _host("tokenize_cpu", "slatag.tokenizer.cpu_time", "s", "total", "cpu", 1, "CPU time spent tokenising"),
    _host(
        "tcp_retransmits",
        "system.network.retransmits",
        "{segment}",
        "total",
        "network",
        1,
        "TCP segments sent again",
    ),
    _host("tcp_rtt", "slatag.tcp.rtt", "s", "gauge", "network", 1, "TCP round trip, smoothed"),
    _host(
        "tcp_zero_window",
        "slatag.tcp.zero_window",
        "{event}",
        "total",
        "client",
        1,
        "receiver closed its window",
    ),
    _host(
        "send_queue",
        "slatag.tcp.send_queue",
        "By",
        "gauge",
        "client",
        1,
        "bytes written and not yet taken by the reader",
    ),
)
"""The registry, grouped by layer."""  # fmt: skip

_BY_KEY = {counter.key: counter for counter in COUNTERS}


def counter_named(key: str) -> Counter:
    """Return the counter with this key; KeyError when there is none."""
    return _BY_KEY[key]
