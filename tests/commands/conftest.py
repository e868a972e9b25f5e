"""Commands on the store of the test, which they reach by its DSN."""

from collections.abc import Callable

import pytest

from otel_attrib.cli import main
from otel_attrib.schema.store import Store

Run = Callable[..., str]


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
