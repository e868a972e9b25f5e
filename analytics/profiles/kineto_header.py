"""What stands around the events of a Kineto trace: devices, ranks, and where its clock begins."""

from collections.abc import Mapping
from typing import Any

from otel_attrib.analytics.profiles.kineto_values import one_line, whole
from otel_attrib.analytics.profiles.timeline import UNKNOWN, Device, Table

__all__ = ["devices_of", "ranks_of", "wall_base_of"]

Header = Mapping[str, Any]


def devices_of(header: Header) -> tuple[Device, ...]:
    """Return the devices that the profiler saw."""
    listed = header.get("deviceProperties")
    rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    return tuple(
        Device(
            index=whole(row.get("id")),
            name=one_line(str(row.get("name") or "")),
            sms=whole(row.get("numSms")),
            memory_bytes=whole(row.get("totalGlobalMem")),
            compute=f"{row['computeMajor']}.{row.get('computeMinor', 0)}" if "computeMajor" in row else "",
        )
        for row in rows
    )


def ranks_of(header: Header) -> tuple[int, int]:
    """Return the rank and the number of ranks, UNKNOWN outside distributed runs."""
    said = header.get("distributedInfo")
    said = said if isinstance(said, dict) else {}
    return whole(said.get("rank")), whole(said.get("world_size"))


def wall_base_of(header: Header, *tables: Table) -> int | None:
    """Return what the times count from: the base that the file gives, else 1970 if they are that large."""
    base = whole(header.get("baseTimeNanoseconds"))
    if base != UNKNOWN:
        return base
    first = next((int(table.start_ns[0]) for table in tables if len(table)), 0)
    return 0 if first > 10**18 else None  # 2001
