"""Rows of JSON Lines, JSON arrays and CSV, each with its line; what cannot be read is told."""

import io
from decimal import Decimal

import pyarrow as pa
import pytest
from pyarrow import parquet

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
    assert [Bad(2, "1 cell under 2 column names"), Row(3, {"a": "1", "b": "2"})] == read("a,b\n7\n1,2\n")


def test_header_is_the_union_of_the_first_rows() -> None:
    """A column that the first object lacks is found; bad lines are passed over."""
    assert ["a", "b"] == header(io.BytesIO(b'{"a": 1}\nnope\n{"b": 2}\n'))


@pytest.mark.parametrize("data", [b"", b"\n\n", b"a,b\n", b"[]"])
def test_no_rows(data: bytes) -> None:
    """A table without a row is an error, not an import of nothing."""
    with pytest.raises(DataError, match="no row that can be read"):
        header(io.BytesIO(data))


DEEP = 100_000 * "["


@pytest.mark.parametrize("line", ['{"arrival":' + DEEP, '{"arrival":' + 200_000 * '{"a":'])
def test_a_line_nested_without_end_is_bad(line: str) -> None:
    """A line that no parser can follow is one bad line; the next is read."""
    assert [Bad(1, "no JSON: nested too deeply"), Row(2, {"a": 1})] == read(f'{line}\n{{"a": 1}}\n')


def test_an_array_nested_without_end() -> None:
    """An array that no parser can follow is refused in one line."""
    with pytest.raises(DataError, match="^a JSON array that cannot be read: nested too deeply$"):
        read(DEEP)


def test_numbers_beyond_every_size() -> None:
    """Thousands of digits and endless exponents are cells as others are; infinite ones are not empty."""
    digits = "7" * 6000
    text = f'{{"a": {digits}, "b": 1e99999999999999999999, "c": Infinity, "d": -Infinity, "e": NaN}}\n'

    (row,) = read(text)

    assert isinstance(row, Row)
    assert digits == str(row.cells["a"])
    assert ["Infinity", "Infinity", "-Infinity", "None"] == [str(row.cells[name]) for name in "bcde"]


def test_a_column_twice_is_refused() -> None:
    """Of two columns of one name neither is taken for the other, in CSV and in Parquet."""
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["ttft", "ttft"])
    file = io.BytesIO()
    parquet.write_table(table, file)

    for data in (b"arrival,ttft, ttft\n1,2,3\n", file.getvalue()):
        with pytest.raises(DataError, match="column ttft stands twice in the header"):
            read(data)
    assert [Row(2, {"a": "1", "": "3"})] == read("a,,\n1,2,3\n")  # what has no name is nobody's


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("t,ttft,x\n1790000001,0.1\n1790000001\n", ": line 2: 2 cells under 3 column names"),
        ("t,ttft\n1790000001\n", ": line 2: 1 cell under 2 column names"),
        ("{\n", ": line 1: no JSON: Expecting property name"),
        ("{}\n", ": JSON Lines, a JSON array, CSV or Parquet is expected"),
    ],
)
def test_no_row_says_why(text: str, told: str) -> None:
    """Where every row is bad, the first says with its line what is wrong with it."""
    with pytest.raises(DataError) as caught:
        header(io.BytesIO(text.encode()))

    assert f"no row that can be read{told}" in str(caught.value)
