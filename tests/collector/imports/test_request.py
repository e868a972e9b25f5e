"""Rows become requests: what is read, what is refused and why, what is left empty."""

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_attrib.collector.imports.mapping import Mapping, pairs, units
from otel_attrib.collector.imports.request import Request
from otel_attrib.collector.imports.survey import Options, Surveyed, survey
from otel_attrib.collector.imports.table import Row, rows
from otel_attrib.errors import DataError, UsageError

WRITTEN = datetime(2026, 1, 1, tzinfo=UTC)
NS = 1_000_000_000
GOOD = {"arrival": 1_777_142_838.5, "first_token": 1_777_142_838.75, "output_tokens": 3}


def surveyed(
    table: list[dict[str, Any]],
    options: Options | None = None,
    written: datetime | None = WRITTEN,
    constants: dict[str, str] | None = None,
) -> tuple[Surveyed, io.BytesIO]:
    """A table of rows whose columns are called like our names, surveyed."""
    stream = io.BytesIO("\n".join(map(json.dumps, table)).encode())
    mapping = Mapping({}, units([]), constants or {})
    return survey(stream, mapping, options or Options(), written), stream


def requests(table: list[dict[str, Any]], **constants: str) -> list[Request]:
    """The table's requests; every row must be good."""
    found, stream = surveyed(table, constants=constants)
    return [found.plan.request(row) for row in rows(stream) if isinstance(row, Row)]


def test_columns_called_like_names_map_themselves() -> None:
    """Names, sizes and times are read without a --map."""
    (request,) = requests([GOOD | {"model": "m", "finish_reason": "stop", "unknown": 1}], tenant="t")

    assert {"model": "m", "finish_reason": "stop", "tenant": "t"} == request.texts
    assert {"output_tokens": 3.0} == request.counts
    assert 1_777_142_838_500_000_000 == request.start_ns
    assert 250_000.0 == request.took.ttft_us


def test_unused_columns_are_told() -> None:
    """A column that is not read is named."""
    found, _ = surveyed([GOOD | {"unknown": 1}])

    assert ["unknown"] == found.unused


def test_columns_that_are_not_there_are_told() -> None:
    """A mapped column that the table lacks is a usage error with the columns that there are."""
    stream = io.BytesIO(json.dumps(GOOD).encode())
    mapping = Mapping(pairs("--map", ["queued=queued_ts"]), units([]), {})

    with pytest.raises(
        UsageError, match="no column queued_ts; the table has arrival, first_token, output_tokens"
    ):
        survey(stream, mapping, Options(), WRITTEN)


def test_a_table_without_a_moment_is_refused() -> None:
    """Without a single stamp nothing can be placed in time."""
    with pytest.raises(UsageError, match="no moment is mapped"):
        surveyed([{"output_tokens": 3}])
    with pytest.raises(DataError, match="no row has a moment in arrival"):
        surveyed([{"arrival": None}, {"arrival": ""}])


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"arrival": "soon"}, "arrival (column arrival): 'soon' is no number"),
        ({"first_token": 1_777_142_838.25}, "first_token is 250.000 ms before arrival"),
        ({"output_tokens": -1}, "output_tokens is -1, below zero"),
        ({"output_tokens": 1.5}, "output_tokens is 1.5, no whole number below 2**32"),
        ({"output_tokens": 1 << 32}, "output_tokens is 4294967296, no whole number below 2**32"),
        ({"output_tokens": "1e999999999"}, "output_tokens: '1e999999999' is too large a number"),
        ({"arrival": -5}, "arrival is -5.000 s, before 0 or after the year 2200"),
        ({"output_tokens": float("inf")}, "output_tokens: Infinity is too large a number"),
        ({"output_tokens": "many"}, "output_tokens: 'many' is no number"),
        ({"arrival": None, "first_token": None}, "no moment in the row"),
        ({"status": "odd"}, "status 'odd' is none of ok, error, aborted, timeout"),
        ({"trace_id": "12"}, "trace_id '12' is not 32 hexadecimal digits"),
        ({"trace_id": "0" * 32}, f"trace_id '{'0' * 32}' is not 32 hexadecimal digits"),
    ],
)
def test_bad_rows_say_why(wrong: dict[str, Any], reason: str) -> None:
    """A row that cannot be used names the column and the value; its neighbours are not touched."""
    found, stream = surveyed([GOOD] * 12 + [GOOD | wrong])
    *good, bad = (row for row in rows(stream) if isinstance(row, Row))

    assert 12 == len([found.plan.request(row) for row in good])
    with pytest.raises(ValueError) as told:
        found.plan.request(bad)
    assert reason == str(told.value)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ({}, "ok"),
        ({"first_token": None}, "aborted"),
        ({"error_type": "OOM"}, "error"),
        ({"status": "Cancelled"}, "aborted"),
        ({"status": 200}, "ok"),
        ({"status": 504}, "timeout"),
        ({"status": 499}, "aborted"),
        ({"status": "500"}, "error"),
        ({"status": True}, "ok"),
        ({"status": False}, "error"),
    ],
)
def test_status(cells: dict[str, Any], expected: str) -> None:
    """A status is read from words, codes and truth values, and without one from what is there."""
    assert expected == requests([GOOD, GOOD | cells])[1].status


