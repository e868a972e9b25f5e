"""One row of a table as a request: dimensions, sizes, how it ended, when, and how long its stages took."""

import json
import re
from collections import Counter
from collections.abc import Mapping as MappingType
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from otel_attrib.collector.imports.clocks import Clock
from otel_attrib.collector.imports.durations import Durations, Origin, durations, misordered
from otel_attrib.collector.imports.given import durations_of, with_given
from otel_attrib.collector.imports.mapping import COUNTS, STAMPS, TEXTS, Mapping
from otel_attrib.collector.imports.outcome import status
from otel_attrib.collector.imports.stamps import Stamp, number, parse_stamp
from otel_attrib.collector.imports.table import Row

_LATEST = 7_258_118_400 * 10**9  # 2200: every duration added to it still is a time of the store
_MOST = (1 << 32) - 1  # the store counts tokens in 32 bits
_TRACE_ID = re.compile(r"(?!0{32})[0-9a-fA-F]{32}")

__all__ = ["Plan", "Request", "stamps_of"]


@dataclass(frozen=True, slots=True)
class Request:
    """One request; `start_ns` counts from 1970, `texts` and `counts` hold only what was observed."""

    line: int
    texts: MappingType[str, str]
    counts: MappingType[str, float]
    status: str
    start_ns: int
    at: MappingType[str, int]
    given: MappingType[str, float]
    took: Durations
    measured_from: Origin


@dataclass(slots=True)
class Plan:
    """How the rows of one table become requests, fixed after the whole table was surveyed.

    `shift_ns` is added to the first clock's stamps to place them on the wall when no stamp is a
    Unix time; `missing` counts what rows left empty, by name.
    """

    mapping: Mapping
    clocks: Sequence[Clock]
    origin: Origin
    unset: MappingType[str, bool]
    shift_ns: int = 0
    missing: Counter[str] = field(default_factory=Counter)

    def request(self, row: Row) -> Request:
        """Read one row; ValueError says why it cannot be used."""
        at = {
            name: stamp.ns
            for name, stamp in stamps_of(row, self.mapping).items()
            if self._reached(name, stamp)
        }
        if not at:
            raise ValueError("no moment in the row")
        for name, ns in at.items():
            if not 0 <= ns < _LATEST:
                raise ValueError(f"{name} is {ns / 1e9:,.3f} s, before 0 or after the year 2200")
        if (fault := misordered(at, self.clocks)) is not None:
            raise ValueError(fault)
        texts, counts = self._texts(row), self._counts(row)
        if "trace_id" in texts and not _TRACE_ID.fullmatch(texts["trace_id"]):
            raise ValueError(f"trace_id {texts['trace_id']!r} is not 32 hexadecimal digits")
        given = durations_of(row, self.mapping.columns, self.mapping.units)
        self._count_missing({*at, *texts, *counts, *given})
        tokens = counts.get("output_tokens")
        took = durations(at, self.clocks, self.origin, None if tokens is None else int(tokens))
        return Request(
            line=row.line,
            texts=texts,
            counts=counts,
            status=self._status(texts, at),
            start_ns=self._start(at),
            at=at,
            given=given,
            took=with_given(took, given),
            measured_from="arrival" if given and not self.origin else self.origin,
        )

    def _reached(self, name: str, stamp: Stamp) -> bool:
        return not (stamp.ns == 0 and self.unset.get(name, False))

    def _start(self, at: MappingType[str, int]) -> int:
        """The earliest stamp that is a Unix time, or one that the table's start places there."""
        wall = {stamp for clock in self.clocks if clock.wall for stamp in clock.stamps}
        if not wall:
            wall = set(self.clocks[0].stamps)
        found = next((at[name] for name in STAMPS if name in wall and name in at), None)
        if found is None:
            raise ValueError(f"no wall-clock moment: {', '.join(sorted(wall))} empty")
        if not 0 <= found + self.shift_ns < _LATEST:
            raise ValueError("placed before 1970 or after 2200: check --start and --unit")
        return found + self.shift_ns

    def _texts(self, row: Row) -> dict[str, str]:
        cells = {
            name: row.cells.get(column) for name, column in self.mapping.columns.items() if name in TEXTS
        }
        known = {
            name: _text(value) for name, value in {**cells, **self.mapping.constants}.items() if name in TEXTS
        }
        return {name: value for name, value in known.items() if value}

    def _counts(self, row: Row) -> dict[str, float]:
        found = {}
        for name in COUNTS:
            value = self.mapping.constants.get(name, row.cells.get(self.mapping.columns.get(name, "")))
            if (counted := _count(name, value)) is not None:
                found[name] = counted
        return found

    def _status(self, texts: MappingType[str, str], at: MappingType[str, int]) -> str:
        if "status" in texts:
            return status(texts["status"])
        if "error_type" in texts:
            return "error"
        ends = {"first_token", "last_token"} & self.mapping.columns.keys()
        return "aborted" if ends and not ends & at.keys() else "ok"

    def _count_missing(self, observed: set[str]) -> None:
        self.missing.update(name for name in self.mapping.columns if name not in observed)


def stamps_of(row: Row, mapping: Mapping) -> dict[str, Stamp]:
    """The stamps of a row that are there; ValueError names the column whose cell is none."""
    found = {}
    for name in mapping.stamps:
        column = mapping.columns[name]
        try:
            stamp = parse_stamp(row.cells.get(column), mapping.units[name])
        except ValueError as fault:
            raise ValueError(f"{name} (column {column}): {fault}") from None
        if stamp is not None:
            found[name] = stamp
    return found


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return ",".join(_written(part) if isinstance(part, list | dict) else _text(part) for part in value)
    if isinstance(value, dict):
        return _written(value)
    text = str(value).lower() if isinstance(value, bool) else str(value).strip()
    return text.encode("utf-8", "replace").decode()  # JSON may hold halves of characters


def _written(value: Any) -> str:
    """Return what is nested as JSON again."""
    try:
        return json.dumps(value, default=str)
    except RecursionError:
        raise ValueError("a value is nested too deeply") from None


def _count(name: str, value: Any) -> float | None:
    try:
        found = number(value)
    except ValueError as fault:
        raise ValueError(f"{name}: {fault}") from None
    if found is None:
        return None
    if found < 0:
        raise ValueError(f"{name} is {found}, below zero")
    if name == "weight" and not 1 <= found <= 1000:
        raise ValueError(f"weight is {found}: a row stands for 1 to 1000 requests")
    if name not in ("sla_deadline_ms", "weight") and (found != int(found) or found > _MOST):
        raise ValueError(f"{name} is {found}, no whole number below 2**32")
    return float(found)
