"""`why`, `quantiles` and `top` as typed: output, exit code, one line for each mistake."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from otel_attrib.cli import main
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
AT = "2026-05-01T12:30:00Z"
Requests = Callable[..., pa.Table]
Typed = Callable[..., int]


@pytest.fixture
def typed(store: Store) -> Typed:
    """Run one command against this test's store."""
    return lambda *words: main([*words, "--dsn", f"chdb://memory/{store.database}", "--at", AT])


@pytest.fixture
def fault(store: Store, requests: Requests) -> None:
    """A quiet quarter of an hour, and one with a slow prefill."""
    store.insert_arrow("requests", requests(1000, seed=1))
    slow = {"prefill": 2.0}
    store.insert_arrow("requests", requests(1000, seed=2, start=NOON + timedelta(minutes=15), factors=slow))


@pytest.mark.usefixtures("fault")
def test_why_says_and_exits_four(typed: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    """A regression that is not localised exits 4 and is answered in the first line."""
    assert 4 == typed("why")
    assert capsys.readouterr().out.startswith("P99 TTFT rose ")


@pytest.mark.usefixtures("fault")
def test_why_json_is_one_line(typed: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    """`--json` prints the report alone."""
    assert 4 == typed("why", "--json")
    (line,) = capsys.readouterr().out.splitlines()
    assert "GLOBAL" == json.loads(line)["verdict"]


@pytest.mark.usefixtures("fault")
def test_why_no_regression_exits_zero(typed: Typed) -> None:
    """What did not change exits 0."""
    assert 0 == typed("why", "--metric", "tpot")


@pytest.mark.usefixtures("fault")
def test_why_insufficient_exits_four(typed: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    """Too few rows exit 4 as well, told apart by the verdict."""
    assert 4 == typed("why", "--window", "1m")
    assert "\nINSUFFICIENT: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("why", "--quantile", "99"), 2, "write P99 as 0.99"),
        (("why", "--window", "soon"), 2, "'soon' is no duration"),
        (("why", "--where", "colour=red"), 2, "no dimension 'colour'"),
        (("quantiles", "--by", "status"), 2, "no dimension 'status'"),
        (("quantiles", "--last", "52w", "--step", "10s"), 2, "windows are too many"),
        (("top", "--stages", "--metric", "tbt"), 2, "TBT has no stages"),
    ],
)
def test_mistakes_are_one_line(
    typed: Typed, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, message: str
) -> None:
    """A value that cannot be used exits 2 with one line that says what would do."""
    assert code == typed(*words)
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


@pytest.mark.usefixtures("fault")
def test_quantiles_table_prints_its_bound(typed: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    """The table carries one row a step, the definition, the bound, what was rounded, and what is few."""
    assert 0 == typed("quantiles", "--window", "65s", "--step", "5m", "--last", "30m")
    lines = capsys.readouterr().out.splitlines()

    assert "window ends (UTC) n P99 TTFT ms" == " ".join(lines[0].split())
    assert ["12:05:00", "12:10:00", "12:15:00", "12:20:00", "12:25:00", "12:30:00"] == [
        line.split()[1] for line in lines[1:7]
    ]
    assert [
        "TTFT: arrival at the server to first token written",
        "error: within 1 % of the value at rank floor(q·(n−1))+1 of the window's n",
        "rounded up to whole 10 s: window 70 s, step 300 s",
        "~ fewer than 5 values above the quantile: its neighbours may lie further off",
    ] == lines[7:]


@pytest.mark.usefixtures("fault")
def test_quantiles_json(typed: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON carries the bound as a number, and each window with its group."""
    words = ("quantiles", "--by", "model", "--window", "15m", "--step", "15m", "--last", "30m", "--json")
    assert 0 == typed(*words)
    body = json.loads(capsys.readouterr().out)

    assert 0.01 == body["error"]["relative"]
    assert [(AT[:14] + minute, model) for model in ("m0", "m1") for minute in ("15:00Z", "30:00Z")] == [
        (point["end"], point["model"]) for point in body["points"]
    ]
    assert 2000 == sum(point["n"] for point in body["points"])


@pytest.mark.usefixtures("fault")
def test_top_once(typed: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    """In a pipe the groups are printed once, within 80 columns, with what is in the tail."""
    assert 0 == typed("top", "--by", "model", "--window", "15m")
    lines = capsys.readouterr().out.splitlines()

    assert "model req/s err TTFT p50 p99 ± TPOT p99 in the tail" == " ".join(lines[0].split())
    assert {"m0", "m1"} == {line.split()[0] for line in lines[1:-1]}
    assert all("prefill" in line for line in lines[1:-1])
    assert "ms; quantiles within 1 %; in the tail: most of the TTFT P99, not a cause" == lines[-1]
    assert max(map(len, lines)) <= 80


@pytest.mark.usefixtures("fault")
def test_top_json_and_stages(typed: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON of groups holds rate, change and tail; `--stages` holds every stage in order."""
    assert 0 == typed("top", "--by", "service", "--window", "15m", "--json")
    (group,) = json.loads(capsys.readouterr().out)["groups"]
    assert ("chat", 1000, 0.0) == (group["service"], group["requests"], group["failed"])
    assert group["change"] > 0.3

    assert 0 == typed("top", "--by", "service", "--window", "15m", "--stages", "--json")
    stages = json.loads(capsys.readouterr().out)["stages"]
    assert ["ingress", "tokenize", "queue", "kv_init", "prefill", "sample", "egress"] == [
        stage["stage"] for stage in stages
    ]


def test_an_empty_store_is_not_an_error(typed: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing stored: each says so, and for which time."""
    assert 0 == typed("quantiles")
    assert 0 == typed("top")
    assert 4 == typed("why")
    out = capsys.readouterr().out
    assert "no request in this span" in out
    assert f"no request in the 5m before {AT}\n" in out
    window = "2026-05-01T12:00:00Z…2026-05-01T12:15:00Z"
    assert f"no request is stored in the baseline ({window})" in " ".join(out.split())


@pytest.mark.usefixtures("fault")
def test_a_filter_that_nothing_matches_is_named(typed: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    """With requests stored and none meant, the condition is what is said."""
    assert 4 == typed("why", "--where", "model=m9")
    assert 0 == typed("top", "--where", "model=m9", "--stages", "--window", "1h")
    out = " ".join(capsys.readouterr().out.split())
    assert "no request matches model=m9 in the baseline (2026-" in out
    assert f"no request with model=m9 in the 1h before {AT}" in out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("why", "--window", "1000000d"), "'1000000d' is too long"),
        (("quantiles", "--by", "model,model"), "--by model,model names model twice"),
        (("top", "--by", "node, model,node"), "names node twice"),
        (("quantiles", "--quantile", "1"), "--quantile 1 is not strictly between 0 and 1"),
        (("quantiles", "--step", "1ms"), "'1ms' is no duration; write a whole number of s, m, h, d or w"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_values_that_cannot_be(
    typed: Typed, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str
) -> None:
    """A value that cannot be used is one line that names it, with the code for usage."""
    assert 2 == typed(*words)
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line
