"""Read an Nsight Systems export (`nsys export --type sqlite`) into columns, without writing to it.

Tables and columns come and go between versions, so each is asked for and what is not there is
UNKNOWN or absent. Correlation ids are unique within a process, whose number stands in bits 24–47 of
`globalPid` and `globalTid`. Times are nanoseconds of the capture; newer exports count them from the
target's clock and give its reading at the start, older ones count from the start.
"""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from otel_attrib.analytics.profiles.growing import Codes, Growing
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

ROWS = 50_000
PID = "(({column}) >> 24) & 16777215"
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


def read_nsys(path: Path, shown: str) -> Profile:
    """Read an export; `shown` is the path for messages (of the packed file, if it was one)."""
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        return _Reader(database, shown).profile()
    except sqlite3.Error as fault:
        raise DataError(f"{shown} is a damaged SQLite file: {fault}") from fault
    finally:
        database.close()


class _Reader:
    def __init__(self, database: sqlite3.Connection, path: str) -> None:
        self._database, self._path = database, path
        self._names, self._shapes = Codes[str](), Codes[Shape]()
        self._columns = {
            table: {str(row[1]) for row in database.execute(f'PRAGMA table_info("{table}")')}
            for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        }

    def profile(self) -> Profile:
        if not {"StringIds", "TARGET_INFO_SESSION_START_TIME", "META_DATA_EXPORT"} & set(self._columns):
            raise DataError(f"{self._path} is SQLite, but no export of Nsight Systems")
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
        for kind, table in (
            (Kind.KERNEL, "CUPTI_ACTIVITY_KIND_KERNEL"),
            (Kind.COPY, "CUPTI_ACTIVITY_KIND_MEMCPY"),
            (Kind.MEMSET, "CUPTI_ACTIVITY_KIND_MEMSET"),
            (Kind.GRAPH, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"),
        ):
            names = self._name_codes(kind, table)
            for cells in self._cells(table, *self._wanted(table)):
                (start, end, device, stream, text, process, correlation) = cells[:7]
                (size, copy, graph, node, *grid) = cells[7:]
                rows.add(
                    start,
                    end - start,
                    kind,
                    device,
                    stream,
                    names(text, copy, graph),
                    process,
                    correlation,
                    UNKNOWN,
                    size,
                    DIRECTIONS.get(copy, Direction.OTHER) if kind is Kind.COPY else Direction.NONE,
                    graph if graph > 0 else node,
                    _product(grid[:3]),
                    _product(grid[3:]),
                    UNKNOWN,
                )
        return rows.table()

    def _wanted(self, table: str) -> tuple[str, ...]:
        text = "demangledName" if "demangledName" in self._columns.get(table, ()) else "shortName"
        process = PID.format(column="globalPid") if self._has(table, "globalPid") else str(UNKNOWN)
        sizes = ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ")
        plain = ("bytes", "copyKind", "graphId", "graphNodeId", *sizes)
        return ("start", "end", "deviceId", "streamId", text, process, "correlationId", *plain)

    def _name_codes(self, kind: Kind, table: str) -> "_NameCodes":
        return _NameCodes(kind, self._names, self._strings() if kind is Kind.KERNEL else {})

    def _launches(self) -> Launches:
        rows, table = Growing(Launches), "CUPTI_ACTIVITY_KIND_RUNTIME"
        strings, process = self._strings(), PID.format(column="globalTid")
        for start, end, owner, thread, text, correlation in self._cells(
            table, "start", "end", process, "globalTid & 16777215", "nameId", "correlationId"
        ):
            name = VERSION.sub("", strings.get(text, ""))
            rows.add(start, end - start, owner, thread, self._names.code(name), correlation)
        return rows.table()

    def _nvtx(self) -> tuple[Ops, Ranges]:
        """Tell the framework's operators (`aten::mm, op_id = 7`) from what the program marked."""
        ops, ranges, table = Growing(Ops), Growing(Ranges), "NVTX_EVENTS"
        if not {"start", "end", "text", "eventType"} <= self._columns.get(table, set()):
            return ops.table(), ranges.table()
        registered = "LEFT JOIN StringIds ON StringIds.id = textId" if self._has(table, "textId") else ""
        text = "coalesce(text, value, '')" if registered else "coalesce(text, '')"
        for start, end, tid, shown in self._database.execute(
            f'SELECT start, "end", coalesce(globalTid, 0), {text} FROM NVTX_EVENTS {registered} '
            f'WHERE "end" IS NOT NULL AND eventType IN ({PUSH_POP}, {START_END})'
        ):
            owner, thread = (tid >> 24) & 0xFFFFFF, tid & 0xFFFFFF
            operator = OPERATOR.match(shown)
            if operator or shown.startswith("aten::"):
                sizes = SIZES.search(shown)
                shape = self._shapes.code(Shape(sizes[1], "")) if sizes else UNKNOWN
                name = self._names.code(operator["name"] if operator else shown.split(",")[0])
                ops.add(start, end - start, owner, thread, name, UNKNOWN, shape)
            else:
                ranges.add(start, end - start, owner, thread, self._names.code(shown), UNKNOWN)
        return ops.table(), ranges.table()

    def _devices(self) -> tuple[Device, ...]:
        table = "TARGET_INFO_GPU"
        if not self._has(table, "id"):
            return ()
        name = "coalesce(name, '')" if self._has(table, "name") else "''"
        numbers = [
            self._value(table, text) for text in ("smCount", "totalMemory", "computeMajor", "computeMinor")
        ]
        rows = self._database.execute(f"SELECT id, {name}, {', '.join(numbers)} FROM {table} ORDER BY id")
        return tuple(
            Device(index, text, sms, memory, f"{major}.{minor}" if major != UNKNOWN else "")
            for index, text, sms, memory, major, minor in rows
        )

    def _wall_base(self) -> int | None:
        table = "TARGET_INFO_SESSION_START_TIME"
        if not self._has(table, "utcEpochNs"):
            return None
        clock = "coalesce(systemClockNs, 0)" if self._has(table, "systemClockNs") else "0"
        row = self._database.execute(f"SELECT utcEpochNs - {clock} FROM {table}").fetchone()
        return int(row[0]) if row and row[0] is not None else None

    def _missing(self, activities: Activities, launches: Launches) -> Iterator[str]:
        if not len(activities):
            yield "no activity of a device: record with `nsys profile --trace=cuda`"
        elif not len(launches):
            yield "no calls of the runtime: waiting for the host is not told from other idle time"
        if not self._has("TARGET_INFO_GPU", "id"):
            yield "no device properties: the card's name and size are not known"
        if (activities.kind == Kind.GRAPH).any():
            yield "whole CUDA graphs only: record with `--cuda-graph-trace=node` to see their kernels"

    def _has(self, table: str, column: str) -> bool:
        return column in self._columns.get(table, ())

    def _value(self, table: str, expression: str) -> str:
        """Return SQL for a whole number, UNKNOWN where the column or the value is not there."""
        plain = expression.isidentifier()
        return (
            str(UNKNOWN)
            if plain and not self._has(table, expression)
            else f"coalesce({_quoted(expression)}, {UNKNOWN})"
        )

    def _cells(self, table: str, *expressions: str) -> Iterator[Sequence[int]]:
        if not self._has(table, "start") or not self._has(table, "end"):
            return
        wanted = ", ".join(self._value(table, text) for text in expressions)
        yield from self._database.execute(f"SELECT {wanted} FROM {table}")

    def _strings(self) -> dict[int, str]:
        if not self._has("StringIds", "value"):
            return {}
        return dict(self._database.execute("SELECT id, value FROM StringIds"))


class _NameCodes:
    """Names one kind of activity as Kineto would."""

    def __init__(self, kind: Kind, names: Codes[str], strings: dict[int, str]) -> None:
        self._kind, self._names, self._strings = kind, names, strings

    def __call__(self, text: int, copy: int, graph: int) -> int:
        if self._kind is Kind.KERNEL:
            return self._names.code(self._strings.get(text, "unnamed kernel"))
        if self._kind is Kind.GRAPH:
            return self._names.code(f"CUDA graph {graph}")
        if self._kind is Kind.MEMSET:
            return self._names.code("Memset")
        return self._names.code(f"Memcpy {DIRECTIONS.get(copy, Direction.OTHER).word}")


def _quoted(expression: str) -> str:
    return f'"{expression}"' if expression.isidentifier() else expression


def _product(sizes: Sequence[int]) -> int:
    return int(np.prod(sizes)) if sizes and min(sizes) > 0 else UNKNOWN
