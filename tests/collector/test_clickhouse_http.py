"""The ClickHouse port: what curl, clickhouse-connect and Grafana ask for is there, what writes is not."""

import asyncio
import gzip
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import clickhouse_connect
import httpx
import pytest

from otel_attrib.collector.clickhouse_http import ClickHouseHttp
from otel_attrib.collector.counters import Counters
from otel_attrib.collector.listener import Listener, bind
from otel_attrib.collector.query_engine import QueryEngine
from otel_attrib.schema.store import Store, open_store


class Endpoint:
    """The ClickHouse port over a store, on an event loop in a thread of its own."""

    def __init__(self, store: Store, password: str = "") -> None:
        """Serve until `stop`."""
        self.counters = Counters()
        self.password = password
        self.path = str(store.dsn.path)
        self.ready = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self.thread.start()
        assert self.ready.wait(20)

    async def _serve(self) -> None:
        self.ending, self.loop = asyncio.Event(), asyncio.get_running_loop()
        engine = QueryEngine(self.path, "otel_attrib", seconds=3, memory=200 << 20)
        app = ClickHouseHttp(engine, self.counters, self.password, threads=2, seconds=3)
        listener = Listener(app, bind("127.0.0.1", 0, "clickhouse"))
        await listener.start()
        self.port = listener.port
        self.ready.set()
        await self.ending.wait()
        await listener.stop()
        app.close()

    def stop(self) -> None:
        """End."""
        self.loop.call_soon_threadsafe(self.ending.set)
        self.thread.join()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}/"

    def post(self, sql: str, **parameters: str) -> httpx.Response:
        """Run one statement as curl does."""
        return httpx.post(self.url, content=sql, params=parameters, timeout=20)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with one table of five rows."""
    with open_store(f"chdb://{tmp_path_factory.mktemp('clickhouse')}") as opened:
        opened.command(
            "CREATE TABLE t (x Int32, s LowCardinality(String), m Map(LowCardinality(String), String))"
            " ENGINE = MergeTree ORDER BY x"
        )
        opened.command("INSERT INTO t SELECT number, toString(number), map('k', 'v') FROM numbers(5)")
        yield opened


@pytest.fixture(scope="module")
def endpoint(store: Store) -> Iterator[Endpoint]:
    """The port without a password."""
    served = Endpoint(store)
    yield served
    served.stop()


@pytest.fixture(scope="module")
def client(endpoint: Endpoint) -> Iterator[Any]:
    """clickhouse-connect over HTTP."""
    with clickhouse_connect.get_client(host="127.0.0.1", port=endpoint.port) as opened:
        yield opened


def test_get_and_post(endpoint: Endpoint) -> None:
    """The statement may be in the URL, in the body, or in both, one after the other."""
    answers = [
        httpx.get(endpoint.url, params={"query": "SELECT count() FROM t"}),
        endpoint.post("SELECT count() FROM t"),
        endpoint.post("FROM t", query="SELECT count()"),
        httpx.post(
            endpoint.url,
            content=gzip.compress(b"SELECT count() FROM t"),
            headers={"Content-Encoding": "gzip"},
        ),
        httpx.post(endpoint.url, files={"query": (None, "SELECT count() FROM t")}),
    ]

    assert [(200, "5\n")] * 5 == [(answer.status_code, answer.text) for answer in answers]


@pytest.mark.parametrize("path", ["", "ping", "replicas_status"])
def test_is_alive(endpoint: Endpoint, path: str) -> None:
    """Clients that only look whether somebody is there are told so."""
    assert (200, "Ok.\n") == (httpx.get(endpoint.url + path).status_code, httpx.get(endpoint.url + path).text)


def test_headers(endpoint: Endpoint) -> None:
    """The headers that clients read; the time zone is the engine's own (UTC, by either of its names)."""
    zone = endpoint.post("SELECT timezone()").text.strip()
    headers = endpoint.post("SELECT * FROM t FORMAT JSON", query_id="mine").headers

    assert zone in ("UTC", "Etc/UTC")
    assert ("mine", "JSON", zone) == tuple(
        headers[f"x-clickhouse-{name}"] for name in ("query-id", "format", "timezone")
    )
    assert '"read_rows":"5"' in headers["x-clickhouse-summary"]
    assert headers["content-type"].startswith("application/json")
    assert headers["x-clickhouse-server-display-name"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TabSeparated", b"1\t1\n2\t2\n"),
        ("CSV", b'1,"1"\n2,"2"\n'),
        ("JSONEachRow", b'{"x":1,"s":"1"}\n{"x":2,"s":"2"}\n'),
        ("RowBinary", b"\x01\0\0\0\x011\x02\0\0\0\x012"),
        ("Values", b"(1,'1'),(2,'2')"),
    ],
)
def test_formats(endpoint: Endpoint, name: str, expected: bytes) -> None:
    """Any output format, by FORMAT, by `default_format` or by header; FORMAT wins."""
    sql = "SELECT x, s FROM t WHERE x IN (1, 2) ORDER BY x"

    assert expected == endpoint.post(f"{sql} FORMAT {name}", default_format="XML").content
    assert expected == endpoint.post(sql, default_format=name).content
    assert expected == httpx.post(endpoint.url, content=sql, headers={"X-ClickHouse-Format": name}).content


