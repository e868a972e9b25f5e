"""Tables as files: JSON Lines (or one JSON array), CSV and Parquet, row by row with the line it stands on."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, BinaryIO

from otel_attrib.collector.json_fault import FAULTS, json_fault
from otel_attrib.errors import DataError

__all__ = ["Bad", "Row", "header", "rows"]

_SEEN = 200
_LONG = 1000  # digits: int() refuses a few thousand
_PARQUET = b"PAR1"


@dataclass(frozen=True, slots=True)
class Row:
    """One row as it stands in the file; numbers of JSON are exact, NaN is None, Infinity stays."""

    line: int
    cells: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Bad:
    """A row that cannot be used, and why."""

    line: int
    reason: str


def rows(stream: BinaryIO) -> Iterator[Row | Bad]:
    """Read the whole table from its start; rows that cannot be read are yielded as `Bad`."""
    stream.seek(0)
    if stream.read(4) == _PARQUET:
        yield from _parquet(stream)
        return
    stream.seek(0)
    start = stream.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    stream.seek(0)
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="")
    try:
        yield from {b"{": _json_lines, b"[": _json_array}.get(start, _csv)(text)
    finally:
        text.detach()


def header(stream: BinaryIO, wanted: Iterable[str] = ()) -> list[str]:
    """Columns of the first rows, in order of appearance; it reads on while a wanted one was not met."""
    seen: dict[str, None] = {}
    number, first_bad = 0, ""
    for row in rows(stream):
        if isinstance(row, Bad):
            first_bad = first_bad or f": line {row.line}: {row.reason}"
            continue
        if number >= _SEEN and seen.keys() >= set(wanted):
            break
        seen.update(dict.fromkeys(row.cells))
        number += 1
    if not seen:
        expected = first_bad or ": JSON Lines, a JSON array, CSV or Parquet is expected"
        raise DataError(f"no row that can be read{expected}")
    return list(seen)


def _parquet(stream: BinaryIO) -> Iterator[Row | Bad]:
    import pyarrow as pa
    from pyarrow import parquet

    stream.seek(0)
    try:
        file = parquet.ParquetFile(stream)
        _check_names(file.schema_arrow.names)
        batches = file.iter_batches()
        cells = (row for batch in batches for row in batch.to_pylist())
        yield from (Row(number, row) for number, row in enumerate(cells, start=1))
    except (pa.ArrowException, OSError) as fault:
        raise DataError(f"a Parquet file that cannot be read: {str(fault).splitlines()[0]}") from fault


def _loads(text: str) -> Any:
    return json.loads(text, parse_float=_exact, parse_int=_whole, parse_constant=_constant)


def _exact(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent that no number has
        return Decimal("Infinity")


def _whole(text: str) -> int | Decimal:
    return int(text) if len(text) < _LONG else Decimal(text)


def _constant(name: str) -> Decimal | None:
    return None if name == "NaN" else Decimal(name)


def _json_lines(text: io.TextIOWrapper) -> Iterator[Row | Bad]:
    for line, written in enumerate(text, start=1):
        if written.strip():
            yield _object(line, written)


def _object(line: int, written: str) -> Row | Bad:
    try:
        cells = _loads(written)
    except FAULTS as fault:
        return Bad(line, f"no JSON: {_where(fault)}")
    return Row(line, cells) if isinstance(cells, dict) else Bad(line, "no JSON object")


def _where(fault: Exception) -> str:
    return str(fault) if isinstance(fault, json.JSONDecodeError) else json_fault(fault)


def _json_array(text: io.TextIOWrapper) -> Iterator[Row | Bad]:
    try:
        found = _loads(text.read())
    except FAULTS as fault:
        raise DataError(f"a JSON array that cannot be read: {_where(fault)}") from fault
    for place, cells in enumerate(found, start=1):
        yield Row(place, cells) if isinstance(cells, dict) else Bad(place, "no JSON object")


def _csv(text: io.TextIOWrapper) -> Iterator[Row | Bad]:
    sample = text.readline()
    text.seek(0)
    reader = csv.reader(text, delimiter=max(",;\t", key=sample.count))
    try:
        names = [name.strip() for name in next(reader, [])]
        _check_names(names)
        for cells in reader:
            if cells:
                yield _record(reader.line_num, names, cells)
    except csv.Error as fault:
        raise DataError(f"line {reader.line_num}: no CSV: {fault}") from fault


def _check_names(names: list[str]) -> None:
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"column {twice} stands twice in the header: rename one of them")


def _record(line: int, names: list[str], cells: list[str]) -> Row | Bad:
    if len(cells) != len(names):
        return Bad(line, f"{len(cells)} cell{'s' * (len(cells) != 1)} under {len(names)} column names")
    return Row(line, dict(zip(names, cells, strict=True)))
