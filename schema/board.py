"""The board: what a node's agent read in the last minutes, in a small file that engines map into memory.

A ring of slots for each place (a card by its `hw.id`, or the host: the empty name) and set of fields that are
read together. A slot holds, at the CLOCK_MONOTONIC time of one reading, the integral of each field over time
since the ring began and the seconds that readings stood for; the difference of two slots is what happened
between them, whatever lies in the middle.

Guarantees: a slot is seen whole or not at all (it carries its number and a CRC-32, and becomes visible by the
count of its ring, which is written after it); a reader never waits and never writes. The file belongs to one
boot and one time namespace. It is made aside and moved into place, and space is reserved before it is used,
so that a mapping never loses a page. Only the standard library is imported.
"""

import fcntl
import os
import struct
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from contextlib import suppress
from mmap import MAP_SHARED, PROT_READ, mmap
from pathlib import Path
from stat import S_ISREG
from typing import Final, NamedTuple

__all__ = ["BOARD", "FIELDS", "SLOTS", "Reader", "Stretch", "Writer", "boot_name", "places", "trusted"]

BOARD: Final = "OTEL_ATTRIB_BOARD"
"""Environment variable that names the file; else it stands in one of the usual places."""

FIELDS: Final = (
    "sm_activity",
    "sm_occupancy",
    "dram_activity",
    "gpu_utilization",
    "gpu_clock",
    "gpu_throttled",
    "run_queue_wait",
)
"""What a slot can hold, by counter key: gauges as value × seconds; throttling and waiting as seconds."""

SLOTS: Final = 2048
"""Readings kept of a ring: at ten a second the last three minutes."""

_MAGIC = b"otlboard"
_VERSION = 1
_DEVICES, _RINGS = 128, 256
_HEADER = struct.Struct("<8sII112s")
_COUNTS = struct.Struct("<QQ")
_DEVICE = struct.Struct("<16s80s")
_RING = struct.Struct("<16sQQ")
_BODY = struct.Struct(f"<Qqd{len(FIELDS)}d")
_CHECK = struct.Struct("<II")
_WHOLE = struct.Struct(f"<Qqd{len(FIELDS)}dII")
_COUNTS_AT = _HEADER.size
_DEVICES_AT = 256
_RINGS_AT = _DEVICES_AT + _DEVICES * _DEVICE.size
_SLOTS_AT = _RINGS_AT + _RINGS * _RING.size
_SLOT = _WHOLE.size
_RING_SIZE = SLOTS * _SLOT
_SIZE = _SLOTS_AT + _RINGS * _RING_SIZE
_WORDS = _SLOT // 8
_GUARD = 16
"""Oldest slots that are not read, since the next ones overwrite them."""


def places() -> tuple[Path, ...]:
    """Return where the board may stand: what `OTEL_ATTRIB_BOARD` says alone, else the usual places."""
    if named := os.environ.get(BOARD):
        return (Path(named),)
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    own = (Path(runtime) / "otel-attrib/board",) if runtime else ()
    return (Path("/run/otel-attrib/board"), *own, Path("/dev/shm/otel-attrib-board"))


