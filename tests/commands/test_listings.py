"""`heatmap`, `requests`, `mark` and `reports` as typed: pictures, tables, JSON, one line for each mistake."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import uvicorn

from otel_attrib.analytics.service.app import Behind, Ending, service_app
from otel_attrib.analytics.service.tokens import Token, hash_of, write_tokens
from otel_attrib.cli import main
from otel_attrib.config import Settings
from otel_attrib.schema.reports import ReportRow, into_store
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
SPAN = "2026-05-01T12:00:00Z..2026-05-01T12:30:00Z"
Run = Callable[..., str]


@pytest.fixture
def filled(store: Store) -> Store:
    """Half an hour of 600 requests, ten times slower in its last ten minutes, with a deploy before."""
    rng = np.random.default_rng(1)
    seconds = np.sort(rng.uniform(0, 1800, 600))
    ttft = rng.lognormal(10, 0.5, 600) * np.where(seconds > 1200, 10, 1)
    table = pa.table(
        {
            "time": pa.array([NOON + timedelta(seconds=at) for at in seconds], pa.timestamp("us", "UTC")),
            "trace_id": [f"{i:032x}" for i in range(600)],
            "service": ["chat"] * 600,
            "model": ["m0"] * 600,
            "tenant": ["acme"] * 600,
            "status": ["ok"] * 600,
            "output_tokens": pa.array([10] * 600, pa.uint32()),
            "ttft_us": ttft,
            "queue_us": ttft * 0.7,
            "prefill_us": ttft * 0.3,
        }
    )
    store.insert_arrow("requests", table)
    assert 0 == main(
        ["mark", "v2", "--at", "2026-05-01T12:19:59Z", "--service", "chat", "--dsn", store.dsn.text]
    )
    return store


@pytest.mark.usefixtures("filled")
def test_the_picture(run: Run) -> None:
    """The answer first, then slow on top, the line, the mark under its column, the axis, in 80 columns."""
    lines = run("heatmap", "--last", SPAN, "--step", "1m").splitlines()

    assert lines[0].startswith("P99 TTFT ")
    assert "600 requests" in f"{lines[0]} {lines[1]}"
    assert 80 >= max(map(len, lines))
    (axis,) = (line for line in lines if line.strip().startswith("12:00:00"))
    assert ["12:00:00", "12:15:00", "12:30:00"] == axis.split()
    under = lines[lines.index(axis) - 1]
    # A minute is two characters, and the label takes eleven.
    assert 11 + 2 * 19 == under.index("▲")
    assert "▲ 05-01 12:19:59 deploy v2 (chat)" == lines[-1]
    rows = [line for line in lines if " ms " in line and "━" in line]
    assert 60 == sum(line.count("━") for line in rows)
    top, bottom = rows[0], rows[-1]
    assert top.index("━") >= 11 + 2 * 20 > bottom.index("━")


@pytest.mark.usefixtures("filled")
def test_ascii_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where standard output knows ASCII alone the picture keeps to it."""
    monkeypatch.setattr("otel_attrib.commands.heatmap_._draws_unicode", lambda: False)

    text = run("heatmap", "--last", SPAN, "--bins", "6")

    assert text.isascii()
    assert "^ 05-01 12:19:59 deploy v2 (chat)" in text
    assert 6 >= sum(" ms " in line and line.startswith(" ") for line in text.splitlines())


@pytest.mark.usefixtures("filled")
def test_heat_map_as_json(run: Run) -> None:
    """One object on one line, whose cells add up."""
    (line,) = run("heatmap", "--last", SPAN, "--step", "5m", "--json").splitlines()
    body = json.loads(line)

    assert ("otel-attrib/heatmap/1", 600, 6) == (body["schema"], body["n"], len(body["times"]))
    assert 600 == sum(count for _, _, count in body["cells"])
    assert ["v2"] == [mark["name"] for mark in body["marks"]]


def test_nothing_to_draw(run: Run) -> None:
    """An empty span is told, not drawn."""
    (line,) = run("heatmap", "--last", SPAN, "--where", "model=none").splitlines()

    assert "no TTFT measured from 2026-05-01 12:00 to 12:30 UTC with model=none" == line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("heatmap", "--last", SPAN, "--step", "10s"),
            "180 columns do not fit: take a longer --step, or --json",
        ),
        (("heatmap", "--bins", "0"), "0 bins: give 1 to 240"),
        (("heatmap", "--quantile", "1"), "--quantile 1 is not strictly between 0 and 1"),
        (("requests", "--cursor", "abc"), "'abc'… is no cursor"),
        (("requests", "--limit", "0"), "a page of 0 items: give a limit from 1 to 1000"),
        (("requests", "--above", "9", "--below", "8"), "no latency lies from 9 ms up to 8 ms"),
        (("mark", "v1", "--attribute", "commit"), "--attribute commit is not K=V"),
        (("mark", "--attribute", "a=b"), "--attribute goes with the NAME of a mark to keep"),
        (("mark", "v1", "--at", "noon"), "'noon' is no time"),
        (("mark", ""), "a mark needs a name and a kind"),
        (("reports", "--since", "ever"), "'ever' is no duration"),
    ],
)
def test_mistakes_are_told_in_one_line(run: Run, words: tuple[str, ...], said: str) -> None:
    """What cannot be used exits 2 and is told."""
    (line,) = run(*words, code=2).splitlines()

    assert line.startswith(f"otel-attrib {words[0]}: ") and said in line


