"""What the launcher says, from what the processes told, and when."""

import json
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.instrumentation.verdict import PATIENCE, Watch, explain, read_facts

ENDPOINT = "http://127.0.0.1:4317"


def fact(event: str, time: float = 0.0, pid: int = 1, **more: Any) -> dict[str, Any]:
    """Something told by a process."""
    return {"event": event, "time": time, "pid": pid, "process": "p", "reason": ""} | more


def said(facts: list[dict[str, Any]], now: float, watch: Watch | None = None) -> list[str]:
    """The lines for these facts."""
    return list((watch or Watch(0.0, ENDPOINT)).lines(facts, now))


LOADED = [fact("plugin", enabled=True), fact("server")]


def test_spans_arrive() -> None:
    """As soon as a batch of the API server was taken, once, with the delay."""
    watch = Watch(0.0, ENDPOINT)
    facts = [*LOADED, fact("request", 5.0), fact("exported", 6.5, endpoint="127.0.0.1:4317")]

    assert ["spans arrive at 127.0.0.1:4317, 1.5 s after the first request ended"] == said(facts, 7.0, watch)
    assert [] == said(facts, 99.0, watch)


def test_steps_of_the_engine_are_no_proof() -> None:
    """A batch of another process says nothing of the requests'."""
    facts = [*LOADED, fact("request", 5.0), fact("exported", 6.0, pid=2, endpoint="e")]

    assert [] == said(facts, 7.0)


def test_nothing_within_the_time() -> None:
    """After ten seconds without an export the verdict is given, whatever is known."""
    facts = [*LOADED, fact("request", 5.0)]

    assert [] == said(facts, 5.0 + PATIENCE - 0.1)
    assert [
        f"spans do NOT arrive: nothing was exported to {ENDPOINT} yet; does OTEL_TRACES_SAMPLER forbid it?"
    ] == said(facts, 5.0 + PATIENCE)


def test_a_failed_export_is_said_at_once_and_taken_back() -> None:
    """A refusal does not wait for the ten seconds; when spans arrive later, that is said as well."""
    watch = Watch(0.0, ENDPOINT)
    facts = [*LOADED, fact("request", 5.0), fact("failed", 6.0, reason="StatusCode.UNAUTHENTICATED")]

    assert [
        f"spans do NOT arrive: {ENDPOINT} asks for a valid token; set OTEL_EXPORTER_OTLP_HEADERS"
    ] == said(facts, 6.1, watch)
    assert ["spans arrive at e, 15.0 s after the first request ended"] == said(
        [*facts, fact("exported", 20.0, endpoint="e")], 21.0, watch
    )


def test_plugin_not_loaded_in_the_api_server() -> None:
    """The engine serves, but no API server is instrumented: that is the reason."""
    (line,) = said([fact("plugin", enabled=True), fact("engine", 5.0, pid=2)], 5.0 + PATIENCE)

    assert "no API server process has loaded the plugin" in line


def test_a_long_first_request_is_no_failure() -> None:
    """While the first request still runs its span cannot have come."""
    facts = [*LOADED, fact("engine", 5.0, pid=2)]

    assert ["the first request still runs; its span is sent when it ends"] == said(facts, 5.0 + PATIENCE)


def test_not_instrumented_says_why() -> None:
    """A version out of range or a hook that is off is said once, not once a process."""
    reason = "version 9 is outside the supported range"
    asleep = [fact("plugin", enabled=False, reason=reason, pid=pid) for pid in (1, 2)]
    facts = [*asleep, fact("hook off", reason="m:f is gone")]

    assert [f"not instrumented: {reason}", "one hook is off: m:f is gone"] == said(facts, 1.0)


def test_no_process_has_loaded_it() -> None:
    """A command that never loads the plugin is told so, after minutes."""
    (line,) = said([], 301.0)

    assert "no process has loaded the plugin in 300 s" in line


def test_handed_to_the_host() -> None:
    """With a provider of the server's own, its exporter is not ours to watch."""
    facts = [*LOADED, fact("request", 5.0), fact("provider", 5.0, owner="host")]

    assert "TracerProvider that the server set up itself" in said(facts, 20.0)[0]


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("Error details: connect: Connection refused (111)", "nothing listens at"),
        ("error code: StatusCode.UNAVAILABLE", "cannot be reached"),
        ("error code: StatusCode.UNAUTHENTICATED", "asks for a valid token"),
        ("Failed to export span batch code: 401, reason: Unauthorized", "asks for a valid token"),
        ("error code: StatusCode.UNIMPLEMENTED", "is it the HTTP port?"),
        ("something new", "something new"),
    ],
)
def test_complaints_are_shortened(reason: str, cause: str) -> None:
    """The exporter's words become a cause and what to do; unknown ones are kept."""
    assert cause in explain(reason, ENDPOINT)


def test_reading_facts(tmp_path: Path) -> None:
    """Facts of all processes by time; a line that is being written waits."""
    (tmp_path / "1.jsonl").write_text(json.dumps(fact("late", 2.0)) + '\n{"event": "hal')
    (tmp_path / "2.jsonl").write_text(json.dumps(fact("early", 1.0)) + "\n")

    assert ["early", "late"] == [one["event"] for one in read_facts(tmp_path)]
