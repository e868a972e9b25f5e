"""Log lines of a request carry the ids that its span has in the end, and nothing of the host's breaks."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_attrib.instrumentation import background
from otel_attrib.instrumentation.asgi import RecordingApp
from otel_attrib.instrumentation.logs import correlate
from otel_attrib.instrumentation.logs.correlate import REQUESTS, CorrelatedRecords, correlate_logs, remember
from otel_attrib.instrumentation.logs.ids import PlannedIds, ids_of, planned
from otel_attrib.instrumentation.logs.json_lines import LOG_FORMAT, as_json, json_lines
from otel_attrib.instrumentation.recorder import CURRENT, Timeline
from otel_attrib.instrumentation.shim import FAULTS
from otel_attrib.instrumentation.spans import SpanWriter

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENTED = [(b"traceparent", f"00-{TRACE}-b7ad6b7169203331-01".encode())]


@pytest.fixture(autouse=True)
def free_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget of this test alone."""
    monkeypatch.setattr(background, "BUDGET", background.Budget(0.0))


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[logging.LogRecord]]:
    """Records of the logger `vllm.test`, made by our factory; the process's logging is put back."""
    before, kept = logging.getLogRecordFactory(), []

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            kept.append(record)

    logger, keeper = logging.getLogger("vllm.test"), Keeper()
    logger.setLevel(logging.INFO)
    logger.addHandler(keeper)
    logger.propagate = False
    monkeypatch.setattr(correlate, "_on", False)
    correlate_logs()
    yield kept
    logging.setLogRecordFactory(before)
    logger.removeHandler(keeper)
    REQUESTS.clear()


def log(text: str, *args: Any) -> None:
    """One line of the engine."""
    logging.getLogger("vllm.test").info(text, *args)


def written(timeline: Timeline) -> Any:
    """The span that the shim makes of a request that is over."""
    memory = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False, id_generator=PlannedIds())
    provider.add_span_processor(SimpleSpanProcessor(memory))
    writer = SpanWriter(requests=provider.get_tracer("test"))
    timeline.end()
    writer.put(timeline, "vllm")
    writer.drain()
    return next(
        span for span in memory.get_finished_spans() if span.parent is None or span.kind.name == "SERVER"
    )


@pytest.mark.parametrize("headers", [PARENTED, []], ids=["caller's trace", "a trace of its own"])
def test_a_line_in_a_request_has_the_ids_of_its_span(
    records: list[logging.LogRecord], headers: list[tuple[bytes, bytes]]
) -> None:
    """What a line says while the request is served is what its span is called after its end."""
    made: list[Timeline] = []

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        log("inside")
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": b""})

    async def nothing(*_args: Any) -> Any:
        return {"type": "http.request"}

    scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "headers": headers}
    asyncio.run(RecordingApp(app, {"/v1/chat/completions": "chat"}, made.append)(scope, nothing, nothing))
    span = written(made[0]).get_span_context()

    assert (f"{span.trace_id:032x}", f"{span.span_id:016x}") == (records[0].trace_id, records[0].span_id)  # type: ignore[attr-defined]
    assert (TRACE if headers else records[0].trace_id) == records[0].trace_id  # type: ignore[attr-defined]


def test_a_request_that_nobody_logged_has_random_ids() -> None:
    """Without a line nothing is drawn in advance, and two requests are two traces."""
    first, second = Timeline("chat"), Timeline("chat")
    contexts = [written(one).get_span_context() for one in (first, second)]

    assert (None, None) == (first.ids, second.ids)
    assert 2 == len({context.trace_id for context in contexts})


def test_child_spans_have_ids_of_their_own() -> None:
    """The planned ids are of the one span that they were planned for."""
    generator = PlannedIds()
    with planned((1, 2)):
        assert (1, 2) == (generator.generate_trace_id(), generator.generate_span_id())

    assert 2 != generator.generate_span_id()
    with planned(None):
        assert 1 != generator.generate_trace_id()


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("Aborted request(s) %s.", ("chatcmpl-0123456789abcdef",)),
        ("Aborted request(s) chatcmpl-0123456789abcdef.", ()),
        ("Requests: %s", (["chatcmpl-0123456789abcdef"],)),
        ("engine id %s", ("chatcmpl-0123456789abcdef-9d3f",)),
    ],
)
def test_a_line_that_mentions_a_request(
    records: list[logging.LogRecord], text: str, args: tuple[Any, ...]
) -> None:
    """A line outside of any request has the ids of the one that it names, by the engine's id or its own."""
    timeline = Timeline("chat", "", PARENTED)
    remember(timeline, "chatcmpl-0123456789abcdef", "chatcmpl-0123456789abcdef-9d3f")
    log(text, *args)

    assert TRACE == records[0].trace_id  # type: ignore[attr-defined]
    assert records[0].request_id.startswith("chatcmpl-0123456789abcdef")  # type: ignore[attr-defined]


