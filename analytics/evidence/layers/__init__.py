"""The signals of every layer, one module each: what ATTRIBUTION's table calls evidence for and against."""

from otel_attrib.analytics.evidence.layers import client, cpu, gpu, network, nvlink, pcie, scheduler
from otel_attrib.analytics.evidence.signal import Signal

__all__ = ["SIGNALS"]

SIGNALS: tuple[Signal, ...] = (
    *scheduler.SIGNALS,
    *gpu.SIGNALS,
    *pcie.SIGNALS,
    *nvlink.SIGNALS,
    *cpu.SIGNALS,
    *network.SIGNALS,
    *client.SIGNALS,
)
"""Every signal, in the order of the layers; names are unique and key the weights."""
