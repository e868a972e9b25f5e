"""How a table of counters is understood: wide (a column a counter) or long (a row a value).

Wide: `gpu_clock=clocks.sm` names the column of a counter. Long: `metric=name value=val` name the two columns,
and `gpu_clock=DCGM_FI_DEV_SM_CLOCK` the word in the first. Our keys are those of `schema.counters`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from otel_attrib.collector.imports.quantities import factor
from otel_attrib.collector.imports.stamps import UNITS
from otel_attrib.errors import UsageError
from otel_attrib.schema.counters import COUNTERS, Counter, counter_named

__all__ = ["PLACES", "SampleMapping", "sample_mapping"]

PLACES: Final = ("time", "node", "device", "service", "metric", "value")
"""Columns that are no counter."""

_CONSTANTS: Final = ("node", "device", "service")
_KEYS: Final = tuple(counter.key for counter in COUNTERS)


@dataclass(frozen=True, slots=True)
class SampleMapping:
    """`places`: ours → column; `counters`: column (wide) or word (long) → counter; `factors`: by key."""

    places: Mapping[str, str]
    counters: Mapping[str, Counter]
    constants: Mapping[str, str]
    factors: Mapping[str, float]
    time_unit: str

    @property
    def long(self) -> bool:
        """Whether each row holds one value of a named metric."""
        return "metric" in self.places

    def completed(self, header: Sequence[str]) -> "SampleMapping":
        """Fit it to a table: what is called like ours maps itself, what was named must be there."""
        named = [*self.places.values(), *([] if self.long else self.counters)]
        if lost := sorted(set(named) - set(header)):
            raise UsageError(f"no column {', '.join(lost)}; the table has {', '.join(header)}")
        taken = set(named)
        same = {name: name for name in PLACES if name in header and name not in taken | set(self.constants)}
        places = {**same, **self.places}
        counters = dict(self.counters)
        if "metric" not in places:
            keys = {key: counter_named(key) for key in _KEYS if key in header and key not in taken}
            mapped = {counter.key for counter in counters.values()}
            counters |= {key: counter for key, counter in keys.items() if key not in mapped}
        whole = SampleMapping(places, counters, self.constants, self.factors, self.time_unit)
        whole._check(header)
        return whole

    def _check(self, header: Sequence[str]) -> None:
        example = header[0] if header else "COLUMN"
        if "time" not in self.places:
            raise UsageError(f"no time is mapped: give its column, as in --map time={example}")
        if self.long and "value" not in self.places:
            raise UsageError("a table with a metric column needs --map value=COLUMN beside it")
        if not self.long and not self.counters:
            raise UsageError(
                f"no counter is mapped: give one, as in --map gpu_clock={example}; or for one value a row"
                " --map metric=COLUMN value=COLUMN"
            )

    def unused(self, header: Sequence[str]) -> list[str]:
        """Columns of the table that are not read."""
        used = {*self.places.values(), *([] if self.long else self.counters)}
        return [column for column in header if column not in used]


def sample_mapping(mapped: Iterable[str], set_: Iterable[str], units: Iterable[str]) -> SampleMapping:
    """Read the words of --map, --set and --unit; a mistake is a usage error that says what is possible."""
    places, counters = _read(mapped)
    constants = dict(_pair("--set", word) for word in set_)
    if strange := sorted(set(constants) - set(_CONSTANTS)):
        raise UsageError(f"--set {strange[0]}: only {', '.join(_CONSTANTS)} can be the same for every row")
    factors: dict[str, float] = {}
    time_unit = "s"
    for word in units:
        key, colon, unit = word.partition(":")
        if not colon:
            raise UsageError(f"--unit {word!r}: write NAME:UNIT, as in gpu_clock:GHz or time:ms")
        if key == "time":
            time_unit = _time_unit(unit)
        else:
            factors[key] = factor(key, _counter("--unit", key).unit, unit)
    return SampleMapping(places, counters, constants, factors, time_unit)


def _read(mapped: Iterable[str]) -> tuple[dict[str, str], dict[str, Counter]]:
    places: dict[str, str] = {}
    counters: dict[str, Counter] = {}
    for word in mapped:
        name, column = _pair("--map", word)
        if name in places or name in {counter.key for counter in counters.values()}:
            raise UsageError(f"--map {name} is given twice")
        if name in PLACES:
            places[name] = column
        elif column in counters:
            raise UsageError(f"--map {word!r}: {column} is {counters[column].key} already")
        else:
            counters[column] = _counter("--map", name)
    return places, counters


def _pair(option: str, word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not (name and equals and value):
        raise UsageError(f"{option} {word!r}: write name=value")
    return name, value


def _counter(option: str, key: str) -> Counter:
    try:
        return counter_named(key)
    except KeyError:
        raise UsageError(
            f"{option} {key}: no such name; there are {', '.join(PLACES)} and the counters {', '.join(_KEYS)}"
        ) from None


def _time_unit(unit: str) -> str:
    if unit not in UNITS:
        raise UsageError(f"--unit time:{unit}: write one of {', '.join(UNITS)}")
    return unit
