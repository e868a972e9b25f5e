"""A recording is read as it was written, and only its times move."""

from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from otel_attrib.demo.client import Exchange
from otel_attrib.demo.process import get
from otel_attrib.demo.recording import Recording, Tap, batched, load_recording, shifted_body
from otel_attrib.demo.replay import Outcome
from otel_attrib.demo.story import Phase, Story
from otel_attrib.errors import DataError

STORY = Story((Phase("baseline", 1, 2, 3), Phase("cpu-hog", 4, 5, 3, "2 busy processes")), 7, {"vllm": "0"})


def body(start: int) -> bytes:
    """An export of one span with one event."""
    span = Span(name="chat", start_time_unix_nano=start, end_time_unix_nano=start + 5)
    span.events.add(name="token_stall", time_unix_nano=start + 2)
    spans = ResourceSpans(scope_spans=[ScopeSpans(spans=[span])])
    return ExportTraceServiceRequest(resource_spans=[spans]).SerializeToString()


def test_round_trip(tmp_path: Path) -> None:
    """Story, bodies and first stamps come back; written twice it is the same file."""
    seen = Exchange(sent_wall_ns=1, sent_ns=2, http_status=200, events_ns=[3, 4], end_ns=5)
    recording = Recording(
        STORY, (Outcome("baseline", 0, "stream", "ide", "a", "b", seen),), (b"", b"\n\x00x")
    )
    recording.save(tmp_path / "one.gz")
    recording.save(tmp_path / "two.gz")
    back = load_recording(tmp_path / "one.gz")

    assert (STORY, recording.bodies) == (back.story, back.bodies)
    assert [3] == back.outcomes[0].seen.events_ns
    assert recording.outcomes[0].ttft_us == back.outcomes[0].ttft_us
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()


def test_a_missing_recording(tmp_path: Path) -> None:
    """A file that is not there is called missing."""
    with pytest.raises(DataError, match=r"absent\.gz is missing$"):
        load_recording(tmp_path / "absent.gz")


@pytest.mark.parametrize("content", [b"", b"not gzip", b"\x1f\x8b\x08\x00"], ids=["empty", "other", "cut"])
def test_no_recording(content: bytes, tmp_path: Path) -> None:
    """A file that is none is refused by name."""
    (tmp_path / "x.gz").write_bytes(content)

    with pytest.raises(DataError, match=r"x\.gz is no recording"):
        load_recording(tmp_path / "x.gz")


def test_every_time_moves() -> None:
    """Start, end and events move by the same; nothing else changes."""
    assert body(1_700_000_000_000_000_123) == shifted_body(body(1_700_000_000_000_000_000), 123)


def test_exports_are_joined() -> None:
    """Exports joined to a size hold all spans in order, and no piece but the last is below the size."""
    bodies = [body(start) for start in range(1, 8)]
    joined = list(batched(bodies, 2 * len(bodies[0])))
    spans = [
        span.start_time_unix_nano
        for piece in joined
        for resource in ExportTraceServiceRequest.FromString(piece).resource_spans
        for span in resource.scope_spans[0].spans
    ]

    assert [2, 2, 2, 1] == [
        len(ExportTraceServiceRequest.FromString(piece).resource_spans) for piece in joined
    ]
    assert [1, 2, 3, 4, 5, 6, 7] == spans


def test_story_moves() -> None:
    """A shifted story keeps the lengths of its phases."""
    moved = STORY.shifted(10)

    assert [(11, 12), (14, 15)] == [(phase.start_ns, phase.end_ns) for phase in moved.phases]
    assert STORY.end_ns + 10 == moved.end_ns


def test_tap_tells_when_nobody_is_behind_it() -> None:
    """Without a receiver behind it the tap answers 503 and keeps nothing, so the exporter tries again."""
    with Tap("http://127.0.0.1:9") as tap:
        assert (503, b"") == tap.forward("/v1/traces", b"x", "application/x-protobuf")
        with pytest.raises(OSError, match="501"):
            get(tap.url)
        assert [] == tap.bodies
