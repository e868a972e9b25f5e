"""Read a trace of the PyTorch profiler (Kineto's Chrome JSON) into columns.

The file is read event by event, so memory is about a hundred bytes for each kernel, call, operator and
annotation, and nothing for the Python stack, memory and flow events in between. Times are microseconds
with up to three decimals in the file and whole nanoseconds here. Categories are those of Kineto since
2021; the capitalised ones are its first releases (`tb_plugin`).
"""

from collections.abc import Mapping
from decimal import InvalidOperation
from typing import Any

from otel_attrib.analytics.profiles.growing import Codes, Growing
from otel_attrib.analytics.profiles.json_events import JsonEvents, Source
from otel_attrib.analytics.profiles.kineto_header import devices_of, ranks_of, wall_base_of
from otel_attrib.analytics.profiles.kineto_values import (
    copy_direction,
    json_text,
    micros_to_ns,
    one_line,
    product,
    size_of,
    whole,
)
from otel_attrib.analytics.profiles.timeline import (
    UNKNOWN,
    Activities,
    Collective,
    Direction,
    Kind,
    Launches,
    Ops,
    Profile,
    Ranges,
    Shape,
)
from otel_attrib.errors import DataError

__all__ = ["read_kineto"]

Event = Mapping[str, Any]
KINDS = {
    "kernel": Kind.KERNEL,
    "Kernel": Kind.KERNEL,
    "gpu_memcpy": Kind.COPY,
    "Memcpy": Kind.COPY,
    "gpu_memset": Kind.MEMSET,
    "Memset": Kind.MEMSET,
}
CALLS = {"cuda_runtime", "cuda_driver", "privateuse1_runtime", "privateuse1_driver", "xpu_runtime", "Runtime"}
OPERATORS = {"cpu_op", "Operator"}
MARKS = {"user_annotation", "gpu_user_annotation"}
# hipMemcpyKind of the call: Kineto on ROCm calls every copy of pinned memory DtoD.
HIP_KINDS = {"1": Direction.H2D, "2": Direction.D2H}
PROCESS = 0  # one file is one process; the pid of a device's row is the device


def read_kineto(source: Source, path: str) -> Profile:
    """Read an open trace; `path` is for messages."""
    return _Reader(JsonEvents(source, path), path).profile()


