"""`why` and `diff` as typed: exit codes, views, JSON, the sides, one line for each mistake."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from otel_attrib.analytics import why
from otel_attrib.analytics.question import Question
from otel_attrib.analytics.report import Report
from otel_attrib.cli import main
from otel_attrib.commands.answer import EXIT
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
QUARTER = timedelta(minutes=15)
HOUR = "2026-05-01T12:00:00Z..2026-05-01T13:00:00Z"
AT = "2026-05-01T12:30:00Z"
CODES = {
    "cause": 3,
    "cause_set": 3,
    "mix": 3,
    "load": 3,
    "global": 4,
    "no_regression": 0,
    "fell": 0,
    "insufficient": 4,
    "empty": 4,
}
Make = Callable[..., Report]
Requests = Callable[..., pa.Table]
Typed = Callable[..., int]


@pytest.fixture
def typed(store: Store) -> Typed:
    """Run one command against this test's store."""
    return lambda *words: main([*words, "--dsn", f"chdb://memory/{store.database}", "--at", AT])


@pytest.fixture
def versions(store: Store, requests: Requests) -> None:
    """Half an hour in which version 1.1 has a slow prefill, beside 1.0; before it 1.0 alone."""
    for seed, version, start, factor in (
        (1, "1.0", NOON - QUARTER, 1.0),
        (2, "1.0", NOON + QUARTER, 1.0),
        (3, "1.1", NOON + QUARTER, 2.0),
    ):
        table = requests(1000, seed=seed, start=start, factors={"prefill": factor})
        store.insert_arrow("requests", table.append_column("version", pa.array([version] * 1000)))


@pytest.mark.parametrize("name", CODES)
@pytest.mark.parametrize("words", [("why",), ("diff", "version=1", "version=2")], ids=["why", "diff"])
def test_exit_codes(
    typed: Typed,
    case: Make,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    name: str,
) -> None:
    """0 nothing, 3 attributed, 4 not; in text and in JSON, for `why` and for `diff`."""
    monkeypatch.setattr(why, "explain", lambda store, question, exact: case(name))

    assert (CODES[name], CODES[name]) == (typed(*words), typed(*words, "--json"))
    *text, line = capsys.readouterr().out.splitlines()
    assert case(name).verdict.word == json.loads(line)["verdict"]
    assert any(shown.startswith(f"{case(name).verdict.word}: ") for shown in text)


def test_every_verdict_has_an_exit_code() -> None:
    """A new word cannot be forgotten."""
    from otel_attrib.analytics import verdict

    words = {value for name, value in vars(verdict).items() if name.isupper() and name == value}

    assert words == set(EXIT)


@pytest.mark.parametrize("view", ["all", "layers", "stages", "golden"])
def test_views(
    typed: Typed, case: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], view: str
) -> None:
    """`--view` chooses the tables."""
    monkeypatch.setattr(why, "explain", lambda store, question, exact: case("cause"))
    titles = {
        "all": ["Where the", "In which stage"],
        "layers": ["Where the"],
        "stages": ["In which stage"],
        "golden": ["T = compute"],
    }
    typed("why", "--view", view)
    text = capsys.readouterr().out

    shown = [title for title in ("Where the", "In which stage", "T = compute") if f"\n{title}" in text]
    assert titles[view] == shown