@pytest.mark.parametrize(
    "name", ["Arrow", "ArrowStream", "Parquet", "Native", "JSONCompact", "Pretty", "XML"]
)
def test_whole_formats(endpoint: Endpoint, store: Store, name: str) -> None:
    """Formats with heads and feet come whole: the same bytes length as the engine itself gives."""
    sql = "SELECT x, s FROM t ORDER BY x"
    answer = endpoint.post(sql, default_format=name)

    assert 200 == answer.status_code
    assert answer.content[:4] == store.raw(sql, name)[:4]


def test_large_result_is_streamed(endpoint: Endpoint) -> None:
    """A result larger than a query's memory passes through."""
    sql = "SELECT number FROM numbers(30000000) FORMAT RowBinary"
    with httpx.stream("POST", endpoint.url, content=sql, timeout=60) as answer:
        size = sum(map(len, answer.iter_raw()))

    assert 240_000_000 == size


def test_parameters(endpoint: Endpoint) -> None:
    """`param_*` are bound, with ClickHouse's escapes, and cannot become SQL."""
    answer = endpoint.post(
        "SELECT {a:String}, {b:Array(UInt8)}, {c:Nullable(Int8)} FORMAT JSONCompactEachRow",
        param_a="it's\\t\\\\x'; DROP TABLE t; --",
        param_b="[1,2]",
        param_c="\\N",
    )

    assert ["it's\t\\x'; DROP TABLE t; --", [1, 2], None] == answer.json()


def test_parameters_and_settings_do_not_leak(endpoint: Endpoint) -> None:
    """The next request has neither the last one's settings nor its parameters nor its database."""
    first = endpoint.post(
        "SELECT {p:String}, getSetting('max_threads')", param_p="a", max_threads="1", database="system"
    )
    later = [endpoint.post("SELECT getSetting('max_threads') != 1, currentDatabase()").text for _ in range(5)]

    assert "a\t1\n" == first.text
    assert ["true\totel_attrib\n"] * 5 == [text.replace("1\t", "true\t") for text in later]
    assert 456 == int(endpoint.post("SELECT {p:String}").headers["x-clickhouse-exception-code"])


def test_database(endpoint: Endpoint) -> None:
    """`default` means the store's own database; others can be named; an unknown one is 404."""
    assert "otel_attrib\n" == endpoint.post("SELECT currentDatabase()", database="default").text
    assert "system\n" == endpoint.post("SELECT currentDatabase()", database="system").text
    assert 404 == endpoint.post("SELECT 1", database="nowhere").status_code


def test_compressed_answer(endpoint: Endpoint) -> None:
    """gzip only when asked for by the setting and accepted by the header."""

    def encoding(asked: str, accepted: str) -> str | None:
        answer = httpx.post(
            endpoint.url,
            content="SELECT * FROM t FORMAT CSV",
            params={"enable_http_compression": asked},
            headers={"Accept-Encoding": accepted},
        )
        assert 5 == len(answer.text.splitlines())
        found: str | None = answer.headers.get("content-encoding")
        return found

    assert ["gzip", None, None] == [
        encoding("1", "br, gzip"),
        encoding("0", "gzip"),
        encoding("1", "identity"),
    ]


