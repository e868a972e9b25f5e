"""Rows of JSON Lines, JSON arrays and CSV, each with its line; what cannot be read is told."""

import io
from decimal import Decimal

import pytest

from otel_attrib.collector.imports.table import Bad, Row, header, rows
from otel_attrib.errors import DataError


def read(text: str | bytes) -> list[Row | Bad]:
    """Every row of a table."""
    return list(rows(io.BytesIO(text if isinstance(text, bytes) else text.encode())))


def test_json_lines() -> None:
    """One object a line, numbers exact, blank lines skipped, NaN empty."""
    text = '{"t": 479748.340626232, "n": 3}\n\n{"t": NaN}\n'

    assert [Row(1, {"t": Decimal("479748.340626232"), "n": 3}), Row(3, {"t": None})] == read(text)


def test_bad_json_lines_are_told_and_passed() -> None:
    """A torn line, or one that is no object, is told with its number; the rest is read."""
    first, second, third = read('{"t": 1}\n{"t": \n[]\n')[0], *read('{"t": 1}\n{"t": \n[]\n')[1:]

    assert Row(1, {"t": 1}) == first
    assert isinstance(second, Bad) and second.line == 2 and second.reason.startswith("no JSON")
    assert Bad(3, "no JSON object") == third


def test_json_array() -> None:
    """An array of objects is a table; the place stands for the line."""
    assert [Row(1, {"a": 1}), Bad(2, "no JSON object"), Row(3, {"a": 2})] == read('\n[{"a": 1}, 5, {"a": 2}]')


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_csv(mark: str) -> None:
    """The delimiter is found in the header; quoted cells may hold lines and delimiters."""
    text = f'\ufeffid{mark} n\n"a{mark}\nb"{mark}2\n'

    assert [Row(3, {"id": f"a{mark}\nb", "n": "2"})] == read(text)


def test_csv_row_of_another_width() -> None:
    """A row with too many or too few cells is told."""
    assert [Bad(2, "1 cells under 2 column names"), Row(3, {"a": "1", "b": "2"})] == read("a,b\n7\n1,2\n")


def test_header_is_the_union_of_the_first_rows() -> None:
    """A column that the first object lacks is found; bad lines are passed over."""
    assert ["a", "b"] == header(io.BytesIO(b'{"a": 1}\nnope\n{"b": 2}\n'))


@pytest.mark.parametrize("data", [b"", b"\n\n", b"a,b\n", b"[]"])
def test_no_rows(data: bytes) -> None:
    """A table without a row is an error, not an import of nothing."""
    with pytest.raises(DataError, match="no row that can be read"):
        header(io.BytesIO(data))
