"""The store is opened, its schema compared and its newest row held against the clock."""

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from otel_attrib.doctor.check import Finding, Surroundings
from otel_attrib.doctor.store import service, store
from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.store import Store, open_store

NUMBERS = itertools.count()
NOBODY = "http://127.0.0.1:1"


@pytest.fixture
def opened() -> Iterator[Store]:
    """A database without tables."""
    with open_store(f"chdb://memory/doctor_{next(NUMBERS)}") as found:
        yield found


def findings(opened: Store) -> dict[str, Finding]:
    """What is said of a store, by name."""
    return {found.name: found for found in store(Surroundings(dsn=opened.dsn.text, environ={}))}


def insert(opened: Store, time: datetime) -> None:
    """One request of that time."""
    opened.insert_arrow("requests", pa.table({"time": pa.array([time], pa.timestamp("us", "UTC"))}))


def test_without_tables(opened: Store) -> None:
    """A database without tables answers and fails for its schema, with the command that mends it."""
    found = findings(opened)

    assert ("OK", "FAIL") == (found["store"].level, found["schema"].level)
    assert found["schema"].fix.startswith("otel-attrib migrate --dsn")


def test_complete(opened: Store) -> None:
    """After migrate the schema is complete and the store empty."""
    migrate(opened)
    found = findings(opened)

    assert ["OK"] * 3 == [each.level for each in found.values()]
    assert found["rows"].text.startswith("no request yet")


def test_rows(opened: Store) -> None:
    """The newest row is told; one from the future is warned of."""
    migrate(opened)
    insert(opened, datetime(2026, 5, 1, 12, tzinfo=UTC))
    assert "1 requests, the newest of 2026-05-01 12:00:00 UTC" == findings(opened)["rows"].text

    insert(opened, datetime.now(UTC) + timedelta(hours=1))
    assert "WARN" == findings(opened)["rows"].level


def test_another_version(opened: Store) -> None:
    """A migration with another text is told by its number."""
    migrate(opened)
    opened.command(
        "INSERT INTO schema_migrations (version, name, checksum, engine) "
        "VALUES (9999, 'later', 'x', 'MergeTree')"
    )
    found = findings(opened)["schema"]

    assert "FAIL" == found.level
    assert "9999_later" in found.text


@pytest.mark.parametrize(
    ("dsn", "text"),
    [("mysql://host/db", "is not of the form"), ("clickhouse://127.0.0.1:1/db", "cannot be reached")],
)
def test_a_store_that_does_not_answer(dsn: str, text: str) -> None:
    """A DSN that cannot be read, or where nobody listens, fails."""
    (found,) = store(Surroundings(dsn=dsn, environ={}))

    assert "FAIL" == found.level
    assert text in found.text


def test_a_store_that_nobody_made_yet(tmp_path: Path) -> None:
    """Looking at an embedded store does not make it."""
    path = tmp_path / "store"
    (found,) = store(Surroundings(dsn=f"chdb://{path}", environ={}))

    assert "OK" == found.level
    assert not path.exists()


def test_service_that_was_asked_for() -> None:
    """A --url where nobody answers fails."""
    (found,) = service(Surroundings(url=NOBODY, environ={}))

    assert ("FAIL", f"nobody answers at {NOBODY}") == (found.level, found.text)
