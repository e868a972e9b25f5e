"""`otel-attrib migrate` as people and scripts use it."""

import json
from pathlib import Path

import pytest

from otel_attrib.cli import main
from otel_attrib.schema.migration import migrations


@pytest.fixture
def dsn(tmp_path: Path) -> str:
    """A store that is not there yet."""
    return f"chdb://{tmp_path}/store"


def test_first_and_second_run(dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The first run lists what it did, the second says that there is nothing to do."""
    assert 0 == main(["migrate", "--dsn", dsn])
    first = capsys.readouterr().out.splitlines()
    assert 0 == main(["migrate", "--dsn", dsn])

    assert len(migrations()) + 1 == len(first)
    assert first[0].startswith("0001  applied") and first[0].endswith("otel_traces")
    assert all(len(line) <= 80 for line in first[:-1])
    assert f"{dsn}: up to date\n" == capsys.readouterr().out


def test_dry_run_changes_nothing(dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The SQL is printed and the store stays as it was."""
    assert 0 == main(["migrate", "--dsn", dsn, "--dry-run", "--ttl-days", "30"])
    sql = capsys.readouterr().out
    assert 0 == main(["migrate", "--dsn", dsn, "--status", "--json"])
    state = json.loads(capsys.readouterr().out)

    assert "CREATE TABLE IF NOT EXISTS requests" in sql
    assert "toIntervalDay(30)" in sql
    assert {"pending"} == {step["state"] for step in state["migrations"]}


def test_json(dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Scripts get one object with every migration's state and time."""
    assert 0 == main(["migrate", "--dsn", dsn, "--json"])
    done = json.loads(capsys.readouterr().out)

    assert dsn == done["store"]
    assert [one.name for one in migrations()] == [step["name"] for step in done["migrations"]]
    assert {"applied"} == {step["state"] for step in done["migrations"]}
    assert all(step["applied_at"] for step in done["migrations"])


def test_mistakes(dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A layout that cannot be is refused in one line with the code for usage."""
    assert 2 == main(["migrate", "--dsn", dsn, "--ttl-days", "-1"])
    assert 2 == main(["migrate", "--dsn", "nonsense"])

    lines = capsys.readouterr().err.splitlines()
    assert 2 == len(lines)
    assert lines[0].startswith("otel-attrib migrate: ttl of -1 days")
