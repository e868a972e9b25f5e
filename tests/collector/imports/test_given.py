"""Durations that a table holds as such become the request's, beside those of its stamps."""

import io
import json
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from otel_attrib.collector.imports.mapping import Mapping, pairs, units
from otel_attrib.collector.imports.request import Request
from otel_attrib.collector.imports.survey import Options, survey
from otel_attrib.collector.imports.table import Bad, Row, rows
from otel_attrib.errors import DataError

AT = {"arrival": 1_777_142_838.5, "output_tokens": 3}


def read(stream: io.BytesIO, mapped: dict[str, str] | None = None, *unit: str) -> list[Request]:
    """The requests of a table, every row good."""
    plan = survey(stream, Mapping(mapped or {}, units(unit), {}), Options(), None).plan
    return [plan.request(row) for row in rows(stream) if isinstance(row, Row)]


def lines(*table: dict[str, Any]) -> io.BytesIO:
    """Rows as JSON Lines."""
    return io.BytesIO("\n".join(map(json.dumps, table)).encode())


def test_a_unit_in_the_name_maps_a_column() -> None:
    """`queue_ms` and `ttft_us` are read in their unit, and what the stages leave over is outside."""
    (request,) = read(lines(AT | {"queue_ms": 2.5, "prefill_ms": 40, "ttft_us": 45_000}))

    assert {"queue": 2500.0, "prefill": 40_000.0, "outside": 2500.0} == request.took.stages
    assert (45_000.0, "arrival") == (request.took.ttft_us, request.measured_from)


def test_mapped_durations_have_their_unit() -> None:
    """A column of any name is read in seconds, or in what --unit says for it."""
    table = lines(AT | {"wait": 3, "first": 0.25, "step": 8})
    mapped = pairs("--map", ["queue=wait", "ttft=first", "decode_forward=step"])
    (request,) = read(table, mapped, "queue:ms", "decode_forward:ms")

    assert (250_000.0, 3000.0) == (request.took.ttft_us, request.took.stages["queue"])
    assert {"forward": 8000.0} == request.took.decode


def test_stages_without_ttft_add_up_to_it() -> None:
    """A table that has stages alone gets their sum as TTFT."""
    (request,) = read(lines(AT | {"queue_ms": 2, "prefill_ms": 40}))

    assert (42_000.0, 0.0) == (request.took.ttft_us, request.took.stages["outside"])


def test_a_stamp_and_a_duration_together() -> None:
    """What the table says itself goes before what its stamps give."""
    (request,) = read(lines(AT | {"first_token": AT["arrival"] + 0.5, "prefill_ms": 100, "e2e_ms": 900}))

    assert (500_000.0, 900_000.0) == (request.took.ttft_us, request.took.e2e_us)
    assert {"prefill": 100_000.0, "outside": 400_000.0} == request.took.stages


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"queue_ms": 60, "ttft_ms": 50}, "the stages add up to 60.000 ms, TTFT is 50.000 ms"),
        ({"queue_ms": -1}, "queue is -1 ms, below zero or beyond thirty years"),
        ({"queue_ms": "soon"}, "queue (column queue_ms): 'soon' is no number"),
    ],
    ids=["stages above TTFT", "negative", "no number"],
)
def test_impossible_durations_make_a_bad_row(cells: dict[str, Any], said: str) -> None:
    """What cannot be is refused, with its name."""
    with pytest.raises(ValueError, match=said.replace("(", r"\(").replace(")", r"\)")):
        read(lines(AT | cells))


def test_parquet_is_a_table() -> None:
    """Parquet gives the same request as JSON Lines; its times are read as such, to the nanosecond."""
    stream = io.BytesIO()
    moment = pa.array([1_777_142_838_500_000_001], pa.timestamp("ns", "UTC"))
    parquet.write_table(pa.table({"arrival": moment, "output_tokens": [3], "queue_ms": [2.5]}), stream)
    (request,) = read(stream)

    assert 1_777_142_838_500_000_001 == request.start_ns
    assert ({"queue": 2500.0, "outside": 0.0}, {"output_tokens": 3.0}) == (
        request.took.stages,
        request.counts,
    )


def test_broken_parquet_is_one_clear_error() -> None:
    """A truncated Parquet file is named for what it is."""
    with pytest.raises(DataError, match="a Parquet file that cannot be read"):
        next(iter(rows(io.BytesIO(b"PAR1" + bytes(40)))))


def test_no_bad_rows_among_good() -> None:
    """Reading good lines yields no Bad."""
    assert not [row for row in rows(lines(AT, AT)) if isinstance(row, Bad)]
