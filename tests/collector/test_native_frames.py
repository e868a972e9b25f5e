"""Native blocks for clients of every protocol version, over every type that our tables and users have."""

from collections.abc import Iterator
from typing import Any

import pytest
from clickhouse_connect.driver import ctypes
from clickhouse_connect.driver.query import QueryContext
from clickhouse_connect.driver.transform import NativeTransform

from otel_attrib.collector.native_columns import Reader, skip_column
from otel_attrib.collector.native_frames import frames
from otel_attrib.collector.query_fault import QueryFault
from otel_attrib.schema.store import open_store

TYPES = {
    "numbers": "number, toInt8(number), toUInt256(number), toFloat32(number), number % 2 = 0",
    "decimals": "toDecimal32(number, 2), toDecimal64(number, 3), toDecimal128(number, 4), toDecimal256(1, 5)",
    "times": "toDate(number), toDate32(number), toDateTime(number, 'UTC'), toDateTime64(1, 9, 'Asia/Tokyo')",
    "intervals": "toIntervalDay(number), toIntervalMicrosecond(number)",
    "strings": "repeat(toString(number), 50), toFixedString('ab', 5), '', unhex('ff00')",
    "ids": "generateUUIDv4(), toIPv4('1.2.3.4'), toIPv6('::1')",
    "enums": "CAST(1, 'Enum8(\\'a, b\\' = 1, \\'c)(\\' = 2)'), CAST('x', 'Enum16(\\'x\\' = 300)')",
    "nullable": "if(number % 2, number, NULL), NULL, toNullable('a')",
    "low cardinality": "toLowCardinality(toString(number % 3)), toLowCardinality(toNullable('x')),"
    " CAST(NULL, 'LowCardinality(Nullable(String))')",
    "lists": "range(number % 4), arrayMap(x -> [toString(x), NULL], range(number % 3)), [],"
    " [toLowCardinality('a')]",
    "maps": "map('a', number), CAST(map('k', 'v'), 'Map(LowCardinality(String), String)'),"
    " map('m', map(1, [number])), CAST(map(), 'Map(LowCardinality(String), LowCardinality(String))')",
    "tuples": "(number, 'a'), CAST((1, [2]), 'Tuple(`odd name, (1)` UInt8, b Array(UInt16))'),"
    " [(1, 'x'), (2, 'y')]",
    "nested": "CAST([(1, 'a')], 'Nested(x UInt8, y LowCardinality(String))')",
}


def native(connection: Any, columns: str, rows: int = 5) -> bytes:
    """A result as the engine writes it."""
    data: bytes = connection.query(
        f"SELECT {columns} FROM numbers({rows}) SETTINGS allow_suspicious_low_cardinality_types = 1", "Native"
    ).bytes()
    return data


@pytest.fixture(scope="module")
def connection() -> Iterator[Any]:
    """An engine without a store; opened like one, so that its time zone is the one that stores need."""
    with open_store("chdb://memory"):
        import chdb

        with chdb.connect(":memory:") as opened:
            yield opened


def rows_of(data: bytes, block_info: bool) -> list[tuple[object, ...]]:
    """What clickhouse-connect reads."""

    class Source:
        gen = iter((data,))

        def close(self) -> None:
            """Nothing to close."""

    buffer: Any = ctypes.RespBuffCls  # the class that every client reads with
    context = QueryContext()
    context.block_info = block_info
    result: Any = NativeTransform.parse_response(buffer(Source()), context)
    return list(result.result_rows)


@pytest.mark.parametrize("columns", TYPES.values(), ids=TYPES)
def test_every_column_ends_where_it_ends(connection: Any, columns: str) -> None:
    """Skipping all columns of a block arrives exactly at its end, at 0, 1 and 300 rows."""
    for rows in (0, 1, 300):
        reader = Reader(native(connection, columns, rows))
        if not reader.data:
            continue
        count, held = reader.varint(), reader.varint()
        for _ in range(count):
            reader.text()
            skip_column(reader, reader.text(), held)

        assert (rows, len(reader.data)) == (held, reader.at)


@pytest.mark.parametrize("columns", TYPES.values(), ids=TYPES)
def test_with_block_info(connection: Any, columns: str) -> None:
    """clickhouse-connect reads the same rows with and without block info."""
    data = native(connection, columns)

    assert repr(rows_of(data, False)) == repr(rows_of(frames(data, 54405, one_block=True), True))
    assert repr(rows_of(data, False)) == repr(rows_of(frames(data, 54405, one_block=False), True))


@pytest.mark.parametrize("columns", TYPES.values(), ids=TYPES)
def test_with_flags(connection: Any, columns: str) -> None:
    """Taking block info and flags out again gives the bytes that the engine wrote."""
    data = native(connection, columns)
    framed = frames(data, 54460, one_block=True)
    reader = Reader(framed)

    assert b"\x01\x00\x02\xff\xff\xff\xff\x00" == framed[:8]
    reader.at = 8
    count, rows = reader.varint(), reader.varint()
    plain, start = b"", 8
    for _ in range(count):
        reader.text()
        kind = reader.text()
        plain += framed[start : reader.at]
        assert 0 == framed[reader.at]
        reader.at += 1
        start = reader.at
        skip_column(reader, kind, rows)
    plain += framed[start:]
    assert data == plain


def test_several_blocks(connection: Any) -> None:
    """Every block of a result gets its own info."""
    data = native(connection, "number, toString(number)", 200_000)
    framed = frames(data, 54460, one_block=False)

    assert framed.count(b"\x01\x00\x02\xff\xff\xff\xff\x00") >= 2
    assert rows_of(data, False) == rows_of(frames(data, 54405, one_block=False), True)


def test_no_version(connection: Any) -> None:
    """Without a version nothing is changed, and nothing is made of nothing."""
    data = native(connection, "number")

    assert data == frames(data, 0, one_block=True)
    assert b"" == frames(b"", 54460, one_block=False)


def test_type_of_unknown_length(connection: Any) -> None:
    """A state of an aggregate function is refused instead of guessed at."""
    data: bytes = connection.query("SELECT sumState(number) FROM numbers(3)", "Native").bytes()

    with pytest.raises(QueryFault, match="AggregateFunction"):
        frames(data, 54460, one_block=True)