ERRORS = {
    "syntax": ("SELEC 1", 400, 62),
    "empty": (" ", 400, 62),
    "no table": ("SELECT * FROM nowhere", 404, 60),
    "no column": ("SELECT y FROM t", 404, 47),
    "no function": ("SELECT f()", 404, 46),
    "no format": ("SELECT 1 FORMAT Nothing", 404, 73),
    "a value": ("SELECT toUInt8('x')", 400, 6),
    "throw": ("SELECT throwIf(1)", 500, 395),
    "memory": ("SELECT length(groupArray(number)) FROM numbers(100000000)", 500, 241),
}


@pytest.mark.parametrize(("sql", "status", "code"), ERRORS.values(), ids=ERRORS)
def test_errors(endpoint: Endpoint, sql: str, status: int, code: int) -> None:
    """Status, code and text as ClickHouse gives them."""
    answer = endpoint.post(sql)

    assert (status, str(code)) == (answer.status_code, answer.headers["x-clickhouse-exception-code"])
    assert answer.text.startswith(f"Code: {code}. DB::Exception: ")


def test_time_limit(endpoint: Endpoint) -> None:
    """A client may ask for less time than the limit, and never gets more."""
    sql = "SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1"
    for asked in ("1", "3600"):
        answer = endpoint.post(sql, max_execution_time=asked)
        assert (408, "159") == (answer.status_code, answer.headers["x-clickhouse-exception-code"])


def test_error_within_a_stream(endpoint: Endpoint) -> None:
    """When the status is long sent, the exception comes as ClickHouse's last block."""
    answer = endpoint.post("SELECT throwIf(number = 3000000) FROM numbers(4000000) FORMAT RowBinary")
    tag = answer.headers["x-clickhouse-exception-tag"].encode()

    assert 200 == answer.status_code
    assert answer.content.endswith(tag + b"\r\n__exception__\r\n")
    assert b"\r\n__exception__\r\n" + tag + b"\r\nCode: 395. DB::Exception" in answer.content


def test_error_with_wait_end_of_query(endpoint: Endpoint) -> None:
    """A client that waits for the end gets the status."""
    sql = "SELECT throwIf(number = 3000000) FROM numbers(4000000) FORMAT RowBinary"

    assert 500 == endpoint.post(sql, wait_end_of_query="1").status_code


