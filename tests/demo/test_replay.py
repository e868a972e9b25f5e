"""`otel-attrib demo --replay` shows the shipped run without vLLM: the whole path but the engine."""

import json
import os
import subprocess
import sys
from importlib.resources import files
from typing import Any

import pytest

from otel_attrib.demo.recording import SHIPPED, load_recording

COMMAND = (sys.executable, "-m", "otel_attrib", "demo", "--replay")


@pytest.fixture(scope="module")
def account() -> dict[str, Any]:
    """The account of the shipped run, as JSON; vLLM is made impossible to find."""
    environment = os.environ | {"OTEL_ATTRIB_VLLM_VENV": "/nonexistent"}
    done = subprocess.run([*COMMAND, "--json"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_every_recorded_request_arrives(account: dict[str, Any]) -> None:
    """As many requests are in the store as the recording's clients sent, each under its trace id."""
    sent = len(load_recording().outcomes)

    assert sent >= 2000
    assert (sent, sent, sent) == tuple(account["checks"][name] for name in ("sent", "rows", "matched"))
    assert [] == account["complaints"]


def test_both_faults_are_seen(account: dict[str, Any]) -> None:
    """Each fault is a regression whose stages add up to the change of P99."""
    assert {"cpu-hog", "small-cache"} == set(account["why"])
    for answer in account["why"].values():
        parts = sum(answer["tail_accounting_ms"].values())
        assert answer["verdict"] in ("GLOBAL", "CAUSE")
        assert answer["delta_ci_ms"][0] > 0
        assert answer["delta_ms"] == pytest.approx(parts, rel=1e-6)


def test_the_small_cache_makes_requests_wait(account: dict[str, Any]) -> None:
    """With too small a cache the tail waits for the scheduler, and requests were preempted."""
    stages = account["why"]["small-cache"]["stages"]

    assert "queue" == max(stages, key=lambda name: stages[name]["ms"])
    assert account["phases"]["small-cache"]["preemptions"] > account["phases"]["baseline"]["preemptions"]


def test_the_small_cache_is_the_schedulers(account: dict[str, Any]) -> None:
    """At P90 there are rows enough to name a cause: the scheduler is named, the neighbour not guessed at."""
    small, hog = (account["why_p90"][name] for name in ("small-cache", "cpu-hog"))

    assert ("CAUSE", "scheduler") == (
        small["verdict"],
        max(small["layers"], key=lambda name: small["layers"][name]["ms"]),
    )
    assert hog["verdict"] in ("GLOBAL", "INSUFFICIENT") or "cpu" in hog["layers"]


def test_recovery(account: dict[str, Any]) -> None:
    """After the neighbour has gone the middle request is faster than beside it."""
    assert account["phases"]["recovery"]["p50"] < account["phases"]["cpu-hog"]["p50"]


def test_text_keeps_to_80_columns() -> None:
    """The same for people: answers first, no line above 80 columns, exit code 0."""
    done = subprocess.run(COMMAND, capture_output=True, text=True)
    lines = done.stdout.splitlines()

    assert 0 == done.returncode
    assert [] == [line for line in lines if len(line) > 80]
    answers = lines[lines.index("") + 1 :]
    first = [line for line in answers[: answers.index("")] if not line.startswith(" ")]
    assert ["cpu-hog: P99 TTFT", "small-cache: P99 TTFT", "small-cache: P90 TTFT"] == [
        line.rpartition("TTFT")[0] + "TTFT" for line in first
    ]


def test_the_recording_is_small() -> None:
    """A clone stays light."""
    assert len(files("otel_attrib.demo").joinpath("data", SHIPPED).read_bytes()) < 3_000_000
