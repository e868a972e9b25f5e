"""A ClickHouse server for tests: HTTP over an embedded engine, reading and writing, no users, no limits.

python -m otel_attrib.testing_clickhouse DIRECTORY [PORT]

Prints its port. It is what `clickhouse://` DSNs are tested against where no server is installed.
"""

import os
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

__all__ = ["main"]

_NOT_SETTINGS = frozenset(
    ("query", "query_id", "database", "default_format", "session_id", "client_protocol_version", "compress")
    + ("enable_http_compression", "wait_end_of_query", "send_progress_in_http_headers")
    + ("http_headers_progress_interval_ms",)
)
_INSERT = re.compile(rb"\s*(INSERT\s+INTO\s.*?)\s+FORMAT\s+(\w+)[ ]*\n?", re.IGNORECASE | re.DOTALL)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    path_of_store = ""

    def do_GET(self) -> None:
        """Answer `/ping`, or run the URL's statement."""
        self._answer(b"")

    def do_POST(self) -> None:
        """Run a statement with its data."""
        self._answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _answer(self, body: bytes) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/ping":
            return self._send(200, b"Ok.\n")
        given = dict(parse_qsl(parts.query, keep_blank_values=True))
        try:
            self._send(200, _run(self.path_of_store, given, body))
        except Exception as fault:
            text = str(fault)
            code = re.search(r"Code: (\d+)", text)
            headers = {"X-ClickHouse-Exception-Code": code[1] if code else "1001"}
            self._send(500, text[max(0, text.find("Code:")) :].encode(), headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _run(path: str, given: dict[str, str], body: bytes) -> bytes:
    import chdb

    with chdb.connect(path) as connection:
        connection.query(f"USE {given.get('database') or 'default'}")
        for name, value in given.items():
            if name not in _NOT_SETTINGS and not name.startswith("param_"):
                quoted = value.replace("\\", "\\\\").replace("'", "\\'")
                connection.query(f"SET {name} = '{quoted}'")
        statement = b"\n".join(filter(None, (given.get("query", "").encode(), body)))
        insert = _INSERT.match(statement)
        if insert and insert.end() < len(statement):
            with connection.send_insert(insert[1].decode(), insert[2].decode()) as inserter:
                inserter.append(statement[insert.end() :])
                inserter.finish()
            return b""
        parameters = {name[6:]: value for name, value in given.items() if name.startswith("param_")}
        sql = statement.decode()
        answer: bytes = connection.query(
            sql, given.get("default_format", "TabSeparated"), params=parameters
        ).bytes()
        return answer


def main(directory: str, port: int = 0) -> None:
    """Serve until killed."""
    import chdb

    os.makedirs(directory, exist_ok=True)
    # The engine keeps schemas that come as text in the working directory.
    os.chdir(directory)
    keeps_the_engine_open = chdb.connect(directory)
    handler = type("Handler", (_Handler,), {"path_of_store": directory})
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        print(server.server_address[1], flush=True)
        server.serve_forever()
    keeps_the_engine_open.close()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
