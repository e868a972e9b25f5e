"""`why --trace`: one slow request beside those like it, as typed."""

import json
from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.cli import main
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
SLOW = 500
Requests = Callable[..., pa.Table]
Typed = Callable[..., int]


@pytest.fixture
def typed(store: Store, requests: Requests) -> Typed:
    """A quarter of an hour in which one request waits 400 ms more than it would have; run one command."""
    table = requests(1000, seed=1, start=NOON)
    more = np.zeros(1000)
    more[SLOW] = 400_000
    for column in ("queue_us", "ttft_us", "e2e_us"):
        slower = pa.array(table[column].to_numpy(zero_copy_only=False) + more)
        table = table.set_column(table.column_names.index(column), column, slower)
    store.insert_arrow("requests", table)
    return lambda *words: main(["why", *words, "--dsn", f"chdb://memory/{store.database}"])


def test_the_stage_that_was_slow_is_named(typed: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    """The first line says how much slower, and where; no line is wider than 80 columns; exit code 0."""
    assert 0 == typed("--trace", f"{1:08x}{SLOW:024x}")
    lines = capsys.readouterr().out.splitlines()

    assert lines[0].startswith("TTFT 4") and "than usual: queue +" in lines[0]
    assert max(map(len, lines)) <= 80


def test_json_adds_up(typed: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    """The stages and what stays unexplained make the excess; the stage that was made slow holds 400 ms."""
    assert 0 == typed("--trace", f"{1:08x}{SLOW:024x}", "--json", "--window", "1h")
    body = json.loads(capsys.readouterr().out)

    stages = {line["stage"]: line["excess_ms"] for line in body["stages"]}
    assert "otel-attrib/why-trace/1" == body["schema"]
    assert body["excess_ms"] == pytest.approx(sum(stages.values()) + body["unexplained_ms"], abs=1e-6)
    assert 400 == pytest.approx(stages["queue"], abs=20)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("--trace", "ffffffff"), 1, "ffffffff"),
        (("--trace", " "), 2, "--trace is empty"),
        (("--trace", "00000001", "--baseline", "1h"), 2, "--baseline has no use with --trace"),
        (("--trace", "00000001", "--where", "model=m0"), 2, "--where has no use with --trace"),
        (("--trace", "00000001", "--view", "golden"), 2, "--view has no use with --trace"),
        (("--trace", "00000001", "--window", "soon"), 2, "'soon' is no duration"),
        (("--trace", f"{1:08x}{SLOW:024x}", "--metric", "tbt"), 2, "tbt has no stages"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_mistakes_are_one_line(
    typed: Typed, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, told: str
) -> None:
    """What cannot be answered is one line that says why."""
    assert code == typed(*words)
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line
