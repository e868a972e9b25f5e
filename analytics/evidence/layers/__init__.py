"""The signals of every layer, one module each: what speaks for it and what against."""

from otel_attrib.analytics.evidence.layers import client, cpu, gpu, network, nvlink, pcie, scheduler, start_up
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
    *start_up.SIGNALS,
)
"""Every signal, in the order of the layers; names are unique and key the weights."""
