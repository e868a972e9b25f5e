"""`slo thresholds`, `scale`, `arbiter`, `budget` and `trial` as typed, over a store."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import yaml

from otel_attrib.analytics.filters import parse_filter
from otel_attrib.analytics.objectives import Limit, Objective
from otel_attrib.analytics.objectives.writing import openslo_yaml
from otel_attrib.cli import main
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
Run = Callable[..., str]
GOLD = Objective(
    "gold", "", parse_filter(["service=chat"]), (Limit("ttft", 110.0),), baseline_ms=120.0, buffer_ms=15.0
)


@pytest.fixture
def slo(store: Store, tmp_path: Path) -> Path:
    """Twenty minutes up to noon whose P99 is near 150 ms, and the file of one objective at 110 ms."""
    rng = np.random.default_rng(3)
    n = 20 * 600
    times = [NOON - timedelta(milliseconds=100 * (n - k)) for k in range(n)]
    columns = {
        "time": pa.array(times, pa.timestamp("us", "UTC")),
        "trace_id": [f"{k:032x}" for k in range(n)],
        "service": ["chat"] * n,
        "tenant": ["acme", "zen"] * (n // 2),
        "status": ["ok"] * n,
        "prompt_tokens": pa.array([100] * n, pa.uint32()),
        "output_tokens": pa.array([2] * n, pa.uint32()),
        "ttft_us": pa.array(150_000 * rng.uniform(0.5, 1.0, n)),
    }
    store.insert_arrow("requests", pa.table(columns))
    file = tmp_path / "slo.yaml"
    file.write_text(openslo_yaml([GOLD]))
    return file


def test_thresholds_from_dry_to_applied(run: Run, slo: Path) -> None:
    """A dry run says what it would do and keeps nothing; --apply keeps it; scale then writes the new one."""
    words = ("slo", "thresholds", "--file", str(slo), "--at", "newest", "--period", "1m", "--day", "20m")
    dry, kept = run(*words, "--log", "1d"), run(*words)
    again = run(*words, "--log", "1d")
    applied = run(*words, "--apply")
    log = json.loads(run(*words, "--log", "1d", "--json"))
    manifest = run("slo", "scale", "gold", "--deployment", "vllm", "--file", str(slo), "--at", "newest")

    assert "0 decisions kept" in dry and "0 decisions kept" in again
    assert "1 of 1 thresholds would move" in kept and "a dry" in kept
    assert "1 of 1 thresholds moved" in applied and "ceiling of 120 ± 15" in applied
    assert [("raise", 110.0, 135.0)] == [
        (row["decision"], row["before_ms"], row["after_ms"]) for row in log["items"]
    ]
    assert "'135'" in manifest and "/ 0.135" in manifest


def test_thresholds_as_json(run: Run, slo: Path) -> None:
    """The JSON has the rule, the numbers and the sentence of each decision."""
    words = (
        "slo",
        "thresholds",
        "gold",
        "--file",
        str(slo),
        "--at",
        "newest",
        "--period",
        "1m",
        "--day",
        "20m",
    )
    body = json.loads(run(*words, "--json"))
    (item,) = body["items"]

    assert (60, 1200, 1.2, 3, 0.05) == tuple(
        body["rule"][name] for name in ("period_s", "day_s", "factor", "periods", "agreement")
    )
    assert ("raise", 110.0, 135.0) == (item["decision"], item["threshold_ms"], item["recommended_ms"])
    assert 3 == len(item["periods"]) and "135 ms" in item["sentence"]


def test_arbiter_and_budget(run: Run, slo: Path) -> None:
    """Both tenants are in breach of 110 ms by P95 near 146; the budget adds up; lines fit the terminal."""
    common = ("--file", str(slo), "--at", "newest")
    text = run("slo", "arbiter", *common)
    budget = run("slo", "budget", "--total", "900", "--weight", "acme=2", "--weight", "zen=1", *common)
    body = json.loads(run("slo", "budget", "--total", "900", *common, "--json"))

    assert "acme, zen in breach of P95 TTFT" in text and "nothing is changed in the engine" in text
    assert "66.7 %" in budget and "33.3 %" in budget and "weights given" in budget
    assert 900.0 == pytest.approx(sum(item["tokens_s"] for item in body["items"]))
    assert max(map(len, (text + budget).splitlines())) <= 80


def test_scale_prints_valid_yaml_and_json(run: Run, slo: Path) -> None:
    """The text is YAML of the same object that --json prints; --threshold needs no decision."""
    words = ("slo", "scale", "gold", "--deployment", "vllm", "--format", "keda", "--file", str(slo))
    given = (*words, "--source", "api", "--threshold", "99")

    assert yaml.safe_load(run(*given)) == json.loads(run(*given, "--json"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("scale", "gold"), "one objective, one deployment"),
        (("scale", "gold", "--deployment", "x", "--source", "api"), "none of hpa"),
        (("scale", "gold", "--deployment", "x", "--min", "0"), "1 ≤ min"),
        (("scale", "gold", "--deployment", "x", "--threshold", "-1"), "no time"),
        (("thresholds", "--every", "1m", "--once"), "not both"),
        (("thresholds", "--every", "1m", "--at", "newest"), "looks at now"),
        (("thresholds", "--period", "7s"), "multiple of 10 s"),
        (("budget", "--total", "0"), "divides nothing"),
        (("arbiter", "--quantile", "1"), "strictly between"),
        (("arbiter", "--metric", "e2e"), "no objective limits E2E"),
        (("trial", "gold"), "takes no name"),
        (("trial", "--seeds", "1"), "2 or more"),
        (("trial", "--sla", "nobody=5"), "tenants are chat, agent, batch"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_faults_of_use(run: Run, slo: Path, words: tuple[str, ...], message: str) -> None:
    """What cannot be used is exit code 2 with one line that says what to write."""
    told = run("slo", *words, "--file", str(slo), *(() if "--at" in words else ()), code=2)

    assert message in told and 1 == len(told.splitlines())


def test_a_loop_ends_with_its_signal(run: Run, slo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--every judges, says a period once, and ends with 0 when it is stopped."""
    import time

    rounds = []

    def stop(seconds: float) -> None:
        rounds.append(seconds)
        if len(rounds) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", stop)
    text = run("slo", "thresholds", "--file", str(slo), "--every", "10s", "--period", "1h", "--day", "24h")

    assert 2 == len(rounds) and 1 == text.count("would move")


def test_unknown_objective(run: Run, slo: Path) -> None:
    """An objective that is not in the file is named, with those that are."""
    assert "there are gold" in run("slo", "thresholds", "other", "--file", str(slo), code=1)


def test_trial_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """A small trial prints its arms and harms as one JSON object, without any store."""
    sets = ("workload.load=0.7", "windows.baseline=20", "windows.current=40", "windows.warmup=5")
    words = [word for each in sets for word in ("--set", each)]

    assert 0 == main(["slo", "trial", "--seeds", "2", "--json", *words])
    body = json.loads(capsys.readouterr().out)

    assert ["open", "fixed", "boost", "throttle"] == [arm["arm"] for arm in body["arms"]]
    assert ["chat", "agent", "batch", "all tenants"] == [t["tenant"] for t in body["arms"][0]["tenants"]]
    assert {"open", "fixed"} == set(body["arms"][2]["tenants"][0]["against"])
