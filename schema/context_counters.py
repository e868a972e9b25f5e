"""Counters that are kept and shown beside a request but that no rule of `why` weighs yet.

The same words as `schema.counters`, which holds what is weighed; `EVERY_COUNTER` is both. Names of the
semantic conventions first (`hw.*`, `process.*`, `system.*`), then OpenLIT's, then ours.
"""

from typing import Final

from otel_attrib.schema.counters import COUNTERS, Counter

__all__ = ["CONTEXT", "EVERY_COUNTER", "registered"]

_WAY = "network.io.direction"
_CALL = "slatag.cuda.call"
_BY_SOURCE = "by `slatag.agent.source`"


def _card(key: str, metric: str, unit: str, layer: str, meaning: str, **more: object) -> Counter:
    return Counter(key, metric, unit, "gauge", layer, 0, meaning, **more)  # type: ignore[arg-type] # fields by name


def _card_total(key: str, metric: str, unit: str, layer: str, meaning: str, **more: object) -> Counter:
    return Counter(key, metric, unit, "total", layer, 0, meaning, **more)  # type: ignore[arg-type] # fields by name


def _host(key: str, metric: str, unit: str, layer: str, meaning: str, **more: object) -> Counter:
    return _card(key, metric, unit, layer, meaning, per_device=False, **more)


def _host_total(key: str, metric: str, unit: str, layer: str, meaning: str, **more: object) -> Counter:
    return _card_total(key, metric, unit, layer, meaning, per_device=False, **more)


