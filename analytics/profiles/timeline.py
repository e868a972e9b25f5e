"""One profile as typed columns: what ran on each device, who launched it, what the host was doing.

Every reader (Kineto, Nsight Systems) fills these, and every question is a function of them. A table
is a frozen dataclass of numpy columns of equal length, one element a row. Times are whole
nanoseconds on the profile's own clock: differences are exact, and `Profile.wall_base_ns` places them
on the wall clock where the file says how. Texts stand once in `Profile.names`; a column of names
holds codes into it. What a file does not say is `UNKNOWN` (−1) in a column of numbers, never zero,
and what is absent as a whole is told in `Profile.missing`.
"""

from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "UNKNOWN",
    "Activities",
    "Collective",
    "Device",
    "Direction",
    "Ints",
    "Kind",
    "Launches",
    "Ops",
    "Profile",
    "Ranges",
    "Shape",
    "Table",
]

Ints = NDArray[np.int64]
UNKNOWN = -1


class Kind(IntEnum):
    """What one activity of a device is."""

    KERNEL = 0
    COPY = 1
    MEMSET = 2
    GRAPH = 3  # a whole CUDA graph that the profiler recorded as one piece


class Direction(IntEnum):
    """Between whom a copy went; NONE for what is no copy, OTHER for arrays and unknown kinds."""

    NONE = 0
    H2D = 1
    D2H = 2
    D2D = 3
    P2P = 4
    H2H = 5
    OTHER = 6

    @property
    def word(self) -> str:
        """Return the name as printed: `h2d`, …"""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of equal length; a subclass names them."""

    start_ns: Ints
    duration_ns: Ints

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.start_ns.size)

    @property
    def end_ns(self) -> Ints:
        """Return when each row ended."""
        return self.start_ns + self.duration_ns

    def take(self, rows: NDArray[Any]) -> Self:
        """Return the rows of a boolean mask or of an array of row numbers, in that order."""
        return type(self)(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})

    def within(self, start_ns: int, end_ns: int) -> Self:
        """Return the rows that start in [start_ns, end_ns)."""
        return self.take((self.start_ns >= start_ns) & (self.start_ns < end_ns))


@dataclass(frozen=True, slots=True)
class Activities(Table):
    """What ran on devices: one row a kernel, copy, memset or graph, in the order of their starts."""

    kind: Ints  # Kind
    device: Ints  # the device's number in the file
    stream: Ints
    name: Ints  # code into Profile.names
    process: Ints  # of the launch; correlation ids are unique within one process
    correlation: Ints  # joins Launches with the same process; many rows of one graph launch share it
    external: Ints  # joins Ops.external
    bytes: Ints  # of a copy or memset
    direction: Ints  # Direction
    graph: Ints  # id of the CUDA graph, or of its node, that it belongs to
    blocks: Ints  # thread blocks of the grid
    threads: Ints  # threads of one block
    collective: Ints  # code into Profile.collectives


@dataclass(frozen=True, slots=True)
class Launches(Table):
    """Calls of the CUDA/HIP runtime or driver on the host: launches, copies, synchronisations."""

    process: Ints
    thread: Ints
    name: Ints  # code into Profile.names: the API function, without its version suffix
    correlation: Ints


@dataclass(frozen=True, slots=True)
class Ops(Table):
    """Operators of the framework on the host (`aten::mm`), nested as they were called."""

    process: Ints
    thread: Ints
    name: Ints
    external: Ints
    shape: Ints  # code into Profile.shapes


@dataclass(frozen=True, slots=True)
class Ranges(Table):
    """What the program itself marked: user annotations, NVTX ranges, steps of the profiler or engine."""

    process: Ints
    thread: Ints
    name: Ints
    device: Ints  # the device when the range is shown on it (`gpu_user_annotation`), else UNKNOWN


@dataclass(frozen=True, slots=True)
class Shape:
    """The inputs of an operator: `dims` and `types` as the file writes them (JSON text), for one call.

    `values` are those of scalars, kept of attention alone: whether it is causal halves its work.
    """

    dims: str
    types: str
    values: str = ""


@dataclass(frozen=True, slots=True)
class Collective:
    """What a collective's kernel carried; element counts and group size are UNKNOWN when not said."""

    operation: str  # "allreduce", "_allgather_base", … as the file writes it
    dtype: str
    in_elements: int
    out_elements: int
    group_size: int
    group: str


@dataclass(frozen=True, slots=True)
class Device:
    """One device that the file names; numbers it does not give are UNKNOWN."""

    index: int
    name: str
    sms: int
    memory_bytes: int
    compute: str  # "9.0", or ""


@dataclass(frozen=True, slots=True)
class Profile:
    """All that was read of one file.

    `wall_base_ns` is what to add to a time to get nanoseconds since 1970 (None: the file does not
    say). `rank` and `world_size` are UNKNOWN outside distributed runs.
    """

    source: str  # "kineto" or "nsys"
    path: str
    names: tuple[str, ...]
    shapes: tuple[Shape, ...]
    collectives: tuple[Collective, ...]
    activities: Activities
    launches: Launches
    ops: Ops
    ranges: Ranges
    devices: tuple[Device, ...]
    wall_base_ns: int | None
    rank: int
    world_size: int
    missing: tuple[str, ...]  # one sentence each
    cut: bool = False  # the file ends early: what came later is missing

    @property
    def used_devices(self) -> tuple[int, ...]:
        """Return the devices on which anything ran, ascending."""
        return tuple(int(index) for index in np.unique(self.activities.device))

    def on(self, device: int) -> Activities:
        """Return what ran on one device, in the order of the starts."""
        return self.activities.take(self.activities.device == device)

    def device(self, index: int) -> Device:
        """Return what is known of a device; its name is empty when the file says nothing."""
        found = next((one for one in self.devices if one.index == index), None)
        return found or Device(index, "", UNKNOWN, UNKNOWN, "")

    def named(self, *texts: str) -> Ints:
        """Return the codes of the names that hold any of these texts."""
        wanted = [code for code, name in enumerate(self.names) if any(text in name for text in texts)]
        return np.array(wanted, np.int64)
