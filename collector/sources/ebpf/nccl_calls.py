"""Which functions of NCCL are watched, what each counts as, and how many bytes its data types have."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from otel_attrib.collector.sources.ebpf.library_probes import Hook

__all__ = ["CALLS", "DATA", "DEFINES", "HOOKS"]

DATA: Final = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "send", "recv")
"""Calls that move data."""

CALLS: Final = (*DATA, "group_start", "group_end")
"""Values of `slatag.nccl.call`; the kernel numbers them by their place."""

# ncclDataType_t in order: int8 uint8 int32 uint32 int64 uint64 float16 float32 float64 bfloat16 float8 (two).
_TYPE_SIZES: Final = (1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1)

DEFINES: Final[Mapping[str, int | str]] = MappingProxyType(
    {f"CALL_{name.upper()}": number for number, name in enumerate(CALLS)}
    | {"TYPES": len(_TYPE_SIZES)}
    | {"TYPE_SIZES": f"{sum(size << 4 * place for place, size in enumerate(_TYPE_SIZES)):#x}ULL"}
)
"""What `nccl.c` is compiled with; a type's size is four bits of `TYPE_SIZES`."""

_ENTRIES: Final = {
    "ncclAllReduce": "all_reduce",
    "ncclAllGather": "all_gather",
    "ncclReduceScatter": "reduce_scatter",
    "ncclBroadcast": "broadcast",
    "ncclBcast": "broadcast_in_place",
    "ncclReduce": "reduce",
    "ncclSend": "send",
    "ncclRecv": "receive",
    "ncclGroupStart": "group_start",
    "ncclGroupEnd": "group_end",
}

_SIZES: Final = {
    "ncclCommInitRank": "comm_init",
    "ncclCommInitRankConfig": "comm_init",
    "ncclCommCount": "comm_count",
}

HOOKS: Final[Mapping[str, Mapping[str, Hook]]] = MappingProxyType(
    {
        "libnccl": {symbol: Hook(entry, "leave") for symbol, entry in _ENTRIES.items()}
        | {symbol: Hook(entry, "comm_known") for symbol, entry in _SIZES.items()}
    }
)
"""Which program runs at which function."""