CONTEXT: Final = (
    _card(
        "gpu_status",
        "hw.status",
        "1",
        "gpu",
        "state of the card (1 where `hw.state` holds: ok, degraded, failed)",
        most=1.0,
    ),
    _card("gpu_memory_used", "hw.gpu.memory.usage", "By", "gpu", "memory in use", most=1e13),
    _card("gpu_memory_limit", "hw.gpu.memory.limit", "By", "gpu", "memory of the card", most=1e13),
    _card(
        "memory_controller",
        "slatag.gpu.memory_controller_utilization",
        "1",
        "gpu",
        "share of time in which memory was read or written",
        most=1.0,
    ),
    _card("memory_clock", "hw.gpu.clock.memory", "MHz", "gpu", "memory clock", most=2e4),
    _card("gpu_clock_max", "slatag.gpu.clock.graphics.max", "MHz", "gpu", "highest SM clock", most=5e3),
    _card_total("gpu_energy", "hw.energy", "J", "gpu", "energy used since the driver was loaded"),
    _card(
        "gpu_memory_temperature",
        "slatag.gpu.memory_temperature",
        "Cel",
        "gpu",
        "memory temperature",
        most=150.0,
    ),
    _card(
        "sm_occupancy", "slatag.gpu.sm_occupancy", "1", "gpu", "warps resident, of those possible", most=1.0
    ),
    _card(
        "tensor_activity", "slatag.gpu.tensor_activity", "1", "gpu", "share of tensor cycles used", most=1.0
    ),
    _card("graphics_activity", "slatag.gpu.graphics_activity", "1", "gpu", "graphics engine busy", most=1.0),
    _card("process_gpu_memory", "process.gpu.memory.usage", "By", "gpu", "memory of one process", most=1e13),
    _card(
        "process_gpu_utilization", "process.gpu.utilization", "1", "gpu", "SM time of one process", most=1.0
    ),
    _card_total("pcie_bytes_in", "hw.gpu.io", "By", "pcie", "PCIe to the card", select=(_WAY, "receive")),
    _card_total("pcie_bytes_out", "hw.gpu.io", "By", "pcie", "PCIe from the card", select=(_WAY, "transmit")),
    _card_total(
        "pcie_recoveries",
        "hw.errors",
        "{error}",
        "pcie",
        "PCIe link trained again",
        select=("error.type", "pcie_recovery"),
    ),
    _card_total(
        "nvlink_bytes_in",
        "slatag.gpu.nvlink.io",
        "By",
        "nvlink",
        "NVLink to the card",
        select=(_WAY, "receive"),
    ),
    _card_total(
        "nvlink_bytes_out",
        "slatag.gpu.nvlink.io",
        "By",
        "nvlink",
        "NVLink from the card",
        select=(_WAY, "transmit"),
    ),
    _card(
        "nvlink_state",
        "slatag.gpu.nvlink.link_state",
        "1",
        "nvlink",
        "link is up (1), by `slatag.link`",
        most=1.0,
    ),
    _card(
        "gpu_clock_reasons", "slatag.gpu.clock_reasons", "1", "gpu", "NVML's clocks-event reasons, a bit mask"
    ),
    _card("last_xid", "slatag.gpu.last_xid", "1", "gpu", "number of the newest XID event"),
    _card_total(
        "rows_remapped",
        "hw.errors",
        "{error}",
        "gpu",
        "memory rows replaced after corrected errors",
        select=("error.type", "row_remapped"),
    ),
    _card_total(
        "rows_remapped_uncorrectable",
        "hw.errors",
        "{error}",
        "gpu",
        "memory rows replaced after uncorrected errors",
        select=("error.type", "row_remapped_uncorrectable"),
    ),
    _card_total("sm_cycles", "slatag.gpu.sm_cycles", "{cycle}", "gpu", "SM cycles gone by since boot"),
    _card_total(
        "sm_cycles_active",
        "slatag.gpu.sm_cycles_active",
        "{cycle}",
        "gpu",
        "SM cycles with a warp since boot",
    ),
    _card(
        "profile_share",
        "slatag.profile.share",
        "1",
        "gpu",
        "share of a profiled step by `slatag.activity`: compute, memory, collective, copy, idle",
        most=1.0,
    ),
    _host_total(
        "profile_windows",
        "slatag.profile.windows",
        "{window}",
        "cpu",
        "steps that the server's own profile was due for, by `slatag.profile.outcome`",
    ),
    _host_total(
        "profile_time", "slatag.profile.time", "s", "cpu", "what the server's own profiles cost its process"
    ),
    _host_total("cuda_calls", "slatag.cuda.calls", "{call}", "cpu", f"CUDA calls by `{_CALL}`"),
    _host_total(
        "cuda_call_time", "slatag.cuda.call_time", "s", "cpu", f"host time in CUDA calls by `{_CALL}`"
    ),
    _host_total("nccl_calls", "slatag.nccl.calls", "{call}", "nvlink", "NCCL calls by `slatag.nccl.call`"),
    _host_total("nccl_bytes", "slatag.nccl.bytes", "By", "nvlink", "bytes handed to NCCL"),
    _host_total("nccl_call_time", "slatag.nccl.call_time", "s", "nvlink", "host time in NCCL calls"),
    _host_total("process_cpu", "process.cpu.time", "s", "cpu", "CPU time by `cpu.mode`"),
    _host_total(
        "context_switches",
        "process.context_switches",
        "{context_switch}",
        "cpu",
        "context switches by `process.context_switch.type`",
    ),
    _host_total(
        "page_faults", "process.paging.faults", "{fault}", "cpu", "page faults by `process.paging.fault_type`"
    ),
    _host_total(
        "idle_wait", "slatag.process.idle_time", "s", "cpu", "engine threads waiting for work (poll, sleep)"
    ),
    _host_total(
        "blocked_wait",
        "slatag.process.blocked_time",
        "s",
        "cpu",
        "engine threads in locks, queues, sockets or the card's driver, by `slatag.off_cpu.reason`",
    ),
    _host_total(
        "cpu_throttled_periods",
        "slatag.cgroup.cpu.throttled_periods",
        "{period}",
        "cpu",
        "periods in which the cgroup's quota ran out",
    ),
    _host_total(
        "io_pressure",
        "slatag.pressure.stall_time",
        "s",
        "cpu",
        "some task waited for a disk (PSI)",
        select=("resource", "io"),
    ),
    _host(
        "run_queue_wait_p99", "slatag.process.run_queue_wait_p99", "s", "cpu", "P99 of single waits (eBPF)"
    ),
    _host_total("run_queue_waits", "slatag.process.run_queue_waits", "{wait}", "cpu", "single waits (eBPF)"),
    _host_total(
        "off_cpu_spells",
        "slatag.process.off_cpu_spells",
        "{spell}",
        "cpu",
        "how often engine threads blocked, by `slatag.off_cpu.reason`",
    ),
    _host_total("network_errors", "system.network.errors", "{error}", "network", "interface errors"),
    _host_total(
        "network_dropped",
        "system.network.packet.dropped",
        "{packet}",
        "network",
        "packets an interface dropped",
    ),
    _host_total("network_bytes", "system.network.io", "By", "network", "bytes by interface and direction"),
    _host_total(
        "tcp_first_byte_time",
        "slatag.tcp.first_byte_time",
        "s",
        "network",
        "request's last byte in to the answer's first byte out, summed",
    ),
    _host_total("tcp_first_bytes", "slatag.tcp.first_bytes", "{answer}", "network", "answers in that sum"),
    _host_total(
        "flow_delay_time",
        "slatag.net.flow_delay_time",
        "s",
        "network",
        "packet's arrival to the engine's read, summed, by flow",
    ),
    _host_total(
        "flow_packets", "slatag.net.flow_packets", "{packet}", "network", "packets in that sum, by flow"
    ),
    _host_total(
        "flow_retransmits",
        "slatag.net.flow_retransmits",
        "{packet}",
        "network",
        "TCP packets sent again from the engine's ports, each of one or more segments",
    ),
    _host(
        "clock_uncertainty",
        "slatag.clock.uncertainty",
        "s",
        "network",
        "how far this node's clock may be off, as its kernel says",
    ),
    _host(
        "clock_estimated_error",
        "slatag.clock.estimated_error",
        "s",
        "network",
        "how far this node's clock probably is off, as its kernel says",
    ),
    _host_total(
        "interface_retransmits",
        "slatag.tcp.interface_retransmits",
        "{segment}",
        "network",
        "segments sent again on the engine's own connections, by interface",
    ),
    _host_total(
        "receive_window_limited",
        "slatag.tcp.receive_window_limited_time",
        "s",
        "client",
        "the engine had bytes to send and its readers' windows held them back",
    ),
    _host(
        "accept_queue",
        "slatag.tcp.accept_queue",
        "{connection}",
        "network",
        "connections made that the engine has not accepted yet",
    ),
    _host_total(
        "listen_overflows",
        "slatag.tcp.listen_overflows",
        "{connection}",
        "network",
        "connections refused because an accept queue was full",
    ),
    _host("engine_waiting", "slatag.engine.requests_waiting", "{request}", "scheduler", "requests waiting"),
    _host("engine_running", "slatag.engine.requests_running", "{request}", "scheduler", "requests running"),
    _host("engine_kv_usage", "slatag.engine.kv_usage", "1", "scheduler", "KV cache in use", most=1.0),
    _host_total(
        "engine_preemptions", "slatag.engine.preemptions", "{request}", "scheduler", "requests preempted"
    ),
    _host_total(
        "engine_prompt_tokens",
        "slatag.engine.prompt_tokens",
        "{token}",
        "scheduler",
        "prompt tokens computed",
    ),
    _host_total(
        "engine_output_tokens", "slatag.engine.output_tokens", "{token}", "scheduler", "output tokens made"
    ),
    _host_total(
        "engine_cache_hits",
        "slatag.engine.cache_hit_tokens",
        "{token}",
        "scheduler",
        "prompt tokens found cached",
    ),
    _host(
        "scrape_success",
        "slatag.scrape.success",
        "1",
        "cpu",
        "Prometheus page answered (1), by `server.port`",
        most=1.0,
    ),
    _host(
        "scrape_unknown", "slatag.scrape.unknown", "{sample}", "cpu", "samples of it that no mapping declares"
    ),
    _host(
        "scrape_late",
        "slatag.scrape.late",
        "{sample}",
        "cpu",
        "samples of it that were left out because their own timestamps are old",
    ),
    _host_total("agent_cpu", "slatag.agent.cpu_time", "s", "cpu", "CPU time of the agent itself"),
    _host_total(
        "agent_lost", "slatag.agent.lost", "{reading}", "cpu", "readings that were not sent, by `error.type`"
    ),
    _host(
        "agent_source_duration", "slatag.agent.source.duration", "s", "cpu", f"last read's time, {_BY_SOURCE}"
    ),
    _host(
        "agent_source_success",
        "slatag.agent.source.success",
        "1",
        "cpu",
        f"1: the last read succeeded, {_BY_SOURCE}",
        most=1.0,
    ),
    _host(
        "agent_source_interval",
        "slatag.agent.source.interval",
        "s",
        "cpu",
        f"time between reads, {_BY_SOURCE}",
    ),
    _host_total(
        "agent_source_readings",
        "slatag.agent.source.readings",
        "{reading}",
        "cpu",
        f"values read, {_BY_SOURCE}",
    ),
    _host_total(
        "agent_source_refused",
        "slatag.agent.source.refused",
        "{reading}",
        "cpu",
        f"values that are no measurement, {_BY_SOURCE}",
    ),
    _host_total(
        "agent_source_failures",
        "slatag.agent.source.failures",
        "{read}",
        "cpu",
        f"reads that failed, {_BY_SOURCE}",
    ),
    _host_total(
        "agent_source_missed",
        "slatag.agent.source.missed",
        "{read}",
        "cpu",
        f"reads left out because the one before took too long, {_BY_SOURCE}",
    ),
    _host_total(
        "agent_source_cpu", "slatag.agent.source.cpu_time", "s", "cpu", f"CPU time of its reads, {_BY_SOURCE}"
    ),
)
"""What is kept beside a request."""

EVERY_COUNTER: Final = (*COUNTERS, *CONTEXT)
"""All counters that have a name here."""

_BY_KEY = {counter.key: counter for counter in EVERY_COUNTER}


def registered(key: str) -> Counter:
    """Return the counter with this key, weighed or not; KeyError when there is none."""
    return _BY_KEY[key]
