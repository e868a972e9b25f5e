"""Where a column ends in ClickHouse's Native format, found from its type without reading its values.

A column is first the prefixes of its low-cardinality parts, then its data; both follow the type's
structure. States of aggregate functions, JSON, Dynamic and Variant tell their length nowhere and are
refused.
"""

import re
from collections.abc import Sequence
from functools import cache

from otel_attrib.collector.query_fault import QueryFault

__all__ = ["Reader", "skip_column"]

_WIDTHS = {
    1: ("UInt8", "Int8", "Bool", "Enum8", "Nothing"),
    2: ("UInt16", "Int16", "Date", "Enum16", "BFloat16"),
    4: ("UInt32", "Int32", "Float32", "Date32", "DateTime", "IPv4", "Decimal32", "Time"),
    8: ("UInt64", "Int64", "Float64", "DateTime64", "Decimal64", "Time64"),
    16: ("UInt128", "Int128", "UUID", "IPv6", "Decimal128"),
    32: ("UInt256", "Int256", "Decimal256"),
}
_WIDTH_OF = {name: width for width, names in _WIDTHS.items() for name in names}
_PRECISIONS = ((9, 4), (18, 8), (38, 16), (76, 32))
_NAME = re.compile(r"(?:`(?:[^`\\]|\\.)*`|\w+) (?=[A-Z])")


class Reader:
    """Bytes with a place in them."""

    def __init__(self, data: bytes) -> None:
        """Start at the beginning."""
        self.data = data
        self.at = 0

    def varint(self) -> int:
        """Read one unsigned LEB128 number."""
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def text(self) -> str:
        """Read one string."""
        length = self.varint()
        self.at += length
        return self.data[self.at - length : self.at].decode()

    def number(self, width: int = 8) -> int:
        """Read one little-endian number."""
        self.at += width
        return int.from_bytes(self.data[self.at - width : self.at], "little")


def skip_column(reader: Reader, kind: str, rows: int) -> None:
    """Move past a column of type `kind`; `QueryFault` when the type does not tell its length."""
    if rows:
        _skip_prefix(reader, kind)
        _skip_data(reader, kind, rows)


def _skip_prefix(reader: Reader, kind: str) -> None:
    name, arguments = _parts(kind)
    if name == "LowCardinality":
        reader.number()
    elif name in ("Array", "Tuple", "Map", "Nested", "Nullable"):
        for argument in arguments:
            _skip_prefix(reader, argument)
    elif name == "SimpleAggregateFunction":
        _skip_prefix(reader, arguments[1])


def _skip_data(reader: Reader, kind: str, rows: int) -> None:
    name, arguments = _parts(kind)
    if name == "String":
        for _ in range(rows):
            length = reader.varint()
            reader.at += length
    elif name == "FixedString":
        reader.at += rows * int(arguments[0])
    elif name == "Nullable":
        reader.at += rows
        _skip_data(reader, arguments[0], rows)
    elif name == "LowCardinality":
        _skip_low_cardinality(reader, arguments[0], rows)
    elif name in ("Array", "Map", "Nested"):
        _skip_lists(reader, arguments, rows)
    elif name == "Tuple":
        for argument in arguments:
            _skip_data(reader, argument, rows)
    elif name == "SimpleAggregateFunction":
        _skip_data(reader, arguments[1], rows)
    else:
        reader.at += rows * _width(name, arguments, kind)


def _skip_lists(reader: Reader, inner: Sequence[str], rows: int) -> None:
    reader.at += 8 * (rows - 1)
    total = reader.number()
    if total:
        for kind in inner:
            _skip_data(reader, kind, total)


def _skip_low_cardinality(reader: Reader, inner: str, rows: int) -> None:
    if not rows:
        return
    index_width = 1 << (reader.number() & 0xFF)
    keys = reader.number()
    name, arguments = _parts(inner)
    # The dictionary holds NULL as its first key, not as a map of its own.
    _skip_data(reader, arguments[0] if name == "Nullable" else inner, keys)
    count = reader.number()
    reader.at += count * index_width


def _width(name: str, arguments: Sequence[str], kind: str) -> int:
    if name == "Decimal":
        return next(width for precision, width in _PRECISIONS if int(arguments[0]) <= precision)
    if name.startswith("Interval"):
        return 8
    if name not in _WIDTH_OF:
        raise QueryFault(
            48, "NOT_IMPLEMENTED", f"Type {kind} cannot be sent to this client: ask for a text format"
        )
    return _WIDTH_OF[name]


@cache
def _parts(kind: str) -> tuple[str, tuple[str, ...]]:
    """`Map(String, UInt8)` is `Map` of `String` and `UInt8`; names of elements are dropped."""
    name, bracket, rest = kind.partition("(")
    if not bracket or name.startswith(("Enum", "DateTime", "Time")):
        return name, ()
    return name, tuple(_NAME.sub("", part, count=1).strip() for part in _split(rest[:-1]))


def _split(text: str) -> list[str]:
    parts, depth, quote, escaped = [""], 0, "", False
    for letter in text:
        if letter == "," and not depth and not quote:
            parts.append("")
            continue
        parts[-1] += letter
        if quote:
            quote = "" if letter == quote and not escaped else quote
            escaped = letter == "\\" and not escaped
        elif letter in "'`":
            quote = letter
        else:
            depth += (letter == "(") - (letter == ")")
    return [part.strip() for part in parts]