class _Reader:
    def __init__(self, events: JsonEvents, path: str) -> None:
        self._events, self._path = events, path
        self._names, self._shapes = Codes[str](), Codes[Shape]()
        self._collectives = Codes[Collective]()
        self._activities, self._launches = Growing(Activities), Growing(Launches)
        self._ops, self._ranges = Growing(Ops), Growing(Ranges)
        self._hip: dict[int, Direction] = {}
        self._events_seen = self._unread = self._nowhere = 0

    def profile(self) -> Profile:
        for event in self._events:
            if isinstance(event, dict) and "ph" in event:
                self._events_seen += 1
                if event["ph"] == "X":
                    self._take(event)
        cut = self._events.cut
        if not self._events_seen and (cut or self._events.bare):
            why = f"ends before its first event: {cut}" if cut else "holds no event of the PyTorch profiler"
            raise DataError(f"{self._path} {why}")
        header = self._events.header
        activities = self._activities.table()
        self._turn(activities)
        launches, ops = self._launches.table(), self._ops.table()
        rank, world = ranks_of(header)
        return Profile(
            source="kineto",
            path=self._path,
            names=self._names.values(),
            shapes=self._shapes.values(),
            collectives=self._collectives.values(),
            activities=activities,
            launches=launches,
            ops=ops,
            ranges=self._ranges.table(),
            devices=devices_of(header),
            wall_base_ns=wall_base_of(header, activities, launches, ops),
            rank=rank,
            world_size=world,
            missing=tuple(self._missing(activities, launches)),
            cut=bool(cut),
        )

    def _take(self, event: Event) -> None:
        category = event.get("cat")
        kind = KINDS.get(str(category))
        if kind is None and category not in CALLS and category not in OPERATORS and category not in MARKS:
            return
        try:
            start, duration = micros_to_ns(event["ts"]), micros_to_ns(event["dur"])
            if duration < 0:
                raise ValueError
        except (KeyError, TypeError, ValueError, OverflowError, InvalidOperation):
            self._unread += 1
            return
        args = event.get("args")
        args = args if isinstance(args, dict) else {}
        name = one_line(str(event.get("name", "")))
        if kind is not None:
            self._activity(event, args, kind, name, start, duration)
        elif category in CALLS:
            self._call(event, args, name, start, duration)
        else:
            self._host(event, args, name, start, duration)

    def _activity(self, event: Event, args: Event, kind: Kind, name: str, start: int, duration: int) -> None:
        device = whole(args.get("device", event.get("pid")))
        if device < 0:
            self._nowhere += 1
            return
        self._activities.add(
            start,
            duration,
            kind,
            device,
            whole(args.get("stream", event.get("tid"))),
            self._names.code(name),
            PROCESS,
            whole(args.get("correlation")),
            _external(args),
            size_of(args.get("bytes")),
            copy_direction(name) if kind is Kind.COPY else Direction.NONE,
            whole(args.get("graph id")),
            product(args.get("grid")),
            product(args.get("block")),
            self._collectives.code(_collective(args)) if "Collective name" in args else UNKNOWN,
        )

    def _call(self, event: Event, args: Event, name: str, start: int, duration: int) -> None:
        correlation = whole(args.get("correlation"))
        if "kind" in args and name.startswith("hipMemcpy") and str(args["kind"]) in HIP_KINDS:
            self._hip[correlation] = HIP_KINDS[str(args["kind"])]
        self._launches.add(
            start, duration, PROCESS, whole(event.get("tid")), self._names.code(name), correlation
        )

    def _host(self, event: Event, args: Event, name: str, start: int, duration: int) -> None:
        category, thread, code = event["cat"], whole(event.get("tid")), self._names.code(name)
        if category in MARKS or name.startswith("ProfilerStep#"):
            device = whole(event.get("pid")) if category == "gpu_user_annotation" else UNKNOWN
            self._ranges.add(start, duration, PROCESS, thread, code, device)
            return
        dims, types = args.get("Input Dims", args.get("Input dims")), args.get("Input type")
        values = args.get("Concrete Inputs") if "attention" in name else None
        told = Shape(json_text(dims), json_text(types), json_text(values))
        shape = UNKNOWN if dims is None else self._shapes.code(told)
        self._ops.add(start, duration, PROCESS, thread, code, _external(args), shape)

    def _turn(self, activities: Activities) -> None:
        """Give copies on ROCm the direction that their call asked for."""
        if self._hip:
            for row in (activities.kind == Kind.COPY).nonzero()[0]:
                asked = self._hip.get(int(activities.correlation[row]))
                if asked is not None:
                    activities.direction[row] = asked

    def _missing(self, activities: Activities, launches: Launches) -> list[str]:
        said = [self._events.cut + ": what came later is missing"] if self._events.cut else []
        if self._unread:
            said.append(f"{self._unread} events without a readable time were left out")
        if self._nowhere:
            said.append(f"{self._nowhere} activities of a device without a number were left out")
        if not len(activities):
            said.append(self._no_activity())
        elif not len(launches):
            said.append("no calls of the runtime: waiting for the host is not told from other idle time")
        if "deviceProperties" not in self._events.header:
            said.append("no device properties: the card's name and size are not known")
        return said

    def _no_activity(self) -> str:
        if self._events.cut:
            return "no activity of a device before the cut"
        if self._nowhere:
            return "no activity of a device that can be told"
        if not len(self._ops.table()):
            return "no activity of a device and no operator: nothing that a profiler of PyTorch records"
        return "no activity of a device: the profiler recorded the host only"


def _external(args: Event) -> int:
    return whole(args.get("External id", args.get("external id")))


def _collective(args: Event) -> Collective:
    return Collective(
        operation=str(args["Collective name"]),
        dtype=str(args.get("dtype", "")),
        in_elements=whole(args.get("In msg nelems")),
        out_elements=whole(args.get("Out msg nelems")),
        group_size=whole(args.get("Group size")),
        group=str(args.get("Process Group Name", "")),
    )
