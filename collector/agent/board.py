"""The sink that puts a few counters on the node's board, where engines read them for their spans.

A gauge's reading stands for the time since the reading before it, five seconds at most; of a total the
increase counts, a fall is a restart. Series of one card that add up (a throttle reason each) are added; of
a counter that two sources give, the source that came first stays, until it has been silent for three seconds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from time import monotonic_ns, time_ns

from otel_attrib.collector.agent.readings import Layout, Readings
from otel_attrib.collector.agent.source import Series, Unavailable
from otel_attrib.schema.attributes import GPU_UUID, SOURCE
from otel_attrib.schema.board import FIELDS, Writer, places

__all__ = ["Board"]

HOLD_NS = 5_000_000_000
LEAST_NS = 90_000_000
"""Slots of one ring are at least so far apart, so that the ring reaches back three minutes."""
REMEMBERED = 4096
"""Series and layouts kept; past it all are forgotten once, which costs each total one increase."""

LOOK_NS = 10_000_000_000
"""So often it is looked whether the file is still this agent's, or was left by one that came after it."""

SILENT_NS = 3_000_000_000
"""So long after the last reading of one source another one may give the counter."""

_THROTTLED = FIELDS.index("gpu_throttled")
_FIELD_OF = {key: key for key in FIELDS} | {"gpu_throttle_time": "gpu_throttled"}


@dataclass(slots=True)
class _Turn:
    """Which source gives a counter of a place, and when it did last."""

    source: str
    at: int

    def has(self, source: str, at: int) -> bool:
        """Return whether a reading of this source counts now."""
        if source != self.source and at - self.at > SILENT_NS:
            self.source = source
        if source == self.source:
            self.at = at
        return source == self.source


@dataclass(slots=True)
class _Rule:
    """Where a series goes; `last` is a total's reading before."""

    place: str
    field: int
    total: bool
    source: str
    turn: _Turn
    last: float | None = None

    def worth(self, value: float) -> float:
        """Return a gauge's reading as it is, of a total what it grew by."""
        if not self.total:
            return value
        last, self.last = self.last, value
        return 0.0 if last is None else value - last if value >= last else value


@dataclass(slots=True)
class _Ring:
    number: int
    read_ns: int
    put_ns: int
    known: float = 0.0
    integrals: list[float] = field(default_factory=lambda: [0.0] * len(FIELDS))


class Board:
    """The board as a sink; `Unavailable` where no place for it can be written."""

    def __init__(
        self,
        path: Path | None = None,
        wall: Callable[[], int] = time_ns,
        monotonic: Callable[[], int] = monotonic_ns,
    ) -> None:
        """Make the file: at `path`, or in the first of the usual places that can be written."""
        self._writer = _writer((path,) if path else places())
        self._wall = wall
        self._monotonic = monotonic
        self._rules: dict[Series, _Rule | None] = {}
        self._plans: dict[Layout, list[tuple[int, _Rule]]] = {}
        self._turns: dict[tuple[str, str], _Turn] = {}
        self._rings: dict[tuple[str, int], _Ring | None] = {}
        self._named: set[tuple[str, str]] = set()
        self._looked = monotonic()
        self._lock = Lock()

    @property
    def path(self) -> Path:
        """Return where the board stands."""
        return self._writer.path

    def take(self, ns: int, readings: Readings) -> None:
        """Put one batch on the board; `ns` is the wall time of its readings. Any thread may."""
        with self._lock:
            self._take(ns, readings)

    def _take(self, ns: int, readings: Readings) -> None:
        if (now := self._monotonic()) - self._looked > LOOK_NS:
            self._looked = now
            self._stand_again()
        plan = self._plans.get(readings.layout)
        if plan is None:
            plan = self._plan(readings.layout)
        if not plan:
            return
        at = ns - self._wall() + self._monotonic()
        found: dict[str, dict[int, tuple[float, bool]]] = {}
        for number, rule in plan:
            worth = rule.worth(float(readings.values[number]))
            if rule.turn.has(rule.source, at):
                _add(found.setdefault(rule.place, {}), rule, worth)
        for place, values in found.items():
            self._put(place, values, at)

    def close(self) -> None:
        """Take the board away."""
        with self._lock:
            self._writer.close()

    def _stand_again(self) -> None:
        """Make a new board where another agent had put its own and has ended: engines look at the path."""
        if not self._writer.displaced():
            return
        path = self._writer.path
        try:
            fresh = Writer(path)
        except OSError:  # looked at again
            return
        self._writer.close()
        self._writer = fresh
        for known in (self._rules, self._plans, self._rings, self._named):
            known.clear()

    def _plan(self, layout: Layout) -> list[tuple[int, _Rule]]:
        """Return which readings of a layout belong on the board."""
        if len(self._rules) + len(self._plans) > REMEMBERED:
            self._rules.clear()
            self._plans.clear()
        rules = (self._rules[one] if one in self._rules else self._rule(one) for one in layout.series)
        plan = [(number, rule) for number, rule in enumerate(rules) if rule is not None]
        self._plans[layout] = plan
        return plan

    def _rule(self, series: Series) -> _Rule | None:
        said = dict(series.attributes)
        self._name(series.device, said.get(GPU_UUID, ""))
        name = _FIELD_OF.get(series.counter.key)
        rule = None
        if name is not None:
            place = series.device if series.counter.per_device else ""
            source = said.get(SOURCE, "")
            turn = self._turns.setdefault((place, series.counter.key), _Turn(source, 0))
            rule = _Rule(place, FIELDS.index(name), series.counter.kind == "total", source, turn)
        self._rules[series] = rule
        return rule

    def _name(self, device: str, uuid: str) -> None:
        if device and uuid and (device, uuid) not in self._named:
            self._named.add((device, uuid))
            self._writer.device(device, uuid)

    def _put(self, place: str, values: dict[int, tuple[float, bool]], at: int) -> None:
        mask = sum(1 << number for number in values)
        key = (place, mask)
        if key not in self._rings:
            number = self._writer.ring(place, (FIELDS[n] for n in values))
            self._rings[key] = None if number is None else _Ring(number, at, 0)
        ring = self._rings[key]
        if ring is None or at < ring.read_ns:
            return
        seconds = min(at - ring.read_ns, HOLD_NS) / 1e9
        for number, (value, total) in values.items():
            passed = (at - ring.read_ns) / 1e9 if number == _THROTTLED else value
            ring.integrals[number] += min(value, passed) if total else value * seconds
        ring.known += seconds
        ring.read_ns = at
        if at - ring.put_ns >= LEAST_NS:
            self._writer.put(ring.number, at, ring.known, ring.integrals)
            ring.put_ns = at


def _writer(paths: Sequence[Path]) -> Writer:
    faults = []
    for path in paths:
        try:
            return Writer(path)
        except OSError as fault:
            faults.append(f"{path}: {fault.strerror or fault}")
    raise Unavailable(f"no place for the board ({'; '.join(faults)}); name one with OTEL_ATTRIB_BOARD")


def _add(values: dict[int, tuple[float, bool]], rule: _Rule, worth: float) -> None:
    """Add to what a batch says of the field; a share throttled beats the times of reasons, which overlap."""
    before, total = values.get(rule.field, (0.0, rule.total))
    if total == rule.total:
        values[rule.field] = (before + worth, total)
    elif not rule.total:
        values[rule.field] = (worth, False)
