"""The store over HTTP, as a ClickHouse server is reached.

No current ClickHouse server can be had on a test machine, so the embedded engine is put behind the few
lines of HTTP that one speaks: the SQL, the settings and the bytes are those that a server would get.
"""

import tempfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qsl, urlsplit

import chdb
import pytest

from otel_attrib.errors import StoreError, StoreSchema
from otel_attrib.schema.ingest import insert_traces
from otel_attrib.schema.migrate import check_schema, migrate
from otel_attrib.schema.store import Store, open_store

Spans = Callable[..., bytes]

TRANSPORT = {
    "query",
    "database",
    "query_id",
    "session_id",
    "client_protocol_version",
    "wait_end_of_query",
    "compress",
}


class Front(BaseHTTPRequestHandler):
    """ClickHouse's HTTP interface, as far as clickhouse-connect uses it."""

    seen: list[dict[str, str]] = []

    def do_POST(self) -> None:
        """Run one statement, with its data in the body or not."""
        params = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        words = body.partition(b"\n")[0].decode()
        self.seen.append({**params, "query": words, "authorization": self.headers.get("Authorization", "")})
        try:
            self._answer(200, self._run(params, body))
        except RuntimeError as fault:
            self._answer(404, str(fault).encode(), fault)

    do_GET = do_POST

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean."""

    def _run(self, params: dict[str, str], body: bytes) -> bytes:
        bound = {key[6:]: value for key, value in params.items() if key.startswith("param_")}
        with (
            chdb.connect(":memory:") as engine,
            tempfile.NamedTemporaryFile() as file,
            tempfile.NamedTemporaryFile(suffix=".proto") as schema,
        ):
            if "database" in params:
                engine.query(f"USE `{params['database']}`")
            for key, value in self._settings(params, schema.name).items():
                if key not in TRANSPORT and not key.startswith("param_"):
                    quoted = value.replace("\\", "\\\\").replace("'", "\\'")
                    engine.query(f"SET {key} = '{quoted}'")
            statement, _, data = body.partition(b"\n")
            head, _, fmt = statement.rpartition(b" FORMAT ")
            if not head.startswith(b"INSERT INTO") or not data:
                return bytes(engine.query(body.decode(), "TabSeparated", params=bound).bytes() or b"")
            file.write(data)
            file.flush()
            engine.query(f"{head.decode()} FROM INFILE '{file.name}' FORMAT {fmt.decode()}")
            return b""

    def _settings(self, params: dict[str, str], file: str) -> dict[str, str]:
        """As sent, but the format's text as a file: chDB would leave a copy in the current directory."""
        if params.get("format_schema_source") != "string":
            return params
        Path(file).write_text(params["format_schema"], "utf-8")
        kept = {key: value for key, value in params.items() if not key.startswith("format_schema")}
        return {**kept, "format_schema": f"{file}:{params['format_schema_message_name']}"}

    def _answer(self, code: int, body: bytes, fault: Exception | None = None) -> None:
        self.send_response(code)
        if fault:
            self.send_header("X-ClickHouse-Exception-Code", "0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def remote(engine: Store) -> Iterator[Store]:
    """A store that knows only an address, a user and a database that is not there yet."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Front)
    thread = Thread(target=server.serve_forever)
    thread.start()
    Front.seen.clear()
    with open_store(f"clickhouse://user:secret@127.0.0.1:{server.server_port}/far") as store:
        yield store
    server.shutdown()
    thread.join()
    server.server_close()
    engine.command("DROP DATABASE IF EXISTS far")


def test_from_nothing_to_requests(remote: Store, engine: Store, spans: Spans) -> None:
    """Database, tables, spans, tokens and parameters work over HTTP as they do embedded."""
    assert not remote.embedded
    with pytest.raises(StoreSchema):
        check_schema(remote)

    migrate(remote)
    for _ in range(2):
        insert_traces(remote, [spans({"gen_ai.response.id": "r1", "tags": ["a", "b"]})], token="t")

    assert [{"request_id": "r1", "service": "svc"}] == remote.rows(
        "SELECT request_id, service FROM requests WHERE service = {service:String}", {"service": "svc"}
    )
    assert [{"tags": '["a","b"]'}] == engine.rows(
        "SELECT SpanAttributes['tags'] AS tags FROM far.otel_traces"
    )


def test_what_a_server_is_sent(remote: Store, spans: Spans) -> None:
    """A server gets the wire format as text, one token and no asynchronous insert; and our user."""
    migrate(remote)
    insert_traces(remote, [spans({})], token="block-7")

    (insert,) = [seen for seen in Front.seen if "INSERT INTO otlp_traces" in seen["query"]]
    assert "far" == insert["database"]
    assert "string" == insert["format_schema_source"]
    assert "message ExportTraceServiceRequest" in insert["format_schema"]
    assert ("block-7", "0") == (insert["insert_deduplication_token"], insert["async_insert"])
    assert insert["authorization"].startswith("Basic ")
    assert {""} == {seen.get("session_id", "") for seen in Front.seen}


def test_faults_over_http_are_one_line(remote: Store) -> None:
    """A server's refusal is told as the embedded engine's is."""
    remote.create_database()
    with pytest.raises(StoreError) as fault:
        remote.rows("SELECT throwIf(1, 'no')")

    assert 395 == fault.value.code
    assert str(fault.value).startswith("Code: 395. DB::Exception: no")
    assert "\n" not in str(fault.value) and "secret" not in str(fault.value)
