"""A store of its own for each test of a command, reached by the DSN that the command is given."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from otel_attrib.cli import main
from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.store import Store, open_store

NUMBERS = itertools.count()
Run = Callable[..., str]


@pytest.fixture
def store() -> Iterator[Store]:
    """A migrated database that no other test sees; it lives as long as the test."""
    with open_store(f"chdb://memory/commands_{next(NUMBERS)}") as opened:
        migrate(opened)
        yield opened


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
