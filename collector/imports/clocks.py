"""Which stamps of a table were read from one clock, so that nothing is subtracted across two.

Either the user says it (`--clock wall=arrival --clock engine=queued,scheduled`), or it is found from
the whole table: two columns are of different clocks when one holds Unix times and the other does not,
when more than 1 % of the rows (and more than one) have them in the wrong order, or when more than half
of the rows lie further apart than an hour. A smaller skew cannot be found, only declared.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import combinations
from typing import Final

from otel_attrib.collector.imports.mapping import STAMPS
from otel_attrib.collector.imports.stamps import UNITS, Stamp
from otel_attrib.errors import UsageError

__all__ = ["Clock", "Survey", "clock_of", "declared", "detected"]

_SECOND: Final = UNITS["s"]
_EPOCH: Final = (10**9 * _SECOND, 4 * 10**9 * _SECOND)  # 2001 … 2096: Unix times, and no uptime
_HOUR: Final = 3600 * _SECOND
_MISORDERED: Final = 0.01
_APART: Final = 0.5


@dataclass(frozen=True, slots=True)
class Clock:
    """Stamps read from one clock; `wall` when it counts from 1970; `why` it was parted from the first."""

    name: str
    stamps: tuple[str, ...]
    wall: bool
    why: str = ""


@dataclass(slots=True)
class _Column:
    count: int = 0
    zeros: int = 0
    dated: bool = False
    zoned: bool = True
    low: int = 0
    high: int = 0

    def add(self, stamp: Stamp) -> None:
        """Widen the range; zeros are counted apart, for many writers mean *not reached* by them."""
        if stamp.ns == 0:
            self.zeros += 1
            return
        self.low = min(self.low, stamp.ns) if self.count else stamp.ns
        self.high = max(self.high, stamp.ns) if self.count else stamp.ns
        self.count += 1
        self.dated |= stamp.dated
        self.zoned &= stamp.zoned

    @property
    def first(self) -> int:
        """The earliest value, zeros counted where they are moments."""
        return 0 if self.count == 0 or self.zeros and not self.zero_is_absent and self.low > 0 else self.low

    @property
    def wall(self) -> bool:
        return self.count > 0 and _EPOCH[0] <= self.low and self.high <= _EPOCH[1]

    @property
    def zero_is_absent(self) -> bool:
        """Whether 0 lies so far from every other value that it can only mean *not reached*."""
        return self.count > 0 and self.low > _HOUR and self.low > self.high - self.low


@dataclass(slots=True)
class _Pair:
    rows: int = 0
    misordered: int = 0
    apart: int = 0

    def add(self, gap: int) -> None:
        self.rows += 1
        self.misordered += gap < 0
        self.apart += gap > _HOUR


@dataclass(slots=True)
class Survey:
    """What the whole table says about its stamps."""

    columns: dict[str, _Column] = field(default_factory=dict)
    pairs: dict[tuple[str, str], _Pair] = field(default_factory=dict)

    def add(self, stamps: Mapping[str, Stamp]) -> None:
        """Take one row in; stamps of zero count for nothing but themselves."""
        for name, stamp in stamps.items():
            self.columns.setdefault(name, _Column()).add(stamp)
        set_ = [name for name in STAMPS if name in stamps and stamps[name].ns]
        for pair in combinations(set_, 2):
            self.pairs.setdefault(pair, _Pair()).add(stamps[pair[1]].ns - stamps[pair[0]].ns)

    def check_units(self, units: Mapping[str, str]) -> None:
        """Refuse a column whose values are no moment of any clock in their unit."""
        for name, column in self.columns.items():
            if column.high > _EPOCH[1]:
                raise UsageError(
                    f"{name} holds {column.high // UNITS[units[name]]}, which is no moment in {units[name]}: "
                    f"give its unit, as in --unit {name}:{_finer(column.high, units[name])}"
                )

    def doubtful_units(self, units: Mapping[str, str]) -> list[str]:
        """What to say of columns that are no Unix times in their unit and would be in another."""
        said = []
        for name, column in self.columns.items():
            scale = UNITS[units[name]]
            others = [unit for unit in UNITS if _EPOCH[0] <= column.low // scale * UNITS[unit] <= _EPOCH[1]]
            if column.count and not column.wall and not column.dated and others:
                said.append(
                    f"{name} is no Unix time in {units[name]} and would be in {others[0]}; see --unit"
                )
        return said


def _finer(ns: int, unit: str) -> str:
    """The unit that would make the value a Unix time, else the next finer one."""
    finer = [name for name in UNITS if UNITS[name] < UNITS[unit]]
    fitting = [name for name in finer if _EPOCH[0] <= ns // UNITS[unit] * UNITS[name] <= _EPOCH[1]]
    return (fitting or finer or [unit])[0]


def declared(given: Iterable[str], stamps: Sequence[str], survey: Survey) -> tuple[Clock, ...]:
    """Read `--clock name=stamp,stamp`; every mapped stamp must stand in exactly one."""
    groups = dict(_group(word) for word in given)
    named = [stamp for group in groups.values() for stamp in group]
    wrong = [stamp for stamp in named if stamp not in stamps or named.count(stamp) > 1]
    left = [stamp for stamp in stamps if stamp not in named]
    if wrong or left:
        what = f"{wrong[0]!r} is not mapped or stands twice" if wrong else f"{left[0]!r} is in no clock"
        raise UsageError(f"--clock: {what}; the table has {', '.join(stamps)}")
    clocks = tuple(Clock(name, _ordered(group), _is_wall(group, survey)) for name, group in groups.items())
    return _checked(clocks, survey)


def _group(word: str) -> tuple[str, list[str]]:
    name, mark, stamps = word.partition("=")
    if not mark or not name or not stamps:
        raise UsageError(f"--clock {word!r}: write name=stamp,stamp as in engine=queued,scheduled")
    return name, [stamp.strip() for stamp in stamps.split(",")]


def _checked(clocks: tuple[Clock, ...], survey: Survey) -> tuple[Clock, ...]:
    for clock in clocks:
        if clock.name == "wall" and not clock.wall:
            shown = next(_shown(stamp, survey) for stamp in clock.stamps if not _is_wall([stamp], survey))
            raise UsageError(f"--clock wall={','.join(clock.stamps)}: {shown}, no Unix time; check --unit")
        for pair in combinations(clock.stamps, 2):
            if (why := _parted(*pair, survey)) is not None:
                raise UsageError(f"--clock {clock.name}={','.join(clock.stamps)} is not one clock: {why}")
    return clocks


def detected(stamps: Sequence[str], survey: Survey) -> tuple[Clock, ...]:
    """Group the stamps: each joins the clock nearest before it whose every stamp it agrees with."""
    groups: list[list[str]] = []
    reasons: list[str] = []
    for stamp in stamps:
        faults = [_first_fault(group, stamp, survey) for group in groups]
        fitting = [group for group, fault in zip(groups, faults, strict=True) if fault is None]
        if fitting:
            max(fitting, key=lambda group: STAMPS.index(group[-1])).append(stamp)
        else:
            groups.append([stamp])
            reasons.append(faults[-1] or "" if faults else "")
    return tuple(_named(group, why, groups, survey) for group, why in zip(groups, reasons, strict=True))


def _first_fault(group: Sequence[str], stamp: str, survey: Survey) -> str | None:
    faults = (_parted(member, stamp, survey) for member in reversed(group))
    return next((fault for fault in faults if fault is not None), None)


def _parted(earlier: str, later: str, survey: Survey) -> str | None:
    """Why two stamps cannot be of one clock; None when they can."""
    pair = survey.pairs.get((earlier, later), _Pair())
    misordered = pair.misordered > max(1, _MISORDERED * pair.rows) or 0 < pair.misordered == pair.rows
    apart = pair.apart > _APART * pair.rows
    if _is_wall([earlier], survey) != _is_wall([later], survey) and (misordered or apart or not pair.rows):
        return f"{_shown(earlier, survey)}, {_shown(later, survey)}"
    if misordered:
        return f"{later} stands before {earlier} in {pair.misordered} of {pair.rows} rows"
    if apart:
        return f"{later} is over an hour after {earlier} in {pair.apart} of {pair.rows} rows"
    return None


def _shown(stamp: str, survey: Survey) -> str:
    column = survey.columns.get(stamp, _Column())
    if not column.wall:
        return f"{stamp} is {column.low / _SECOND:,.3f} s"
    return f"{stamp} is {datetime.fromtimestamp(column.low / _SECOND, UTC):%Y-%m-%d %H:%M:%S}"


def _is_wall(stamps: Iterable[str], survey: Survey) -> bool:
    known = [survey.columns[stamp] for stamp in stamps if stamp in survey.columns]
    return bool(known) and all(column.wall for column in known)


def _ordered(stamps: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(stamps, key=STAMPS.index))


def _named(group: Sequence[str], why: str, groups: Sequence[Sequence[str]], survey: Survey) -> Clock:
    """Give a found clock a name: what it counts, and its first stamp where two count alike."""
    wall = _is_wall(group, survey)
    kind = "wall" if wall else "engine"
    alike = [other for other in groups if _is_wall(other, survey) == wall]
    return Clock(kind if len(alike) == 1 else f"{kind}-{group[0]}", _ordered(group), wall, why)


def clock_of(stamp: str, clocks: Iterable[Clock]) -> Clock | None:
    """The clock that a stamp was read from."""
    return next((clock for clock in clocks if stamp in clock.stamps), None)