ATTACKS = {
    "INSERT": "INSERT INTO t VALUES (9, '9', {})",
    "INSERT behind a comment": "/* SELECT */ INSERT INTO t SELECT 9, '9', map()",
    "INSERT behind WITH": "WITH a AS (SELECT 9) INSERT INTO FUNCTION file('{target}') SELECT * FROM a",
    "INSERT into a file": "INSERT INTO FUNCTION file('{target}', 'CSV', 'x Int8') VALUES (1)",
    "explained INSERT": "EXPLAIN PIPELINE INSERT INTO FUNCTION file('{target}') SELECT 1",
    "DROP": "DROP TABLE t",
    "DROP as second": "SELECT 1; DROP TABLE t",
    "DROP behind a comment": "SELECT 1; -- \n DROP TABLE t",
    "DROP behind a heredoc": "SELECT $a$ ; $a$; DROP TABLE t",
    "TRUNCATE": "TRUNCATE TABLE t",
    "ALTER": "ALTER TABLE t DELETE WHERE 1",
    "CREATE": "CREATE TABLE u (x Int8) ENGINE = Memory",
    "CREATE TEMPORARY": "CREATE TEMPORARY TABLE u (x Int8)",
    "ATTACH": "ATTACH TABLE u (x Int8) ENGINE = File(CSV, '/etc/passwd')",
    "RENAME": "RENAME TABLE t TO u",
    "OPTIMIZE": "OPTIMIZE TABLE t FINAL",
    "SYSTEM": "SYSTEM STOP MERGES",
    "KILL": "KILL QUERY WHERE 1",
    "SET": "SET readonly = 0",
    "SET and more": "SET readonly = 0; DROP TABLE t",
    "USE": "USE system",
    "GRANT": "GRANT ALL ON *.* TO default",
    "BACKUP": "BACKUP TABLE t TO File('{target}')",
    "EXECUTE AS": "EXECUTE AS default SELECT 1",
    "PARALLEL WITH": "SELECT 1 PARALLEL WITH DROP TABLE t",
    "SETTINGS readonly": "SELECT * FROM file('/etc/passwd', 'LineAsString') SETTINGS readonly = 0",
    "SETTINGS readonly 2": "SELECT 1 SETTINGS readonly = 2",
    "OUTFILE": "SELECT 1 INTO OUTFILE '{target}'",
    "OUTFILE apart": "SELECT 1 INTO/**/OUTFILE/**/'{target}' TRUNCATE",
    "OUTFILE after FORMAT": "SELECT 1 FORMAT CSV INTO OUTFILE '{target}'",
    "file table": "SELECT * FROM file('/etc/passwd', 'LineAsString')",
    "file table in a subquery": "SELECT (SELECT count() FROM file('/etc/passwd', 'LineAsString'))",
    "file by DESCRIBE": "DESCRIBE file('/etc/passwd')",
    "file by DESCRIBE of a view": "DESCRIBE (SELECT * FROM file('/etc/passwd'))",
    "file by EXPLAIN": "EXPLAIN PLAN SELECT * FROM file('/etc/passwd', 'LineAsString')",
    "file by name": "SELECT * FROM '/etc/passwd'",
    "file by quoted name": "SELECT * FROM `default`.`/etc/passwd`",
    "file exists": "EXISTS default.`/etc/passwd`",
    "file described by name": 'DESCRIBE "default"."/etc/passwd"',
    "file function": "SELECT file('/etc/passwd')",
    "file function quoted": "SELECT \"file\"('/etc/passwd')",
    "file function apart": "SELECT `file` /* */ ('/etc/passwd')",
    "file function by name": "SELECT arrayMap(file, ['/etc/passwd'])",
    "file function applied": "SELECT COLUMNS('a') APPLY file FROM (SELECT '/etc/passwd' AS a)",
    "file function in a lambda": "SELECT arrayMap(x -> file(x), ['/etc/passwd'])",
    "files of the system": "SELECT * FROM filesystem('/etc')",
    "url": "SELECT * FROM url('{server}', 'LineAsString')",
    "url by DESCRIBE": "DESCRIBE url('{server}', 'CSV')",
    "url in a view": "SELECT * FROM view(SELECT * FROM url('{server}', 'LineAsString'))",
    "remote": "SELECT * FROM remote('127.0.0.1', 'system.one')",
    "s3": "SELECT * FROM s3('{server}', 'CSV', 'x String')",
    "s3 by DESCRIBE": "DESCRIBE s3('{server}', 'CSV')",
    "mysql": "DESCRIBE mysql('127.0.0.1:1', 'a', 'b', 'c', 'd')",
    "sqlite": "DESCRIBE sqlite('/tmp/x.db', 'x')",
    "executable": "SELECT * FROM executable('id', 'TSV', 'x String')",
    "python": "SELECT * FROM Python(reader)",
    "merge over files": "SELECT * FROM merge('default', '.*')",
    "eval": "SELECT * FROM eval('SELECT 1')",
    "AI": "SELECT aiGenerate('hello')",
    "client's exit": "exit",
    "client's help": "?? drop the table",
    "client's list": "\\l",
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_read_only_holds(endpoint: Endpoint, store: Store, tmp_path: Path, attack: str) -> None:
    """Refused by code; the table is as it was, no file was made, nobody was called."""
    target = tmp_path / "out"
    with bind("127.0.0.1", 0, "trap") as trap:
        trap.setblocking(False)
        server = f"http://127.0.0.1:{trap.getsockname()[1]}/x"
        answer = endpoint.post(attack.replace("{target}", str(target)).replace("{server}", server))
        with pytest.raises(BlockingIOError):
            trap.accept()

    assert int(answer.headers["x-clickhouse-exception-code"]) in (48, 60, 62, 164, 344, 497)
    assert "root:" not in answer.text
    assert not target.exists()
    assert [{"n": 5}] == store.rows("SELECT count() AS n FROM t")
    assert ["t"] == [row["name"] for row in store.rows("SHOW TABLES")]


@pytest.mark.parametrize(
    "sql",
    ["EXISTS TABLE {d:Identifier}.{t:Identifier}", "SHOW TABLES FROM {d:Identifier}"]
    + ["SELECT * FROM { d : Identifier }.{t:Identifier}", "DESCRIBE /* */ {d:Identifier}.t"],
)
def test_names_cannot_be_parameters(endpoint: Endpoint, sql: str) -> None:
    """The file system's database cannot be named by a parameter, since no name can."""
    answer = endpoint.post(sql, param_d="default", param_t="/etc/passwd")

    assert (403, "497") == (answer.status_code, answer.headers["x-clickhouse-exception-code"])
    assert "Identifier" in answer.text
    assert "{a:Identifier}\n" == endpoint.post("SELECT '{a:Identifier}'").text


@pytest.mark.parametrize(
    "setting",
    ["readonly", "allow_ddl", "format_schema", "format_template_resultset", "dialect", "user_files_path"]
    + ["allow_introspection_functions", "s3_max_connections", "limit = 1, readonly"],
)
def test_settings_of_the_url(endpoint: Endpoint, setting: str) -> None:
    """Only settings that cannot undo the limits are taken."""
    answer = endpoint.post("SELECT 1", **{setting: "0"})

    assert answer.headers["x-clickhouse-exception-code"] in ("452", "115")


def test_settings_cannot_be_injected(endpoint: Endpoint, store: Store) -> None:
    """A setting's value is a value, whatever is in it."""
    endpoint.post("SELECT 1", session_timezone="UTC', readonly = 0, max_threads = '1")

    assert [{"n": 5}] == store.rows("SELECT count() AS n FROM t")


ALLOWED = {
    "union": ("(SELECT 1) UNION ALL (SELECT 1)", "1\n1\n"),
    "with": ("WITH 2 AS two SELECT two", "2\n"),
    "from first": ("FROM t SELECT count()", "5\n"),
    "semicolon": ("SELECT 1 ; -- done", "1\n"),
    "words in strings": (
        "SELECT 'DROP TABLE t; INTO OUTFILE file(1)'",
        "DROP TABLE t; INTO OUTFILE file(1)\n",
    ),
    "heredoc": ("SELECT $$a;b$$", "a;b\n"),
    "table functions": ("SELECT count() FROM numbers(3)", "3\n"),
    "format function": ("SELECT format('{}', 'a')", "a\n"),
    "exists": ("EXISTS TABLE t", "1\n"),
    "show": ("SHOW TABLES", "t\n"),
    "system": ("SELECT name FROM system.tables WHERE database = 'otel_attrib'", "t\n"),
    "totals": ("SELECT 1 AS a, count() FROM t GROUP BY a WITH TOTALS", "1\t5\n\n1\t5\n"),
}


@pytest.mark.parametrize(("sql", "expected"), ALLOWED.values(), ids=ALLOWED)
def test_reading_is_allowed(endpoint: Endpoint, sql: str, expected: str) -> None:
    """What reads is not taken for an attack."""
    assert expected == endpoint.post(sql).text


@pytest.mark.parametrize("sql", ["DESCRIBE t", "SHOW CREATE TABLE t", "EXPLAIN SELECT 1", "SHOW DATABASES"])
def test_statements_that_cannot_be_streamed(endpoint: Endpoint, sql: str) -> None:
    """They come whole, in any format."""
    for name in ("TabSeparated", "Native", "JSON"):
        assert 200 == endpoint.post(sql, default_format=name).status_code


def test_password(store: Store) -> None:
    """With a password, only `default` and `readonly` with it come in, by any of the three ways."""
    served = Endpoint(store, password="s3cret")
    try:
        tries = [
            httpx.get(served.url, params={"query": "SELECT 1"}),
            httpx.get(served.url, params={"query": "SELECT 1"}, auth=("default", "wrong")),
            httpx.get(served.url, params={"query": "SELECT 1"}, auth=("root", "s3cret")),
            httpx.get(served.url, params={"query": "SELECT 1"}, auth=("readonly", "s3cret")),
            httpx.get(served.url, params={"query": "SELECT 1", "user": "default", "password": "s3cret"}),
            httpx.get(served.url, params={"query": "SELECT 1"}, headers={"X-ClickHouse-Key": "s3cret"}),
        ]
    finally:
        served.stop()

    assert [403, 403, 403, 200, 200, 200] == [answer.status_code for answer in tries]
    assert ["516"] * 3 == [answer.headers["x-clickhouse-exception-code"] for answer in tries[:3]]


def test_clickhouse_connect(client: Any) -> None:
    """Rows, frames, Arrow, parameters, settings and commands over the newest protocol it knows."""
    assert 54405 == client.protocol_version
    assert [(4, "4", {"k": "v"})] == client.query("SELECT * FROM t WHERE x = {x:Int32}", {"x": 4}).result_rows
    assert (5, 3) == client.query_df("SELECT * FROM t").shape
    assert 5 == client.query_arrow("SELECT * FROM t").num_rows
    assert 5 == client.command("SELECT count() FROM t")
    assert [(1,)] == client.query("SELECT getSetting('max_threads')", settings={"max_threads": 1}).result_rows
    assert ("x", "s", "m") == client.query("SELECT * FROM t LIMIT 0").column_names
    assert 200_000 == client.query("SELECT number, toString(number) FROM numbers(200000)").row_count
    assert "it's \\ \t\n" == client.query("SELECT {a:String}", {"a": "it's \\ \t\n"}).first_row[0]


def test_clickhouse_connect_is_told_of_faults(client: Any) -> None:
    """A refused write and a fault within a stream are exceptions there."""
    from clickhouse_connect.driver.exceptions import DatabaseError

    for sql in ("DROP TABLE t", "SELECT throwIf(number = 3000000) FROM numbers(4000000)"):
        with pytest.raises(DatabaseError):
            client.query(sql)


def test_many_clients(endpoint: Endpoint) -> None:
    """More clients than query threads: each gets its own answer."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda n: endpoint.post(f"SELECT {n}, count() FROM t").text, range(60)))

    assert [f"{n}\t5\n" for n in range(60)] == answers


def test_client_gone(endpoint: Endpoint) -> None:
    """Clients that hang up within a stream hold no query thread."""
    for _ in range(5):
        with httpx.stream(
            "POST",
            endpoint.url,
            content="SELECT number FROM numbers(1000000000) FORMAT RowBinary",
            timeout=20,
        ) as answer:
            next(answer.iter_raw())

    assert "5\n" == endpoint.post("SELECT count() FROM t").text


@pytest.mark.parametrize("query_id", ["a\nb", "a\x00", "\u20ac", "two words", "x" * 129])
def test_query_id_that_no_header_can_carry(endpoint: Endpoint, query_id: str) -> None:
    """It is refused before anything runs, as often as it comes, and takes nobody's place."""
    answers = [
        httpx.get(endpoint.url, params={"query": "SELECT 1", "query_id": query_id}, timeout=20)
        for _ in range(4)
    ]

    assert [(400, "36")] * 4 == [(a.status_code, a.headers["x-clickhouse-exception-code"]) for a in answers]
    assert "1\n" == endpoint.post("SELECT 1", query_id="!~").text


def test_clients_that_never_read(endpoint: Endpoint) -> None:
    """As many as there are query threads are left after the time of a query, and others are answered."""
    sql = b"SELECT number FROM numbers(1000000000) FORMAT RowBinary"
    head = f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {len(sql)}\r\n\r\n".encode()
    silent = [socket.create_connection(("127.0.0.1", endpoint.port)) for _ in range(2)]
    try:
        for each in silent:
            each.sendall(head + sql)
        time.sleep(0.5)
        assert "5\n" == endpoint.post("SELECT count() FROM t").text
    finally:
        for each in silent:
            each.close()


def test_body_of_many_members(endpoint: Endpoint) -> None:
    """A gzip body of nothing but empty members is refused."""
    packed = gzip.compress(b"") * 30_000
    answer = httpx.post(endpoint.url, content=packed, headers={"Content-Encoding": "gzip"}, timeout=20)

    assert (400, "36") == (answer.status_code, answer.headers["x-clickhouse-exception-code"])


def test_wrong_method_and_path(endpoint: Endpoint) -> None:
    """What ClickHouse does not have here is not there."""
    assert 405 == httpx.put(endpoint.url, content="SELECT 1").status_code
    assert 404 == httpx.get(endpoint.url + "play").status_code


def test_counted(endpoint: Endpoint) -> None:
    """Statements are counted by how they ended."""
    before = endpoint.counters.totals().get('queries_total{outcome="refused"}', 0.0)
    endpoint.post("DROP TABLE t")

    assert before + 1 == endpoint.counters.totals()['queries_total{outcome="refused"}']
