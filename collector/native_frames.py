"""ClickHouse's Native format as clients ask for it by `client_protocol_version`.

The embedded engine always writes the form without a version. From version 1 on a block begins with its
info, and from 54454 on each column's type is followed by a flag for custom serialization (always 0
here). Go's client, and so Grafana, can read nothing else.
"""

from collections.abc import Iterator

from otel_attrib.collector.native_columns import Reader, skip_column

__all__ = ["frames"]

_BLOCK_INFO = b"\x01\x00\x02\xff\xff\xff\xff\x00"
_WITH_FLAG = 54454


def frames(data: bytes, protocol: int, one_block: bool) -> bytes:
    """Rewrite whole blocks for this protocol version; 0 leaves them as they are."""
    if not protocol or not data:
        return data
    if one_block and protocol < _WITH_FLAG:
        return _BLOCK_INFO + data
    return b"".join(_rewritten(Reader(data), b"\x00" if protocol >= _WITH_FLAG else b""))


def _rewritten(reader: Reader, flag: bytes) -> Iterator[bytes]:
    while reader.at < len(reader.data):
        yield _BLOCK_INFO
        start = reader.at
        columns, rows = reader.varint(), reader.varint()
        for _ in range(columns):
            reader.text()
            kind = reader.text()
            yield reader.data[start : reader.at] + flag
            start = reader.at
            skip_column(reader, kind, rows)
        yield reader.data[start : reader.at]
