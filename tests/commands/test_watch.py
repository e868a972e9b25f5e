"""`otel-attrib watch`: what it says, keeps and returns, from requests in a store."""

import json
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics.detection.watcher import Judged, Watcher
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.why import explain
from otel_attrib.cli import main
from otel_attrib.errors import StoreError
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
STAMP = pa.timestamp("us", "UTC")
AT = "2026-05-01T12:25:00Z"
FAULT_S = 23 * 60
WATCHED = """
import sys
from otel_attrib.analytics.detection.watcher import Watcher
from otel_attrib.cli import main
from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.store import open_store
with open_store(sys.argv[1]) as store:
    migrate(store)
step = Watcher.step
def told(self, now):
    found = step(self, now)
    print("looked", flush=True)
    return found
Watcher.step = told
sys.exit(main(["watch", "--dsn", sys.argv[1], "--interval", "600s"]))
"""
A_SECOND = 15


def fill(store: Store, slower: float, minutes: int = 25, service: str = "chat") -> None:
    """Insert 15 requests a second from noon on; from minute 23 on prefill takes `slower` times as long."""
    rng = np.random.default_rng(7)
    n = minutes * 60 * A_SECOND
    offset = np.sort(rng.integers(0, minutes * 60_000_000, n))
    prompt = rng.lognormal(6, 0.8, n).astype(np.uint32) + 1
    prefill = 60.0 * prompt * rng.lognormal(0, 0.3, n)
    prefill = np.where(offset >= FAULT_S * 1_000_000, prefill * slower, prefill)
    queue = rng.exponential(20_000, n)
    start = int(NOON.timestamp()) * 1_000_000
    table = pa.table(
        {
            "time": pa.array(start + offset, STAMP),
            "trace_id": [f"{i:032x}" for i in range(n)],
            "span_id": [f"{i:016x}" for i in range(n)],
            "service": [service] * n,
            "model": ["m"] * n,
            "node": rng.choice(["a", "b"], n).tolist(),
            "status": ["ok"] * n,
            "prompt_tokens": prompt,
            "output_tokens": pa.array([4] * n, pa.uint32()),
            "ttft_us": prefill + queue,
            "e2e_us": prefill + queue,
            "prefill_us": prefill,
            "queue_us": queue,
        }
    )
    store.insert_arrow("requests", table)


def typed(store: Store, *words: str) -> int:
    """Run the command against this test's store."""
    return main(["watch", *words, "--dsn", f"chdb://memory/{store.database}"])


ONCE = ("--once", "--at", AT, "--window", "4m", "--baseline", "20m")


