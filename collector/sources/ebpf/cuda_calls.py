"""Which functions of the CUDA runtime and driver are watched, and what each counts as.

The same work counts under one name whether the runtime or the driver is asked for it; a thread's nested calls
count once. `_ptsz` and `_ptds` are the variants with one default stream a thread.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from otel_attrib.collector.sources.ebpf.library_probes import Hook

__all__ = ["CALLS", "DEFINES", "HOOKS", "WAYS"]

CALLS: Final = (
    "memcpy",
    "memcpy_async",
    "launch",
    "graph_launch",
    "stream_synchronize",
    "device_synchronize",
    "event_synchronize",
)
"""Values of `slatag.cuda.call`; a kernel numbers them by their place."""

WAYS: Final = ("none", "h2h", "h2d", "d2h", "d2d", "p2p", "unknown")
"""Values of `slatag.copy.direction`; "none" is no copy, "unknown" one whose addresses alone tell."""

DEFINES: Final[Mapping[str, int]] = MappingProxyType(
    {f"CALL_{name.upper()}": number for number, name in enumerate(CALLS)}
    | {f"WAY_{name.upper()}": number for number, name in enumerate(WAYS)}
)
"""What `cuda.c` is compiled with."""

_RUNTIME: Final = {
    "cudaMemcpy": "copy_by_kind",
    "cudaMemcpyAsync": "copy_by_kind_async",
    "cudaMemcpyPeer": "copy_p2p",
    "cudaMemcpyPeerAsync": "copy_p2p_async",
    "cudaLaunchKernel": "launch",
    "cudaLaunchKernelExC": "launch",
    "cudaLaunchCooperativeKernel": "launch",
    "cudaGraphLaunch": "graph_launch",
    "cudaStreamSynchronize": "stream_synchronize",
    "cudaDeviceSynchronize": "device_synchronize",
    "cudaEventSynchronize": "event_synchronize",
}

_DRIVER: Final = {
    "cuMemcpyHtoD": "copy_h2d",
    "cuMemcpyHtoD_v2": "copy_h2d",
    "cuMemcpyDtoH": "copy_d2h",
    "cuMemcpyDtoH_v2": "copy_d2h",
    "cuMemcpyDtoD": "copy_d2d",
    "cuMemcpyDtoD_v2": "copy_d2d",
    "cuMemcpy": "copy_unknown",
    "cuMemcpyPeer": "copy_p2p",
    "cuMemcpyHtoDAsync": "copy_h2d_async",
    "cuMemcpyHtoDAsync_v2": "copy_h2d_async",
    "cuMemcpyDtoHAsync": "copy_d2h_async",
    "cuMemcpyDtoHAsync_v2": "copy_d2h_async",
    "cuMemcpyDtoDAsync": "copy_d2d_async",
    "cuMemcpyDtoDAsync_v2": "copy_d2d_async",
    "cuMemcpyAsync": "copy_unknown_async",
    "cuMemcpyPeerAsync": "copy_p2p_async",
    "cuLaunchKernel": "launch",
    "cuLaunchKernelEx": "launch",
    "cuLaunchCooperativeKernel": "launch",
    "cuGraphLaunch": "graph_launch",
    "cuStreamSynchronize": "stream_synchronize",
    "cuCtxSynchronize": "device_synchronize",
    "cuEventSynchronize": "event_synchronize",
}


def _with_variants(functions: Mapping[str, str]) -> Iterator[tuple[str, Hook]]:
    for symbol, entry in functions.items():
        for variant in ("", "_ptsz", "_ptds"):
            yield symbol + variant, Hook(entry, "leave")


HOOKS: Final[Mapping[str, Mapping[str, Hook]]] = MappingProxyType(
    {"libcudart": dict(_with_variants(_RUNTIME)), "libcuda": dict(_with_variants(_DRIVER))}
)
"""By library: which program runs at which function."""
