"""Statements of the ClickHouse port, run by the embedded engine: a fresh session each, so nothing leaks.

Opening one costs about a millisecond; a setting of one client can never reach another. Formats whose
blocks can be put one after the other are streamed, all others are made whole first, within the memory
limit of a query.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from otel_attrib.collector.native_frames import frames
from otel_attrib.collector.query_fault import QueryFault, fault_of
from otel_attrib.collector.query_guard import INSPECT, Statement, guard
from otel_attrib.collector.query_settings import session

__all__ = ["Query", "QueryEngine", "Result"]

_STREAMED = frozenset(
    ("Native", "TabSeparated", "TSV", "TabSeparatedRaw", "TSVRaw", "CSV", "RowBinary")
    + ("JSONEachRow", "JSONLines", "NDJSON", "JSONCompactEachRow")
)


@dataclass(frozen=True, slots=True)
class Query:
    """One statement as a client sent it; parameters are in ClickHouse's escaped form."""

    sql: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    database: str = ""
    default_format: str = "TabSeparated"
    protocol: int = 0


@dataclass(slots=True)
class Result:
    """What came of it: bytes of `format`, piece by piece; `close` when done with it."""

    format: str
    pieces: Iterator[bytes]
    # What is to be closed, in this order: a session waits for ever for a stream that outlives it.
    held: Sequence[Any]
    rows: int = 0
    size: int = 0
    elapsed_ns: int = 0
    # A session is closed only between two pieces: the engine does not expect it within one.
    _lock: Lock = field(default_factory=Lock)
    _closed: bool = False

    def next(self) -> bytes | None:
        """The next piece, or None after the last; blocks. Raises `QueryFault`."""
        with self._lock:
            if self._closed:
                return None
            try:
                return next(self.pieces, None)
            except QueryFault:
                raise
            except Exception as error:
                raise fault_of(error) from error

    def close(self) -> None:
        """End the session, and the query if it still runs."""
        with self._lock:
            self._closed = True
            for each in self.held:
                each.close()


class QueryEngine:
    """The embedded store, for readers."""

    def __init__(self, path: str, database: str, seconds: float, memory: int) -> None:
        """Ask the engine what it is; `path` is the one that this process has open."""
        self._path = path
        self._database = database
        self._seconds = seconds
        self._memory = memory
        connection = self._connect()
        self.version = _scalar(connection, "SELECT version()")
        self.time_zone = _scalar(connection, "SELECT timezone()")
        names = _scalar(connection, "SELECT groupArray(lower(name)) FROM system.table_functions")
        self._table_functions = frozenset(names.strip("[]").replace("'", "").split(","))
        connection.close()

    def run(self, query: Query) -> Result:
        """Begin a statement; blocks, so call it in a thread. Raises `QueryFault`."""
        connection = self._connect()
        try:
            # Before the client's settings, which could change how the engine tells what it parsed.
            statement = guard(query.sql, lambda text: _inspect(connection, text), self._table_functions)
            self._prepare(connection, query)
            connection.query(f"SET readonly = {statement.readonly}")
            return self._execute(connection, statement, query)
        except QueryFault:
            connection.close()
            raise
        except Exception as error:
            connection.close()
            raise fault_of(error) from error

    def cancel(self) -> None:
        """End every reading statement that runs; each says that it was cancelled."""
        connection = self._connect()
        connection.query("KILL QUERY WHERE query_kind != 'Insert' ASYNC")
        connection.close()

    def _connect(self) -> Any:
        from chdb import connect

        return connect(self._path)

    def _prepare(self, connection: Any, query: Query) -> None:
        database = self._database if query.database in ("", "default") else query.database
        connection.query(f"USE {_identifier(database)}")
        connection.query(session(query.settings, self._seconds, self._memory))

    def _execute(self, connection: Any, statement: Statement, query: Query) -> Result:
        asked = statement.format or query.default_format
        parameters = dict(query.parameters)
        if asked in _STREAMED and statement.is_streamable:
            stream = connection.send_query(statement.text, asked, params=parameters)
            pieces = (piece.bytes() for piece in stream)
            if asked == "Native":
                pieces = (frames(piece, query.protocol, one_block=True) for piece in pieces)
            return Result(asked, pieces, (stream, connection))
        done = connection.query(statement.text, asked, params=parameters)
        elapsed = int(done.elapsed() * 1e9)
        data = done.bytes()
        if asked == "Native":
            data = frames(data, query.protocol, one_block=False)
        return Result(
            asked, iter((data,)), (connection,), done.storage_rows_read(), done.storage_bytes_read(), elapsed
        )


def _inspect(connection: Any, statement: str) -> bytes:
    escaped = statement.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
    found: bytes = connection.query(INSPECT, "JSONCompactEachRow", params={"statement": escaped}).bytes()
    return found


def _scalar(connection: Any, sql: str) -> str:
    value: str = connection.query(sql, "TabSeparatedRaw").bytes().decode().strip()
    return value


def _identifier(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"