def test_once_names_the_onset(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """A prefill three times as slow is said once, dated within 15 s, kept, and not exit code 0."""
    fill(store, slower=3.0)

    code = typed(store, *ONCE, "--json")

    (line,) = capsys.readouterr().out.splitlines()
    said = json.loads(line)
    onset = (datetime.fromisoformat(said["onset"]) - NOON).total_seconds()
    assert code in (3, 4)
    assert abs(onset - FAULT_S) <= 15
    assert said["report"]["delta_ms"] > 50
    (kept,) = store.rows("SELECT * FROM reports")
    assert (said["incident"], "open", "chat", "m", "ttft") == (
        kept["incident"],
        kept["state"],
        kept["service"],
        kept["model"],
        kept["metric"],
    )
    assert said["report"] == json.loads(kept["report"])
    assert {"service": "chat", "model": "m"} == kept["where"]
    assert code == typed(store, *ONCE, "--dry-run", "--json")
    assert [{"n": 1}] == store.rows("SELECT count() AS n FROM reports")


def test_once_is_quiet(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing that changed gives exit code 0, one line and no row."""
    fill(store, slower=1.0)

    assert 0 == typed(store, *ONCE)
    assert capsys.readouterr().out.startswith("nothing got slower in the last 4m")
    assert [] == store.rows("SELECT * FROM reports")


def test_once_without_requests(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """Where nothing can be judged, that is said, and the exit code is that of an open question."""
    assert 4 == typed(store, *ONCE)
    assert 4 == typed(store, *ONCE, "--json")
    out = capsys.readouterr().out
    assert "no service and model has" in out
    assert max(map(len, out.splitlines())) <= 80


def test_once_with_too_short_a_baseline(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """A second of baseline has too few requests to learn from: no all-clear, though nothing changed."""
    fill(store, slower=1.0)

    assert 4 == typed(store, "--once", "--at", AT, "--window", "4m", "--baseline", "1s")
    assert "nothing is judged" in " ".join(capsys.readouterr().out.split())


def test_lines_are_at_most_80_columns(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """What is said of a slow service with a long name is broken at 80 columns, its indent counted."""
    fill(store, slower=3.0, service="checkout-assistant-for-the-web-shop-in-europe-west")

    assert typed(store, *ONCE) in (3, 4)

    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line.startswith("  ") for line in lines[1:])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--alarms-a-day", "0"), "--alarms-a-day 0 is no number above 0"),
        (("--alarms-a-day", "nan"), "--alarms-a-day nan is no number above 0"),
        (("--alarms-a-day", "inf"), "--alarms-a-day inf is no number above 0"),
        (("--alarms-a-day", "-1"), "--alarms-a-day -1 is no number above 0"),
        (("--at", "newest"), "--at goes with --once"),
    ],
)
def test_mistakes(
    store: Store, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    """What cannot be done exits 2 with one line."""
    assert 2 == typed(store, *words)
    assert message in capsys.readouterr().err


def watcher(store: Store) -> Watcher:
    """A watch that learns from 20 minutes."""
    return Watcher(store, explain, METRICS["ttft"], 0.99, before=timedelta(minutes=20))


def steps(watch: Watcher, first_s: int, last_s: int) -> list[Judged]:
    """Look every ten seconds, as the loop does, and return what was said."""
    start = NOON.timestamp()
    watch.learn(start + first_s)
    return [found for at in range(first_s, last_s, 10) for found in watch.step(start + at)]


def test_one_alarm_an_incident(store: Store) -> None:
    """A fault is one incident: told at once, judged again a minute later, told anew only if it reads anew."""
    fill(store, slower=3.0)

    first, second = steps(watcher(store), FAULT_S - 60, 25 * 60)

    assert (first.row.incident, "open", "open") == (second.row.incident, first.row.state, second.row.state)
    assert first.news
    assert second.news == (first.row.verdict != second.row.verdict)
    assert 60 <= (second.row.time - first.row.time).total_seconds() <= 70


def test_a_store_that_was_away_is_caught_up_with(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that fails loses nothing: the next one counts the seconds that it missed."""
    fill(store, slower=3.0)
    watch = watcher(store)
    start = NOON.timestamp()
    watch.learn(start + FAULT_S)
    with monkeypatch.context() as patch:
        patch.setattr(Store, "rows", _away)
        with pytest.raises(StoreError, match="away"):
            watch.step(start + FAULT_S + 40)

    (judged,) = watch.step(start + FAULT_S + 60)

    assert "open" == judged.row.state


def _away(*_: object) -> None:
    raise StoreError("away")


def test_a_signal_ends_it_well(tmp_path: Path) -> None:
    """SIGTERM, told as Ctrl-C, in the middle of the loop is exit code 0 without a word."""
    where = f"chdb://{tmp_path / 'store'}"
    words = [sys.executable, "-c", WATCHED, where]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        assert "looked\n" == process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        said = process.stdout.read(), process.stderr.read()

    assert (0, ("", "")) == (process.returncode, said)


STARTING = """
import os, signal, sys
from otel_attrib import cli
from otel_attrib.commands import watch_
place, number = sys.argv[1], int(sys.argv[2])
def killed(*_, **__):
    os.kill(os.getpid(), number)
    raise SystemExit("still there")
if place == "parsing":
    cli.parser = killed
elif place == "opening":
    from otel_attrib.schema import store
    store.connect = killed
else:
    watch_._loop = killed
sys.exit(cli.main(["watch", "--dsn", "chdb://memory/early", "--dry-run"]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("place", ["parsing", "opening", "looping"])
def test_a_signal_before_the_loop_ends_it_well(place: str, number: int) -> None:
    """A watch that is stopped before it looks for the first time ends with 0 as well."""
    words = [sys.executable, "-c", STARTING, place, str(int(number))]

    done = subprocess.run(words, capture_output=True, text=True, timeout=60)

    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)


def test_signals_are_given_back() -> None:
    """What a caller does on a signal is what it was once `main` has returned."""
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    assert 2 == main(["watch", "--alarms-a-day", "0", "--dsn", "chdb://memory/given_back"])

    assert before == (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))


GONE = """
import shutil, sys
from otel_attrib.cli import main
from otel_attrib.commands import watch_
place, where = sys.argv[1], sys.argv[2]
def gone():
    shutil.rmtree(where)
look, keeps = watch_._look, watch_._way_to_keep
looks = []
def looking(watcher, *words):
    looks.append(watcher)
    if len(looks) == 5:
        raise KeyboardInterrupt
    if len(looks) == 2 and place == "looking":
        gone()
    watcher.detectors = {}  # so that each look learns anew
    look(watcher, *words)
def keeping(*words):
    if place == "starting":
        gone()
    return keeps(*words)
watch_._look, watch_._way_to_keep = looking, keeping
sys.exit(main(["watch", "--dsn", "chdb://" + where, "--interval", "1s", "--baseline", "1h"]))
"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store on disk with requests of this minute, which no process holds."""
    folder = tmp_path_factory.mktemp("filled") / "store"
    simulated = [
        sys.executable,
        "-m",
        "otel_attrib",
        "simulate",
        "rtt",
        "--fast",
        "--dsn",
        f"chdb://{folder}",
    ]
    small = ["--set", "windows.requests=300", "--set", "windows.warmup=2"]
    subprocess.run([*simulated, *small], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("place", ["looking", "starting"])
def test_a_store_that_is_removed_is_asked_again(filled: Path, tmp_path: Path, place: str) -> None:
    """A store whose files vanish is told once, in a short line, and asked again until the watch ends."""
    where = tmp_path / "store"
    shutil.copytree(filled, where, symlinks=True)

    done = subprocess.run(
        [sys.executable, "-c", GONE, place, str(where)], capture_output=True, text=True, timeout=60
    )

    told = f"store chdb://{where} cannot be read: files of it are missing or damaged"
    assert (0, "", f"otel-attrib watch: {told}; asking again\n") == (
        done.returncode,
        done.stdout,
        done.stderr,
    )


def test_a_damaged_store_is_told_in_one_line(filled: Path, tmp_path: Path) -> None:
    """What the engine writes in pages of tables it cannot load is not shown; exit code 1."""
    where = tmp_path / "store"
    shutil.copytree(filled, where, symlinks=False)  # links that are folders: as no engine left them

    done = subprocess.run(
        [sys.executable, "-m", "otel_attrib", "watch", "--dsn", f"chdb://{where}"],
        capture_output=True,
        text=True,
        timeout=60,
    )

    told = f"store chdb://{where} cannot be opened: files of it are missing or damaged"
    assert (1, "", f"otel-attrib watch: {told}\n") == (done.returncode, done.stdout, done.stderr)