@pytest.mark.usefixtures("filled")
def test_slowest_requests(run: Run, store: Store) -> None:
    """One line a request, the slowest first; that more follow is said."""
    heads, *rows, more = run("requests", "--window", SPAN, "--limit", "3").splitlines()

    slowest = store.rows("SELECT trace_id FROM requests ORDER BY ttft_us DESC LIMIT 3")
    assert ["arrived", "(UTC)", "trace", "model/tenant", "TTFT", "ms"] == heads.split()[:6]
    assert [row["trace_id"][:14] for row in slowest] == [line.split()[2] for line in rows]
    assert all("queue" in line and line.endswith("ok") for line in rows)
    assert "more follow: --limit, or --json and --cursor" == more
    assert 80 >= max(map(len, (heads, *rows)))


@pytest.mark.usefixtures("filled")
def test_pages_of_requests(run: Run) -> None:
    """`--cursor` goes on where a page ended."""
    words = ("requests", "--window", SPAN, "--order", "newest", "--limit", "200", "--json")
    seen: list[str] = []
    cursor: tuple[str, ...] = ()
    while True:
        page = json.loads(run(*words, *cursor))
        seen += [item["trace_id"] for item in page["items"]]
        if page["next"] is None:
            break
        cursor = ("--cursor", page["next"])

    assert [f"{i:032x}" for i in reversed(range(600))] == seen


def test_no_request(run: Run) -> None:
    """An empty list is told, with what was asked."""
    said = run("requests", "--window", SPAN, "--where", "tenant=zen", "--above", "5")

    assert f"no request in {SPAN} with tenant=zen above 5 ms\n" == said


def test_marks_are_kept_and_listed(run: Run) -> None:
    """A mark is written with its attributes, and listed by kind and service."""
    at = ("--at", "2026-05-01T12:00:00Z")
    kept = run(
        "mark",
        "v1",
        "--kind",
        "config",
        "--service",
        "chat",
        *at,
        "--attribute",
        "by=ci",
        "--attribute",
        "a=b=c",
    )
    run("mark", "other", *at)

    assert "kept: 2026-05-01 12:00:00Z config v1 of chat  a=b=c by=ci\n" == kept
    span = ("--last", SPAN)
    assert kept.removeprefix("kept: ") == run("mark", *span, "--kind", "config")
    body = json.loads(run("mark", *span, "--json"))
    assert [("config", {"by": "ci", "a": "b=c"}), ("deploy", {})] == sorted(
        (item["kind"], item["attributes"]) for item in body["items"]
    )
    assert "no mark in 1h: `otel-attrib mark NAME --kind deploy` keeps one\n" == run("mark", "--last", "1h")


@pytest.fixture
def service(store: Store, tmp_path: Path) -> Iterator[str]:
    """The API over the test's store behind a real socket, with one token that may write."""
    write_tokens(
        tmp_path / "tokens", [Token("ci", hash_of("secret"), "write"), Token("r", hash_of("read"), "read")]
    )
    behind = Behind(store=lambda: store, trouble=lambda: "", status=lambda host: {})
    app = service_app(Settings(tokens=str(tmp_path / "tokens")), behind)
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(20)
    Ending(app).stop(1)  # or its clients would hold the engine's path for the rest of the session


def test_a_mark_through_the_service(
    service: str, store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --url a mark goes through the API, with the token of the environment; a wrong one is told."""
    words = ["mark", "v9", "--kind", "deploy", "--attribute", "by=ci", "--url", service]

    assert 1 == main(words)
    assert "OTEL_ATTRIB_TOKEN" in capsys.readouterr().err
    monkeypatch.setenv("OTEL_ATTRIB_TOKEN", "read")
    assert 1 == main(words)
    assert "this needs role write" in capsys.readouterr().err
    monkeypatch.setenv("OTEL_ATTRIB_TOKEN", "secret")
    assert 2 == main(["mark", "v\t9", "--url", service])
    assert "cannot be printed" in capsys.readouterr().err
    assert 0 == main(words)
    assert [{"name": "v9", "by": "ci"}] == store.rows("SELECT name, attributes['by'] AS by FROM marks")


def test_reports_are_listed_and_shown(run: Run, store: Store) -> None:
    """One line a report; an incident by its beginning, with the sentence that `why` said."""
    now = datetime.now(UTC)
    row = ReportRow(
        time=now,
        incident="0123456789abcdef",
        state="open",
        onset=now - timedelta(minutes=5),
        service="chat",
        model="a-model-with-quite-a-long-name",
        metric="ttft",
        quantile=0.99,
        where={},
        verdict="CAUSE",
        layer="gpu",
        delta_ms=123.4,
        report=json.dumps({"headline": "P99 TTFT rose by 123 ms, because of the GPUs."}),
        hash="0" * 64,
    )
    into_store(store)(row)

    heads, line = run("reports").splitlines()
    shown = run("reports", "0123").splitlines()

    assert ["01234567", "open", "CAUSE", "gpu", "+123"] == [line.split()[i] for i in (2, 3, 5, 6, 7)]
    assert 80 >= max(len(heads), len(line))
    assert ["  P99 TTFT: CAUSE gpu, +123 ms", "  P99 TTFT rose by 123 ms, because of the GPUs."] == shown[-2:]
    body = json.loads(run("reports", "0123456789abcdef", "--json"))
    assert "P99 TTFT rose by 123 ms, because of the GPUs." == body["items"][0]["report"]["headline"]
    assert 1 == len(json.loads(run("reports", "--json"))["items"])
    assert "no report of an incident 'ff'" in run("reports", "ff", code=1)
    assert "no report since 1h" in run("reports", "--since", "1h", "--state", "over")
