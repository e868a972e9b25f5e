"""Files imported through a running service, then asked for through it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.cli import main

FIXTURES = Path(__file__).parents[1] / "fixtures"
STAMPS = ("queued", "scheduled", "first_token", "last_token")
TABLE = [
    "requests", str(FIXTURES / "llmservingsim/requests.jsonl"), "--set", "service=chat",
    "--map", "arrival=arrival_time", "output_tokens=output_toks", *(f"{name}={name}_ts" for name in STAMPS),
]  # fmt: skip
OTLP = ["otlp", str(FIXTURES / "engine_captures/vllm_otlp_grpc_traces_004.pb")]
OTLP += [str(FIXTURES / f"otlp_examples/{name}.json") for name in ("trace", "metrics", "logs")]
# Not typed: conftest modules cannot be imported.
Up = Any


@pytest.fixture(scope="module")
def service(up: Callable[..., Up]) -> Iterator[Up]:
    """One service for all tests."""
    started = up()
    yield started
    assert 0 == started.stop()


Told = Callable[..., dict[str, Any]]


@pytest.fixture
def told(service: Up, capsys: pytest.CaptureFixture[str]) -> Told:
    """Run a command against the service and return its JSON."""

    def run(*words: str) -> dict[str, Any]:
        assert 0 == main([*words, "--json", "--url", service["http"]])
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return run


def test_a_table_is_there_when_the_command_ends_and_twice_is_once(service: Up, told: Told) -> None:
    """Rows can be queried as soon as the import returns; the same file again adds none."""
    first = told("import", *TABLE)
    counts = service.query(
        "SELECT count(), count(ttft_us), count(ingress_us) FROM requests WHERE source = 'import'"
    )
    again = told("import", *TABLE)

    assert (60, 0) == (first["imported"], first["already"])
    assert "60\t60\t0" == counts
    assert (0, 60) == (again["imported"], again["already"])
    assert "60" == service.query("SELECT count() FROM requests WHERE source = 'import'")


def test_otlp_of_every_signal_twice_is_once(service: Up, told: Told) -> None:
    """Spans are known by their ids, metrics and logs as repeated requests."""
    rows = (
        "SELECT (SELECT count() FROM otel_traces WHERE ScopeName != 'otel_attrib.request'), "
        "(SELECT count() FROM otel_metrics_gauge), (SELECT count() FROM otel_logs)"
    )
    first = told("import", *OTLP)
    stored = service.query(rows)
    again = told("import", *OTLP)

    assert {"traces": 32, "metrics": 4, "logs": 1} == first["imported"]
    assert "32\t1\t1" == stored
    assert 32 == again["already"]
    assert stored == service.query(rows)


def test_trace_of_an_imported_request(told: Told) -> None:
    """A request is found by its id, with its TTFT labelled as measured from the queue."""
    told("import", *TABLE)
    found = told("trace", "bench-0")

    assert "queued" == found["measured_from"]
    assert pytest.approx(169_525.194, abs=0.01) == found["ttft_us"]


def test_doctor_sees_the_service(service: Up, told: Told) -> None:
    """The service, its store and its schema are found in order."""
    levels = {finding["name"]: finding["level"] for finding in told("doctor")["findings"]}

    assert ("OK", "OK", "OK") == (levels["service"], levels["store"], levels["schema"])