def test_a_line_after_the_end(records: list[logging.LogRecord]) -> None:
    """A line that comes when the request is over has the ids of its span; the request itself is let go."""
    timeline = Timeline("chat")
    timeline.external_id = "chatcmpl-0123456789abcdef"
    timeline.add("engine-0123456789", 3, False)
    remember(timeline, timeline.external_id, "engine-0123456789")
    span = written(timeline).get_span_context()
    log("Aborted request(s) %s", "engine-0123456789")

    assert f"{span.trace_id:032x}" == records[0].trace_id  # type: ignore[attr-defined]
    assert {True} == {isinstance(one, tuple) for one in REQUESTS.values()}


def test_other_lines_have_no_ids(records: list[logging.LogRecord]) -> None:
    """A line about nothing in particular has no trace: absent, not empty."""
    remember(Timeline("chat"), "chatcmpl-0123456789abcdef")
    log("Avg prompt throughput: %.1f tokens/s", 12.5)
    log("a dictionary %(a)s", {"a": 1})

    assert [False, False] == [hasattr(record, "trace_id") for record in records]


def test_the_map_is_bounded(records: list[logging.LogRecord], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many requests the newest are remembered."""
    monkeypatch.setattr(correlate, "MOST_REQUESTS", 10)
    for number in range(25):
        remember(Timeline("chat"), f"request-{number:08}")

    assert [f"request-{number:08}" for number in range(15, 25)] == list(REQUESTS)


def test_what_the_host_has_set_stays(records: list[logging.LogRecord]) -> None:
    """A factory or an `extra` of the host's own wins, and its factory still makes the record."""
    token = CURRENT.set(Timeline("chat", "", PARENTED))
    logging.getLogger("vllm.test").info("x", extra={"request_id": "theirs"})
    CURRENT.reset(token)

    assert ("theirs", TRACE) == (records[0].request_id, records[0].trace_id)  # type: ignore[attr-defined]


def test_a_fault_of_ours_is_no_fault_of_the_line(
    records: list[logging.LogRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong in stamping, the line is written."""

    def broken(_record: Any) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(correlate, "_stamp", broken)
    monkeypatch.setattr(FAULTS, "counts", type(FAULTS.counts)())
    logging.setLogRecordFactory(CorrelatedRecords(logging.LogRecord))
    log("still %s", "here")

    assert ["still here"] == [record.getMessage() for record in records]


def test_json_lines(records: list[logging.LogRecord]) -> None:
    """A line is one JSON object with the ids, the text put together, and the exception as text."""
    token = CURRENT.set(Timeline("chat", "", PARENTED))
    try:
        raise RuntimeError("two\nlines")
    except RuntimeError:
        logging.getLogger("vllm.test").exception("failed: %s ✗", "x")
    CURRENT.reset(token)

    text = as_json(records[0])
    line = json.loads(text)
    assert "\n" not in text
    assert ("failed: x ✗", "ERROR", "vllm.test", TRACE) == (
        line["message"],
        line["level"],
        line["logger"],
        line["trace_id"],
    )
    assert line["exception"].endswith("RuntimeError: two\nlines")
    assert line["time"].endswith("+00:00")


def test_json_is_asked_for(monkeypatch: pytest.MonkeyPatch, records: list[logging.LogRecord]) -> None:
    """With the setting the engine's lines are JSON through any formatter; other libraries' are not."""
    monkeypatch.setattr(logging.Handler, "format", logging.Handler.format)
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    loggers = [logging.getLogger(name) for name in ("vllm.test", "httpx.test")]
    for logger in loggers:
        logger.addHandler(handler)
    json_lines()
    loggers[0].info("before")
    monkeypatch.setenv(LOG_FORMAT, "json")
    json_lines()
    json_lines()
    for logger in loggers:
        logger.warning("after")
        logger.removeHandler(handler)

    plain, ours, theirs = stream.getvalue().splitlines()
    assert ("INFO before", "WARNING after") == (plain, theirs)
    assert "after" == json.loads(ours)["message"]


def test_ids_are_the_same_each_time() -> None:
    """All lines of a request agree."""
    timeline = Timeline("chat")

    assert ids_of(timeline) == ids_of(timeline)


@pytest.mark.parametrize("said", ["half a letter \ud800", "日本 ü", "two\nlines \0", "plain"])
def test_every_line_can_be_written(said: str) -> None:
    """A JSON line is one line that UTF-8 can hold, whatever a client sent, and reads back as it was said."""
    record = logging.LogRecord(
        "vllm.x", logging.INFO, "f", 1, "%s", (said,), None, sinfo="Stack (most recent"
    )
    line = as_json(record)

    assert (said, "Stack (most recent") == (json.loads(line)["message"], json.loads(line)["stack"])
    assert 1 == len(line.encode().splitlines())
