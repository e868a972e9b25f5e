"""Protobuf's framing by hand, and points of one length as a table in which only numbers are filled in.

An OTLP number point with a start, a time, a double and attributes that are known is a row of fixed length:
NumberDataPoint has start_time_unix_nano = 2, time_unix_nano = 3 and as_double = 4, each eight bytes,
little-endian, and attributes = 7. In this order the bytes are those that protobuf itself writes.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["PointTable", "field", "field_head", "varint"]

_START, _TIME, _VALUE = b"\x11", b"\x19", b"\x21"
_POINT = 1
_EIGHT = bytes(8)

Times = NDArray[np.int64]


def varint(number: int) -> bytes:
    """A number of seven bits a byte."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number: int, *parts: bytes) -> bytes:
    """A length-delimited field of what `parts` hold together."""
    return b"".join((field_head(number, sum(map(len, parts))), *parts))


def field_head(number: int, size: int) -> bytes:
    """What stands before the `size` bytes of a length-delimited field."""
    return varint(number << 3 | 2) + varint(size)


class PointTable:
    """The `data_points` of several series whose encoded attributes are of one length.

    `columns` says where in a read the series stand, `starting` where among its totals; that is None for
    gauges, whose points have no start.
    """

    def __init__(
        self, columns: Sequence[int], attributes: Sequence[bytes], starting: Sequence[int] | None
    ) -> None:
        """Make one row: a point of every series, its numbers nought."""
        start = _START + _EIGHT if starting is not None else b""
        points = [field(_POINT, start, _TIME, _EIGHT, _VALUE, _EIGHT, each) for each in attributes]
        head = len(points[0]) - len(attributes[0]) - len(start) - 18
        self._columns = np.array(columns)
        self._starting = None if starting is None else np.array(starting)
        fields = {"time": ("<i8", head + len(start) + 1), "value": ("<f8", head + len(start) + 10)}
        if start:
            fields["start"] = ("<i8", head + 1)
        self._type = np.dtype(
            {
                "names": list(fields),
                "formats": [kind for kind, _ in fields.values()],
                "offsets": [offset for _, offset in fields.values()],
                "itemsize": len(points[0]),
            }
        )
        self._row = b"".join(points)
        self._grow(1)

    def filled(self, times: Times, values: NDArray[np.float64], starts: Times) -> memoryview:
        """The points of so many reads, read by read; `values` and `starts` have a row a read.

        The bytes are the table's own: they stand until it is filled again.
        """
        count = len(times)
        if count > len(self._table):
            self._grow(1 << (count - 1).bit_length())
        rows = self._table[:count]
        rows["time"] = times[:, None]
        rows["value"] = values[:, self._columns]
        if self._starting is not None:
            rows["start"] = starts[:, self._starting]
        return self._bytes[: count * len(self._row)].data

    def _grow(self, count: int) -> None:
        # The bytes are the array's and the table a view: a copy of a table leaves out what is between fields.
        self._bytes = np.frombuffer(bytearray(self._row * count), np.uint8)
        self._table = self._bytes.view(self._type).reshape(count, len(self._columns))
