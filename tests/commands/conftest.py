"""A store for the tests of commands, empty at the start of each and reached by its DSN."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from otel_attrib.cli import main
from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.store import Store, open_store

NUMBERS = itertools.count()
Run = Callable[..., str]
FILLED = """
SELECT name FROM system.tables
WHERE database = {database:String} AND total_rows > 0 AND name != 'schema_migrations'
"""


@pytest.fixture(scope="module")
def tables() -> Iterator[Store]:
    """A database with all tables; it lives as long as the module."""
    with open_store(f"chdb://memory/commands_{next(NUMBERS)}") as opened:
        migrate(opened)
        yield opened


@pytest.fixture
def store(tables: Store) -> Iterator[Store]:
    """The module's database, and after each test nothing in it."""
    yield tables
    for row in tables.rows(FILLED, {"database": tables.database}):
        tables.command(f"TRUNCATE TABLE {row['name']}")


@pytest.fixture
def run(store: Store, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run one command on the test's store; returns what it printed, after a check of its exit code."""

    def command(*words: str, code: int = 0) -> str:
        capsys.readouterr()
        got = main([*words, "--dsn", store.dsn.text])
        told = capsys.readouterr()
        assert code == got, told.err
        return told.out if code == 0 else told.err

    return command