def boot_name(proc: str = "/proc") -> str:
    """Return what is equal in two processes exactly when their monotonic times can be compared."""
    try:
        with open(f"{proc}/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        return f"{boot} {os.readlink(f'{proc}/self/ns/time')}"[:112]
    except OSError:
        return os.uname().nodename[:112]


def trusted(path: Path) -> bool:
    """Return whether only root, this user, or whom root gave the folder can have written the file.

    The last is an agent with a user of its own: root (systemd's `RuntimeDirectory=`) made the folder for it.
    """
    seen, folder, above = path.stat(), path.parent.stat(), path.parent.parent.stat()
    if not S_ISREG(seen.st_mode) or seen.st_mode & 0o022:
        return False
    given = above.st_uid == 0 and not (above.st_mode | folder.st_mode) & 0o022
    return seen.st_uid in (0, os.geteuid()) or (given and seen.st_uid == folder.st_uid)


class Writer:
    """The agent's side; one writer a file. OSError where the file cannot be made."""

    def __init__(self, path: Path, boot: str | None = None) -> None:
        """Make an empty board and move it to `path`, in place of an older one."""
        self.path = path
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        aside = path.with_name(f".{path.name}.{os.getpid()}")
        aside.unlink(missing_ok=True)
        self._fd = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        # The lock ends with its process, however that ends: it tells a board that is written from one left.
        with suppress(OSError):
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            os.fchmod(self._fd, 0o644)
            os.truncate(self._fd, _SIZE)
            os.posix_fallocate(self._fd, 0, _SLOTS_AT)
            self._map = mmap(self._fd, _SIZE)
            _HEADER.pack_into(self._map, 0, _MAGIC, _VERSION, SLOTS, (boot or boot_name()).encode())
            os.replace(aside, path)
        except OSError:
            os.close(self._fd)
            aside.unlink(missing_ok=True)
            raise
        self._inode = os.fstat(self._fd).st_ino
        self._devices = 0
        self._heads: list[int] = []

    def device(self, hw_id: str, uuid: str) -> None:
        """Add the name that CUDA knows a card or MIG instance by; past 128 it is left out."""
        if self._devices < _DEVICES:
            at = _DEVICES_AT + self._devices * _DEVICE.size
            _DEVICE.pack_into(self._map, at, hw_id.encode()[:16], uuid.encode()[:80])
            self._devices += 1
            self._publish()

    def ring(self, place: str, fields: Iterable[str]) -> int | None:
        """Begin a ring of a place for these fields; None where there is no room for one more."""
        number = len(self._heads)
        if number == _RINGS:
            return None
        try:
            os.posix_fallocate(self._fd, _SLOTS_AT + number * _RING_SIZE, _RING_SIZE)
        except OSError:
            return None
        mask = sum(1 << FIELDS.index(name) for name in fields)
        _RING.pack_into(self._map, _RINGS_AT + number * _RING.size, place.encode()[:16], mask, 0)
        self._heads.append(0)
        self._publish()
        return number

    def put(self, ring: int, ns: int, known: float, integrals: Sequence[float]) -> None:
        """Add a slot: the time of a reading, seconds read so far, the integral of each of `FIELDS`."""
        number = self._heads[ring]
        body = _BODY.pack(number, ns, known, *integrals)
        at = _SLOTS_AT + ring * _RING_SIZE + number % SLOTS * _SLOT
        self._map[at : at + _SLOT] = body + _CHECK.pack(zlib.crc32(body), 0)
        self._heads[ring] = number + 1
        struct.pack_into("<Q", self._map, _RINGS_AT + (ring + 1) * _RING.size - 8, number + 1)

    def displaced(self) -> bool:
        """Return whether another agent put its own board there and has ended since: nobody writes one."""
        try:
            if self.path.stat().st_ino == self._inode:
                return False
            with self.path.open("rb") as other:
                fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return True
        except OSError:  # locked: it is written
            return False
        return True

    def close(self) -> None:
        """Take the board away, unless another agent has put its own there."""
        try:
            if self.path.stat().st_ino == self._inode:
                self.path.unlink()
        except OSError:
            pass
        self._map.close()
        os.close(self._fd)

    def _publish(self) -> None:
        _COUNTS.pack_into(self._map, _COUNTS_AT, self._devices, len(self._heads))


class Stretch(NamedTuple):
    """What one ring says of a stretch of time: increase of each field's integral, and of the seconds read.

    `coverage` is the share of the stretch that readings stand for, each weighted by how much of its own span
    lies inside: 1 where readings lie at both ends, 0.1 for a tenth of the time between two readings.
    """

    known: float
    coverage: float
    grown: dict[str, float]


class _Ring(NamedTuple):
    """One ring: columns of its slots by field, where they begin, the word of its count, the slots' times."""

    place: str
    columns: tuple[tuple[str, int], ...]
    at: int
    head: int
    times: memoryview


_Slot = tuple[float, ...]
_Bracket = tuple[_Slot, _Slot, float]
"""The slots on both sides of a time, and how far it is from the first to the second."""


class Reader:
    """The engine's side. OSError or ValueError where there is no board of this boot that can be trusted."""

    def __init__(self, path: Path, boot: str | None = None) -> None:
        """Map the file and check whose it is."""
        if not trusted(path):
            raise ValueError(f"{path} belongs to another user, or others may write it")
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size != _SIZE:
                raise ValueError(f"{path} is no board that this version can read")
            self._map = mmap(file.fileno(), _SIZE, flags=MAP_SHARED, prot=PROT_READ)
        magic, version, slots, owner = _HEADER.unpack_from(self._map, 0)
        if (magic, version, slots) != (_MAGIC, _VERSION, SLOTS):
            raise ValueError(f"{path} is no board that this version can read")
        if owner.rstrip(b"\0").decode() != (boot or boot_name()):
            raise ValueError(f"{path} is of another boot")
        self._words = memoryview(self._map).cast("q")
        self._rings: list[_Ring] = []
        self._by_place: dict[str, list[_Ring]] = {}
        self._devices: dict[str, str] = {}

    def devices(self) -> dict[str, str]:
        """Return UUID → hw.id of the cards and MIG instances; of a name that was given twice the last."""
        count = self._words[_COUNTS_AT // 8]
        if count != len(self._devices):
            found = (_DEVICE.unpack_from(self._map, _DEVICES_AT + n * _DEVICE.size) for n in range(count))
            self._devices = {_text(uuid): _text(hw_id) for hw_id, uuid in found}
        return self._devices

    def cards(self) -> set[str]:
        """Return the hw.id of every card that has a ring."""
        return {ring.place for ring in self._seen() if ring.place}

    def newest(self) -> int:
        """Return the monotonic time (ns) of the newest slot, 0 where there is none."""
        heads = ((ring, self._words[ring.head]) for ring in self._seen())
        return max((ring.times[(head - 1) % SLOTS] for ring, head in heads if head), default=0)

    def between(self, place: str, start: int, end: int) -> list[Stretch]:
        """Return what each ring of a place says of the monotonic times (ns) from `start` to `end`."""
        self._seen()
        found = (self._stretch(ring, start, end) for ring in self._by_place.get(place, ()))
        return [stretch for stretch in found if stretch is not None]

    def _seen(self) -> list[_Ring]:
        for number in range(len(self._rings), self._words[_COUNTS_AT // 8 + 1]):
            at = _RINGS_AT + number * _RING.size
            place, mask, _ = _RING.unpack_from(self._map, at)
            slots = _SLOTS_AT + number * _RING_SIZE
            first = slots // 8 + 1
            times = self._words[first : first + _WORDS * SLOTS : _WORDS]
            columns = tuple((name, 3 + n) for n, name in enumerate(FIELDS) if mask >> n & 1)
            ring = _Ring(_text(place), columns, slots, at // 8 + _RING.size // 8 - 1, times)
            self._rings.append(ring)
            self._by_place.setdefault(ring.place, []).append(ring)
        return self._rings

    def _stretch(self, ring: _Ring, start: int, end: int) -> Stretch | None:
        head = self._words[ring.head]
        oldest = head - SLOTS + _GUARD if head > SLOTS - _GUARD else 0
        if head - oldest < 2:
            return None
        first, last = ring.times[oldest % SLOTS], ring.times[(head - 1) % SLOTS]
        begin, until = first if first > start else start, last if last < end else end
        left = self._at(ring, begin, oldest, head) if until > begin else None
        right = self._at(ring, until, oldest, head) if left else None
        return (
            None
            if left is None or right is None
            else _difference(ring, left, right, begin, until, end - start)
        )

    def _at(self, ring: _Ring, time: int, oldest: int, head: int) -> _Bracket | None:
        """Return the slots on both sides of a time; None where they have been overwritten meanwhile."""
        lap = head - head % SLOTS
        if oldest < lap and (head == lap or time <= ring.times[0]):
            right = lap - SLOTS + bisect_left(ring.times, time, oldest % SLOTS, SLOTS)
        else:
            right = lap + bisect_left(ring.times, time, oldest - lap if oldest > lap else 0, head - lap)
        right = oldest + 1 if right <= oldest else head - 1 if right >= head else right
        before, after = self._slot(ring, right - 1), self._slot(ring, right)
        if before is None or after is None or not before[1] <= time <= after[1]:
            return None
        return before, after, (time - before[1]) / (after[1] - before[1] or 1)

    def _slot(self, ring: _Ring, number: int) -> _Slot | None:
        at = ring.at + number % SLOTS * _SLOT
        raw = self._map[at : at + _SLOT]
        slot = _WHOLE.unpack(raw)
        return slot if slot[0] == number and slot[-2] == zlib.crc32(raw[:-8]) else None


def _difference(ring: _Ring, left: _Bracket, right: _Bracket, begin: int, until: int, length: int) -> Stretch:
    (low, high, near), (lower, higher, far) = left, right
    known = lower[2] + far * (higher[2] - lower[2]) - low[2] - near * (high[2] - low[2])
    grown = {
        name: lower[n] + far * (higher[n] - lower[n]) - low[n] - near * (high[n] - low[n])
        for name, n in ring.columns
    }
    read = known * 1e9 / (until - begin)
    inside = _inside(left, right, begin, until)
    return Stretch(known, inside * (read if read < 1 else 1.0) / length, grown)


def _inside(left: _Bracket, right: _Bracket, begin: int, until: int) -> float:
    """Return the ns from `begin` to `until`, those at the edges weighted by their share of the gap there."""
    first, second, third, fourth = left[0][1], left[1][1], right[0][1], right[1][1]
    if first == third:
        return (until - begin) ** 2 / (second - first or 1)
    edges = (second - begin) ** 2 / (second - first or 1) + (until - third) ** 2 / (fourth - third or 1)
    return third - second + edges


def _text(raw: bytes) -> str:
    return raw.rstrip(b"\0").decode("utf-8", "replace")
