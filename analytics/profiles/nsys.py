"""Read an Nsight Systems export (`nsys export --type sqlite`) into columns, without writing to it.

Correlation ids are unique within a process, whose number stands in bits 24–47 of `globalPid` and
`globalTid`; exports without these are taken for one process. Times are nanoseconds of the capture:
newer exports count them from the target's clock and give its reading at the start, older ones count
from the start.
"""

import re
import sqlite3
from collections.abc import Iterator
from math import prod
from pathlib import Path

from otel_attrib.analytics.profiles.growing import Codes, Growing
from otel_attrib.analytics.profiles.kineto_values import size_of
from otel_attrib.analytics.profiles.nsys_tables import DURATION, SOUND, NsysTables
from otel_attrib.analytics.profiles.timeline import (
    UNKNOWN,
    Activities,
    Device,
    Direction,
    Kind,
    Launches,
    Ops,
    Profile,
    Ranges,
    Shape,
)
from otel_attrib.errors import DataError

__all__ = ["read_nsys"]

KERNELS, CALLS = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"
TABLES = (
    (Kind.KERNEL, KERNELS),
    (Kind.COPY, "CUPTI_ACTIVITY_KIND_MEMCPY"),
    (Kind.MEMSET, "CUPTI_ACTIVITY_KIND_MEMSET"),
    (Kind.GRAPH, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"),
)
GRID = ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ")
PROCESS, THREAD = "({} >> 24) & 16777215", "globalTid & 16777215"
VERSION = re.compile(r"(_v\d+|_ptsz|_ptds)+$")
OPERATOR = re.compile(r"^(?P<name>.*?), (?:seq = |op_id = )")
SIZES = re.compile(r", sizes = (\[.*\])")
PUSH_POP, START_END = 59, 60  # NvtxPushPopRange, NvtxStartEndRange
DIRECTIONS = {
    1: Direction.H2D,
    2: Direction.D2H,
    8: Direction.D2D,
    9: Direction.H2H,
    10: Direction.P2P,
    11: Direction.H2D,  # unified memory
    12: Direction.D2H,
    13: Direction.D2D,
}
WORDS = {Direction.H2D: "HtoD", Direction.D2H: "DtoH", Direction.D2D: "DtoD", Direction.P2P: "PtoP"}
MEMORY = ("Pageable", "Pinned", "Device", "Array", "Managed", "Device", "Managed")  # ENUM_CUDA_MEM_KIND


def read_nsys(path: Path, shown: str) -> Profile:
    """Read an export; `shown` is the path for messages (of the packed file, if it was one)."""
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        tables = NsysTables(database)
        if not any(name in tables for name in ("StringIds", "META_DATA_EXPORT", KERNELS)):
            raise DataError(f"{shown} is SQLite, but no export of Nsight Systems")
        return _Reader(tables, shown).profile()
    except sqlite3.Error as fault:
        raise DataError(f"{shown} is a damaged SQLite file: {fault}") from fault
    finally:
        database.close()


class _Reader:
    def __init__(self, tables: NsysTables, path: str) -> None:
        self._tables, self._path = tables, path
        self._names, self._shapes, self._texts = Codes[str](), Codes[Shape](), tables.texts()
        self._nowhere = 0
        self._owned = tables.has(KERNELS, "globalPid") and tables.has(CALLS, "globalTid")

    def profile(self) -> Profile:
        activities, launches = self._activities(), self._launches()
        ops, ranges = self._nvtx()
        return Profile(
            source="nsys",
            path=self._path,
            names=self._names.values(),
            shapes=self._shapes.values(),
            collectives=(),
            activities=activities,
            launches=launches,
            ops=ops,
            ranges=ranges,
            devices=self._devices(),
            wall_base_ns=self._wall_base(),
            rank=UNKNOWN,
            world_size=UNKNOWN,
            missing=tuple(self._missing(activities, launches)),
        )

    def _activities(self) -> Activities:
        rows = Growing(Activities)
        for kind, table in TABLES:
            for cells in self._tables.rows(table, *self._wanted(table)):
                start, duration, device, stream, text, process, correlation = cells[:7]
                if device < 0:
                    self._nowhere += 1
                    continue
                size, copy, graph, node, source, target = cells[7:13]
                direction = DIRECTIONS.get(copy, Direction.OTHER) if kind is Kind.COPY else Direction.NONE
                name = self._names.code(self._name(kind, text, graph, direction, (source, target)))
                where = (start, duration, kind, device, stream, name, process, correlation, UNKNOWN)
                sizes = (graph if graph > 0 else node, _size(cells[13:16]), _size(cells[16:]))
                rows.add(*where, size_of(size), direction, *sizes, UNKNOWN)
        return rows.table()

    def _wanted(self, table: str) -> tuple[str, ...]:
        text = "demangledName" if self._tables.has(table, "demangledName") else "shortName"
        owned = self._owned and self._tables.has(table, "globalPid")
        process = PROCESS.format("globalPid") if owned else "0"
        ids = ("deviceId", "streamId", text, process, "correlationId")
        return (
            "start",
            DURATION,
            *ids,
            "bytes",
            "copyKind",
            "graphId",
            "graphNodeId",
            "srcKind",
            "dstKind",
            *GRID,
        )

    def _name(self, kind: Kind, text: int, graph: int, direction: Direction, memory: tuple[int, int]) -> str:
        """Return the kernel's name; the others as Kineto calls them: `Memcpy HtoD (Pinned -> Device)`."""
        if kind is Kind.KERNEL:
            return self._texts.get(text, "kernel without a name")
        if kind is Kind.GRAPH:
            return f"CUDA graph {graph}"
        if kind is Kind.MEMSET:
            return "Memset (Device)"
        source, target = (MEMORY[at] if 0 <= at < len(MEMORY) else "Unknown" for at in memory)
        return f"Memcpy {WORDS.get(direction, direction.word)} ({source} -> {target})"

    def _launches(self) -> Launches:
        rows = Growing(Launches)
        known = self._tables.has(CALLS, "globalTid")
        process = PROCESS.format("globalTid") if self._owned else "0"
        wanted = ("start", DURATION, process, THREAD if known else "-1", "nameId", "correlationId")
        for *cells, text, correlation in self._tables.rows(CALLS, *wanted):
            name = VERSION.sub("", self._texts.get(text, ""))
            rows.add(*cells, self._names.code(name), correlation)
        return rows.table()

    def _nvtx(self) -> tuple[Ops, Ranges]:
        """Tell the framework's operators (`aten::mm, op_id = 7`) from what the program marked."""
        ops, ranges = Growing(Ops), Growing(Ranges)
        for start, duration, process, thread, shown in self._marks():
            operator = OPERATOR.match(shown)
            if operator or shown.startswith("aten::"):
                sizes = SIZES.search(shown)
                shape = self._shapes.code(Shape(sizes[1], "")) if sizes else UNKNOWN
                name = operator["name"] if operator else shown.split(",")[0]
                ops.add(start, duration, process, thread, self._names.code(name), UNKNOWN, shape)
            else:
                ranges.add(start, duration, process, thread, self._names.code(shown), UNKNOWN)
        return ops.table(), ranges.table()

    def _marks(self) -> Iterator[tuple[int, int, int, int, str]]:
        table = "NVTX_EVENTS"
        if not self._tables.has(table, "start", "end", "text", "eventType", "globalTid"):
            return
        # A text may be registered: then its number stands in its place.
        number = self._tables.whole(table, "textId")
        numbers = ("start", DURATION, PROCESS.format("globalTid") if self._owned else "0", THREAD)
        wanted = ", ".join(self._tables.whole(table, text) for text in numbers)
        for *cells, text, registered in self._tables.database.execute(
            f"SELECT {wanted}, text, {number} FROM {table} "
            f"WHERE eventType IN ({PUSH_POP}, {START_END}) AND {SOUND}"
        ):
            start, duration, process, thread = cells
            yield start, duration, process, thread, str(text or self._texts.get(registered, ""))

    def _devices(self) -> tuple[Device, ...]:
        table = "TARGET_INFO_GPU"
        if not self._tables.has(table, "id", "name"):
            return ()
        numbers = ("id", "smCount", "totalMemory", "computeMajor", "computeMinor")
        wanted = ", ".join(self._tables.whole(table, text) for text in numbers)
        rows = self._tables.database.execute(f"SELECT {wanted}, coalesce(name, '') FROM {table} ORDER BY 1")
        return tuple(
            Device(index, str(name), sms, memory, f"{major}.{minor}" if major != UNKNOWN else "")
            for index, sms, memory, major, minor, name in rows
        )

    def _wall_base(self) -> int | None:
        table = "TARGET_INFO_SESSION_START_TIME"
        if not self._tables.has(table, "utcEpochNs"):
            return None
        clock = "coalesce(systemClockNs, 0)" if self._tables.has(table, "systemClockNs") else "0"
        row = self._tables.database.execute(
            f"SELECT CAST(utcEpochNs - {clock} AS INTEGER) FROM {table}"
        ).fetchone()
        return int(row[0]) if row and row[0] is not None else None

    def _missing(self, activities: Activities, launches: Launches) -> Iterator[str]:
        if lost := sum(self._tables.unsound(table) for _, table in TABLES):
            yield f"{lost} activities without a sound start and end were left out"
        if self._nowhere:
            yield f"{self._nowhere} activities of a device without a number were left out"
        if not len(activities):
            yield "no activity of a device: record with `nsys profile --trace=cuda`"
        elif not len(launches):
            yield "no calls of the runtime: waiting for the host is not told from other idle time"
        if not self._tables.has("TARGET_INFO_GPU", "id", "name"):
            yield "no device properties: the card's name and size are not known"
        if (activities.kind == Kind.GRAPH).any():
            yield "whole CUDA graphs only: record with `--cuda-graph-trace=node` to see their kernels"


def _size(sides: tuple[int, ...]) -> int:
    """Return the product of three sides, UNKNOWN if one is not known or they are no sizes."""
    size = prod(sides)
    return size if min(sides) > 0 and size < 1 << 63 else UNKNOWN
