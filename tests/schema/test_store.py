"""The store over the embedded engine."""

import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from otel_attrib.errors import StoreBusy, StoreError, StoreSchema
from otel_attrib.schema.store import Store, open_store

TABLE = "CREATE TABLE t (n Int32, at DateTime64(6, 'UTC')) ENGINE = MergeTree ORDER BY n"


def test_rows_bind_parameters_and_keep_microseconds(empty_store: Store) -> None:
    """A row is a dict, a time is aware to the microsecond, and a value never becomes SQL."""
    at = datetime(2026, 1, 1, 12, 0, 0, 123456, UTC)

    rows = empty_store.rows(
        "SELECT {at:DateTime64(6, 'UTC')} AS at, {s:String} AS s", {"at": at, "s": "'; x"}
    )

    assert [{"at": at, "s": "'; x"}] == rows


def test_arrow_and_raw(empty_store: Store) -> None:
    """The same result comes as an Arrow table and in any output format."""
    sql = "SELECT number AS n FROM numbers({n:UInt64})"

    assert {"n": [0, 1]} == empty_store.arrow(sql, {"n": 2}).to_pydict()
    assert b'{"n":0}\n{"n":1}\n' == empty_store.raw(
        sql + ";", "JSONEachRow", {"n": 2}, {"output_format_json_quote_64bit_integers": 0}
    )


def test_inserts_are_there_when_they_return(empty_store: Store) -> None:
    """Raw bytes and Arrow tables can be read at once."""
    empty_store.command(TABLE)
    empty_store.insert_raw("t", ["n", "at"], b"1,2026-01-01 00:00:00\n", "CSV")
    empty_store.insert_arrow("t", pa.table({"n": pa.array([2], pa.int32())}))

    assert [{"n": 1}, {"n": 2}] == empty_store.rows("SELECT n FROM t ORDER BY n")


def test_a_setting_lasts_for_one_call(empty_store: Store) -> None:
    """Settings of a call do not leak into the next."""
    sql = "SELECT toInt32(getSetting('max_block_size')) AS n"
    before = empty_store.rows(sql)

    assert [{"n": 7}] == empty_store.rows(sql, settings={"max_block_size": 7})
    assert before == empty_store.rows(sql)


def test_threads_run_side_by_side(empty_store: Store) -> None:
    """Four threads that each wait half a second are done long before two seconds."""
    threads = [threading.Thread(target=empty_store.rows, args=("SELECT sleep(0.5)",)) for _ in range(4)]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert time.monotonic() - start < 1.5


@pytest.mark.parametrize(
    ("sql", "kind", "code"),
    [
        ("SELECT 1 FROM nowhere", StoreSchema, 60),
        ("SELEC", StoreError, 62),
        ("SELECT throwIf(1)", StoreError, 395),
    ],
    ids=["table", "syntax", "run"],
)
def test_faults_are_one_line_with_their_code(
    empty_store: Store, sql: str, kind: type[StoreError], code: int
) -> None:
    """What the engine refuses is told in one line, with ClickHouse's own code."""
    with pytest.raises(StoreError) as fault:
        empty_store.rows(sql)

    assert (kind, code) == (type(fault.value), fault.value.code)
    assert "\n" not in str(fault.value)


def test_closed(empty_store: Store) -> None:
    """A closed store says so."""
    with open_store(f"chdb://memory/{empty_store.database}") as store:
        pass

    with pytest.raises(StoreError, match="is closed"):
        store.rows("SELECT 1")


def test_another_path_in_this_process(engine: Store, tmp_path: Path) -> None:
    """The engine's limit of one path a process is told as such."""
    with pytest.raises(StoreError, match="one path a process"):
        open_store(f"chdb://{tmp_path}")


def test_no_server() -> None:
    """A server that is not there is named without the password."""
    with pytest.raises(StoreError, match="clickhouse://127.0.0.1:1/x cannot be reached: Connection refused"):
        open_store("clickhouse://u:secret@127.0.0.1:1/x")


def test_no_directory(tmp_path: Path) -> None:
    """A path that is a file is refused with the system's own words."""
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match="cannot be made: (File exists|Not a directory)"):
        open_store(f"chdb://{tmp_path}/file")


HOLD = """
import sys
from otel_attrib.schema.store import open_store
store = open_store(sys.argv[1])
store.command("CREATE TABLE t (at DateTime) ENGINE = MergeTree PARTITION BY toDate(at) ORDER BY at")
store.command("INSERT INTO t VALUES (1767268800)")
zone = store.rows("SELECT timezone() AS zone, toString(any(toDate(at))) AS day FROM t")[0]
print(zone["zone"], zone["day"], flush=True)
sys.stdin.read()
"""


def test_a_busy_path_names_its_holder_and_the_engine_is_in_utc(tmp_path: Path) -> None:
    """A second process is told who holds the store; the engine's day is UTC's in any time zone."""
    command = [sys.executable, "-c", HOLD, f"chdb://{tmp_path}/store"]
    holder = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TZ": "Asia/Tokyo"},
    )
    assert holder.stdin and holder.stdout
    try:
        assert "UTC 2026-01-01" == holder.stdout.readline().strip()
        with pytest.raises(StoreBusy, match=f"held by process {holder.pid} .*--url"):
            open_store(f"chdb://{tmp_path}/store")
    finally:
        holder.stdin.close()
        holder.stdout.close()
        holder.wait(20)


@pytest.mark.parametrize("table", ["requests", "steps", "otel_traces", "no_db.x"])
def test_a_store_that_was_never_migrated(empty_store: Store, table: str) -> None:
    """Where our own tables are missing, what makes them is said instead of the engine's words."""
    with pytest.raises(
        StoreSchema, match="has no tables of otel-attrib: run `otel-attrib migrate --dsn chdb:"
    ):
        empty_store.rows(f"SELECT 1 FROM {table}")


def test_a_mistyped_table_is_named(empty_store: Store) -> None:
    """A name that is none of ours is told as the engine tells it."""
    with pytest.raises(StoreSchema, match="'request'"):
        empty_store.rows("SELECT 1 FROM request")
