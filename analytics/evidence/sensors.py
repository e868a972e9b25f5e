"""Which sensors a layer needs before it can be believed, and what to say when they are missing."""

from otel_attrib.analytics.evidence.view import View

__all__ = ["missing_sensors", "what_would_decide"]

NEEDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "scheduler": (("steps", "requests.preemptions", "requests.cached_tokens"),),
    "gpu": (("gpu_clock", "gpu_throttled", "gpu_throttle_time"),),
    "pcie": (("copy_time", "pcie_receive", "pcie_width", "pcie_replays", "steps.copy_us"),),
    "nvlink": (("collective_time", "nvlink_receive", "nvlink_links", "nvlink_crc", "steps.collective_us"),),
    "cpu": (("run_queue_wait", "off_cpu", "cpu_throttled", "cpu_pressure"),),
    "network": (("tcp_retransmits", "tcp_rtt"),),
    "client": (("tcp_zero_window", "send_queue"),),
}
"""Layer → groups of sensors; of each group one must have been read on both sides."""

WORDS = {
    "scheduler": "engine steps (the shim's step spans)",
    "gpu": "GPU clock or throttle counters",
    "pcie": "PCIe counters or copy times",
    "nvlink": "NVLink counters or collective times",
    "cpu": "run-queue, cgroup or pressure counters",
    "network": "TCP retransmits or round trips",
    "client": "send queues or zero windows",
}


def missing_sensors(view: View) -> dict[str, tuple[str, ...]]:
    """Return layer → the sensors of which none was read; empty for layers that can be judged."""
    seen = set(view.contrasts) | {f"steps.{column}" for _, column in view.steps}
    if view.steps:
        seen.add("steps")
    seen |= {f"requests.{name}" for name in view.work.figures}
    if view.work.hit_rate is not None:
        seen.add("requests.cached_tokens")
    out = {
        layer: tuple(name for group in groups if not seen & set(group) for name in group)
        for layer, groups in NEEDS.items()
    }
    if view.hit.ranks == 1 or view.over_pcie:
        out["nvlink"] = ()
    return {layer: lacking for layer, lacking in out.items() if lacking}


def what_would_decide(layer: str, view: View) -> str:
    """Say which sensor to add, where."""
    where = view.hit.nodes[0] if view.hit.nodes and view.hit.nodes[0] else "the hit hosts"
    agent = "run `otel-attrib agent` there, or import them"
    source = "record its steps with the shim" if layer == "scheduler" else agent
    return f"no {WORDS[layer]} of {where}: {source}"