def test_the_matrix_asks_for_three_metrics(
    typed: Typed, case: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--view matrix` asks once for each metric, of the same windows, and both forms carry it."""
    asked: list[tuple[str, str]] = []

    def explain(store: Store, question: Question, exact: bool) -> Report:
        asked.append((question.metric.name, str(question.current)))
        return case("cause", metric=question.metric.name)

    monkeypatch.setattr(why, "explain", explain)
    assert 3 == typed("why", "--view", "matrix", "--metric", "tpot")
    assert "Bottlenecks: ms that each layer added" in capsys.readouterr().out
    assert ["tpot", "ttft", "tbt"] == [metric for metric, _ in asked]
    assert 1 == len({window for _, window in asked})

    typed("why", "--view", "matrix", "--json")
    assert ["ttft", "tpot", "tbt"] == list(json.loads(capsys.readouterr().out)["matrix"])


def test_exact_is_handed_on(typed: Typed, case: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--exact` reaches the fetch."""
    seen: list[bool] = []

    def explain(store: Store, question: Question, exact: bool) -> Report:
        seen.append(exact)
        return case("no_regression")

    monkeypatch.setattr(why, "explain", explain)
    typed("why")
    typed("why", "--exact")

    assert [False, True] == seen


@pytest.mark.usefixtures("versions")
def test_diff_of_two_versions(typed: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    """Two versions of the same hour: B's slow prefill is found, and both sides are named."""
    assert typed("diff", "version=1.0", "version=1.1", "--json") in (3, 4)
    body = json.loads(capsys.readouterr().out)

    assert ("A", {"version": "1.0"}, 1000) == tuple(body["baseline"][key] for key in ("name", "where", "n"))
    assert ("B", {"version": "1.1"}, 1000) == tuple(body["current"][key] for key in ("name", "where", "n"))
    assert body["baseline"]["from"] == body["current"]["from"] == "2026-05-01T12:15:00Z"
    stages = {name: line["ms"] for name, line in body["stages"].items()}
    assert "prefill" == max(stages, key=lambda name: stages[name])
    assert stages["prefill"] > 0.7 * body["delta_ms"] > 0


@pytest.mark.usefixtures("versions")
def test_diff_is_the_other_way_round(typed: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    """Exchanged, the same two sides differ by as much the other way: no regression, a fall."""
    typed("diff", "version=1.0", "version=1.1", "--json")
    there = json.loads(capsys.readouterr().out)["delta_ms"]

    assert 0 == typed("diff", "version=1.1", "version=1.0", "--json")
    assert -there == pytest.approx(json.loads(capsys.readouterr().out)["delta_ms"], abs=1e-6)
    assert 0 == typed("diff", "version=1.1", "version=1.0")
    assert capsys.readouterr().out.startswith("P99 TTFT fell A ")


@pytest.mark.usefixtures("versions")
def test_diff_of_two_windows(typed: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    """One version in two windows: the windows are those typed, and nothing changed."""
    first = "version=1.0@2026-05-01T11:45:00Z..2026-05-01T12:00:00Z"
    assert 0 == typed("diff", first, "version=1.0@15m", "--json")
    body = json.loads(capsys.readouterr().out)
    assert ("2026-05-01T11:45:00Z", "2026-05-01T12:15:00Z") == (
        body["baseline"]["from"],
        body["current"]["from"],
    )
    assert "NO_REGRESSION" == body["verdict"]


@pytest.mark.usefixtures("versions")
def test_an_empty_side_is_named(typed: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    """What is missing is called by its letter and its selection."""
    assert 4 == typed("diff", "version=1.0", "version=9", "--where", "model=m0")
    out = " ".join(capsys.readouterr().out.split())

    assert "no request matches model=m0 version=9 in B (2026-05-01T12:15:00Z…2026-05-01T12:30:00Z)" in out


def test_diff_of_two_machines(
    typed: Typed, store: Store, requests: Requests, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two machines have no common past: it is said that their counters do not speak, and what would do."""
    for node, factor in (("n1", 1.0), ("n2", 2.0)):
        table = requests(1000, seed=4, start=NOON + QUARTER, factors={"prefill": factor}, nodes=(node,))
        store.insert_arrow("requests", table)
    typed("diff", "node=n1", "node=n2")
    out = " ".join(capsys.readouterr().out.split())

    assert "? otel-attrib why --where node=… for one of the machines" in out
    assert "- the two windows share no machine" in out
    assert "A 2026-05-01 12:15:00…12:30:00 UTC 1000 requests" in out and "node=n1" in out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("diff", "version=1", "version=1"), "may share requests"),
        (("diff", "1h", "soon"), "'soon' is no duration"),
        (("diff", "colour=red", "colour=blue"), "no dimension 'colour'"),
        (("diff", "version=1", "version=2", "--where", "version=1"), "version is chosen twice"),
        (("diff", "version=1", "version=2", "--quantile", "1"), "not strictly between 0 and 1"),
        (("diff", "", "1h"), "a side is empty"),
        (("why", "--window", HOUR, "--baseline", HOUR), f"--baseline {HOUR} overlaps the window"),
        (("why", "--baseline", "yesterday"), "'yesterday' is no duration"),
        (("why", "--baseline", "same-hour", "--window", "2d"), "longer than a day"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_mistakes_are_one_line(
    typed: Typed, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str
) -> None:
    """A value that cannot be used exits 2 with one line that names it."""
    assert 2 == typed(*words)
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line


def test_same_hour_without_such_a_day(typed: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    """What the store does not hold is an error of the data: code 1, and what to do instead."""
    assert 1 == typed("why", "--baseline", "same-hour")
    (line,) = capsys.readouterr().err.splitlines()
    assert "use --baseline before, or name a window" in line