def test_what_is_empty_is_counted() -> None:
    """A mapped name that a row leaves empty is counted, not guessed."""
    found, stream = surveyed([GOOD, GOOD | {"output_tokens": None}])
    last = [found.plan.request(row) for row in rows(stream) if isinstance(row, Row)][-1]

    assert {"output_tokens": 1} == dict(found.plan.missing)
    assert "output_tokens" not in last.counts


@given(shift=st.integers(min_value=0, max_value=10**9))
def test_moving_one_clock_changes_no_duration(shift: int) -> None:
    """Whatever the engine's clock shows, what is inside it stays and what crosses it is not measured."""
    engine = {"queued": 0, "scheduled": 20, "first_token": 120, "last_token": 1_120}
    table = [
        {"arrival": 1_777_142_838.5 + row, "output_tokens": 11}
        | {name: shift + row + ms / 1e3 for name, ms in engine.items()}
        for row in range(3)
    ]
    took = [request.took for request in requests(table)]

    for each in took:
        assert pytest.approx((20.0, 100.0, 100.0), abs=1e-3) == (
            each.stages["queue"] / 1e3, each.stages["prefill"] / 1e3, (each.tpot_us or 0) / 1e3,
        )  # fmt: skip
        assert "ingress" not in each.stages


def test_texts_are_made_storable() -> None:
    """Half a character becomes a question mark, and a list its elements."""
    (request,) = requests([GOOD | {"model": "m\ud800", "finish_reason": ["stop", "length"]}])

    assert {"model": "m?", "finish_reason": "stop,length"} == request.texts


def test_a_column_that_appears_late_is_found() -> None:
    """A mapped column need not be in the first rows."""
    stream = io.BytesIO("\n".join(map(json.dumps, [GOOD] * 500 + [GOOD | {"err": "OOM"}])).encode())
    found = survey(stream, Mapping({"error_type": "err"}, units([]), {}), Options(), WRITTEN)

    assert "error_type" in found.plan.mapping.columns


def test_a_table_without_wall_time_ends_when_the_file_was_written() -> None:
    """Relative stamps are placed so that the last one is the file's time, and that is said."""
    table = [{"arrival": 0.0, "last_token": 2.0}, {"arrival": 3.0, "last_token": 9.0}]
    found, stream = surveyed(table)
    starts = [found.plan.request(row).start_ns for row in rows(stream) if isinstance(row, Row)]
    end = int(WRITTEN.timestamp()) * NS

    assert [end - 9 * NS, end - 6 * NS] == starts
    assert "2026-01-01T00:00:00Z" in found.notes[0]


def test_start_places_the_first_stamp() -> None:
    """--start says when the first stamp was; with a wall clock in the table it is refused."""
    options = Options(start="2026-04-25T18:47:18Z")
    found, stream = surveyed([{"arrival": 5.0}, {"arrival": 7.5}], options)
    starts = [found.plan.request(row).start_ns for row in rows(stream) if isinstance(row, Row)]

    assert [1_777_142_838 * NS, 1_777_142_838 * NS + 5 * NS // 2] == starts
    with pytest.raises(UsageError, match="has a wall clock already"):
        surveyed([GOOD], options)
    with pytest.raises(UsageError, match="RFC 3339"):
        surveyed([{"arrival": 5.0}], Options(start="noon"))


def test_standard_input_without_wall_time_needs_a_start() -> None:
    """Without a file's time there is nothing to place relative stamps by."""
    with pytest.raises(UsageError, match="give --start"):
        surveyed([{"arrival": 5.0}], written=None)


def test_notes() -> None:
    """Dates without a zone, and zeros read as not reached, are said."""
    dates, _ = surveyed([{"arrival": "2023-11-16 18:17:03"}])
    zeros, stream = surveyed([GOOD, GOOD, GOOD | {"first_token": 0}])
    last = [zeros.plan.request(row) for row in rows(stream) if isinstance(row, Row)][-1]

    assert ["dates without a zone are read as UTC: arrival"] == list(dates.notes)
    assert ["first_token is 0 in 1 rows: read as not reached"] == list(zeros.notes)
    assert (None, "aborted") == (last.took.ttft_us, last.status)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["arrival"], "write name=value"),
        (["arival=t"], "no such name; there are request_id"),
        (["arrival=a", "arrival=b"], "given twice: 'a' and 'b'"),
    ],
)
def test_wrong_pairs(given: list[str], message: str) -> None:
    """A --map that cannot be read is refused with what could be written."""
    with pytest.raises(UsageError, match=message):
        pairs("--map", given)


def test_units() -> None:
    """One unit for all, single ones beside it, seconds where nothing is said."""
    assert {"s"} == set(units([]).values())
    assert ("ns", "ms") == (units(["arrival:ns", "ms"])["arrival"], units(["arrival:ns", "ms"])["queued"])
    with pytest.raises(UsageError, match="--unit 'h'"):
        units(["h"])


def test_nested_texts() -> None:
    """What is nested in a text column is JSON again, without a type of Python's."""
    (request,) = requests([GOOD | {"model": {"a": [1.5, None]}, "tenant": ["x", {"b": True}]}])

    assert {"model": '{"a": ["1.5", null]}', "tenant": 'x,{"b": true}'} == request.texts
