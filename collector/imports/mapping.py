"""Which column of a table is which of our names, in which unit, with which constants beside it."""

from collections.abc import Iterable, Sequence
from collections.abc import Mapping as MappingType
from dataclasses import dataclass, replace
from typing import Final

from otel_attrib.collector.imports.stamps import UNITS
from otel_attrib.errors import UsageError
from otel_attrib.schema.attributes import DECODE_STAGES, STAGES

__all__ = ["COUNTS", "DURATIONS", "NAMES", "STAMPS", "TEXTS", "Mapping", "pairs", "said_units", "units"]

STAMPS: Final = ("arrival", "queued", "scheduled", "first_token", "last_token")
"""Moments of a request in the order in which they happen."""

COUNTS: Final = (
    "prompt_tokens",
    "cached_tokens",
    "output_tokens",
    "preemptions",
    "sla_deadline_ms",
    "weight",
)
"""Numbers that are not moments."""

TEXTS: Final = (
    "request_id",
    "trace_id",
    "service",
    "version",
    "node",
    "gpu_set",
    "engine",
    "engine_version",
    "model",
    "replica",
    "tenant",
    "sla_class",
    "stream_id",
    "partition_id",
    "operator_id",
    "parallelism",
    "operation",
    "status",
    "finish_reason",
    "error_type",
)
"""Identity, dimensions and how it ended."""

DURATIONS: Final = (
    "ttft",
    "tpot",
    "e2e",
    *(stage for stage in STAGES if stage != "outside"),
    *(f"decode_{stage}" for stage in DECODE_STAGES),
)
"""Times that a table holds as such; `decode_…` per output token after the first."""

NAMES: Final = (*TEXTS, *COUNTS, *STAMPS, *DURATIONS)

_TIMED: Final = (*STAMPS, *DURATIONS)
_MAP_THEMSELVES: Final = (*TEXTS, *COUNTS, *STAMPS)


@dataclass(frozen=True, slots=True)
class Mapping:
    """`columns`: our name → column of the table; `units`: stamp → unit; `constants`: our name → value."""

    columns: MappingType[str, str]
    units: MappingType[str, str]
    constants: MappingType[str, str]
    said: frozenset[str] = frozenset()
    """The times whose unit somebody said."""

    @property
    def stamps(self) -> tuple[str, ...]:
        """The moments that the table has, in order."""
        return tuple(name for name in STAMPS if name in self.columns)

    @property
    def timed(self) -> tuple[str, ...]:
        """The moments and durations that the table has, in order."""
        return tuple(name for name in _TIMED if name in self.columns)

    def completed(self, header: Sequence[str]) -> "Mapping":
        """Fit it to a table: columns called like our names map themselves, a named one must be there."""
        lost = sorted(set(self.columns.values()) - set(header))
        if lost:
            raise UsageError(f"no column {', '.join(lost)}; the table has {', '.join(header)}")
        taken = set(self.columns.values())
        same = {
            name: name
            for name in _MAP_THEMSELVES
            if name in header and name not in taken | set(self.constants)
        }
        suffixed = {
            name: (column, unit)
            for name in DURATIONS
            for unit in UNITS
            if (column := f"{name}_{unit}") in header and column not in taken and name not in self.columns
        }
        whole = Mapping(
            {**same, **{name: column for name, (column, _) in suffixed.items()}, **self.columns},
            {**self.units, **{name: unit for name, (_, unit) in suffixed.items()}},
            self.constants,
            self.said | suffixed.keys(),
        )
        if not whole.stamps:
            example = f"--map arrival={header[0]}" if header else "--map arrival=COLUMN"
            raise UsageError(
                f"no moment is mapped: give at least one of {', '.join(STAMPS)}, as in {example}"
            )
        return whole

    def bare(self, header: Sequence[str]) -> list[str]:
        """Durations that a column is called like, without a unit: theirs if the column holds numbers."""
        taken = {*self.columns, *self.columns.values(), *self.constants}
        return [name for name in DURATIONS if name in header and name not in taken]

    def also(self, durations: Iterable[str]) -> "Mapping":
        """Return it with these durations read from the columns called like them."""
        return replace(self, columns={**self.columns, **{name: name for name in durations}})

    def unused(self, header: Sequence[str]) -> list[str]:
        """Columns of the table that are not read."""
        return [column for column in header if column not in self.columns.values()]


def pairs(option: str, given: Iterable[str], names: Sequence[str] = NAMES) -> dict[str, str]:
    """Read `name=value` words; an unknown or repeated name is a usage error that lists the names."""
    found: dict[str, str] = {}
    for word in given:
        name, mark, value = word.partition("=")
        if not mark or not value:
            raise UsageError(f"{option} {word!r}: write name=value")
        if name not in names:
            raise UsageError(f"{option} {word!r}: no such name; there are {', '.join(names)}")
        if name in found:
            raise UsageError(f"{option} {name} is given twice: {found[name]!r} and {value!r}")
        found[name] = value
    return found


def units(given: Iterable[str]) -> dict[str, str]:
    """Read `--unit ms` (all times) and `--unit arrival:ms` (one); seconds where nothing is said."""
    found = dict.fromkeys(_TIMED, "s")
    for word in sorted(given, key=lambda word: ":" in word):
        name, _, unit = word.rpartition(":")
        if unit not in UNITS or name and name not in _TIMED:
            raise UsageError(
                f"--unit {word!r}: write s, ms, us or ns, or one of {', '.join(_TIMED)} as arrival:ms"
            )
        found.update(dict.fromkeys((name,) if name else _TIMED, unit))
    return found


def said_units(given: Iterable[str]) -> frozenset[str]:
    """Return the times whose unit `--unit` says, of words that `units` takes."""
    names = [word.rpartition(":")[0] for word in given]
    return frozenset(_TIMED if "" in names else names)
