"""The API server's hooks over objects shaped like vLLM's outputs."""

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from otel_attrib.instrumentation import spans
from otel_attrib.instrumentation.facts import First
from otel_attrib.instrumentation.recorder import CURRENT, Timeline
from otel_attrib.instrumentation.vllm import server
from otel_attrib.instrumentation.vllm.wire import FIRST, attach

FACTS = First(1, 0, 1, 2, 0, 0, 0, 1, 1, 0, 0, 0)


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Timeline]]:
    """The requests that would be written; nothing is left in the engine afterwards."""
    written: list[Timeline] = []
    monkeypatch.setattr(spans, "write_request", lambda timeline, _engine: written.append(timeline))
    yield written
    server.LIVE.clear()


def asked(identity: str, kind: str = "DELTA", **values: Any) -> Any:
    """An EngineCoreRequest."""
    fields = {
        "request_id": identity,
        "sampling_params": SimpleNamespace(output_kind=SimpleNamespace(name=kind), max_tokens=8),
        "prompt_token_ids": [1, 2, 3],
        "external_req_id": f"cmpl-{identity}",
        "trace_headers": None,
    }
    return SimpleNamespace(**(fields | values))


def output(identity: str, count: int = 1, reason: str | None = None, cached: int | None = None) -> Any:
    """An EngineCoreOutput."""
    return SimpleNamespace(
        request_id=identity,
        new_token_ids=[5] * count,
        finish_reason=reason,
        trace_headers=None,
        prefill_stats=None if cached is None else SimpleNamespace(num_cached_tokens=cached),
    )


def process(*outputs: Any, stopped: tuple[str, ...] = ()) -> None:
    """Let vLLM process outputs, with our hook around it; `stopped` ended by a stop string."""
    result = SimpleNamespace(reqs_to_abort=list(stopped))
    server._process_outputs(lambda *_args, **_kwargs: result)(None, list(outputs))


def in_http(work: Any) -> Timeline:
    """Do `work` while an HTTP request is being served; return its timeline."""
    timeline = Timeline("chat", "/v1/chat/completions")
    timeline.scope = {}
    token = CURRENT.set(timeline)
    try:
        work()
    finally:
        CURRENT.reset(token)
    return timeline


def add(request: Any, parent: Any = None, index: int = 0, queue: Any = "a queue") -> None:
    """Add a request as vLLM does."""
    server._add_request(lambda *_args, **_kwargs: None)(None, request, None, parent, index, queue)


def test_a_streamed_request(kept: list[Timeline]) -> None:
    """Tokens wait for their chunk; sizes, cache hits and the finish reason are noted."""
    timeline = in_http(lambda: add(asked("a")))
    process(output("a", cached=2))
    process(output("a", 2, "stop"))

    (sequence,) = timeline.sequences
    assert (3, 3, 2, "stop") == (sequence.tokens, sequence.pending, sequence.cached, sequence.finish_reason)
    assert (True, 8, "cmpl-a", 3) == (
        timeline.stream,
        timeline.max_tokens,
        timeline.external_id,
        sequence.prompt_tokens,
    )
    assert {} == server.LIVE
    assert [] == kept  # its HTTP response ends it


def test_a_batch_shares_one_stamp() -> None:
    """All tokens of one engine step are stamped once, after they were detokenised."""
    one = in_http(lambda: add(asked("a", "FINAL_ONLY")))
    two = in_http(lambda: add(asked("b", "FINAL_ONLY")))

    process(output("a"), output("unknown"), output("b"))

    assert one.sequences[0].stamps == two.sequences[0].stamps
    assert 1 == len(one.sequences[0].stamps)
    assert not one.stream


def test_packets_are_taken_out_before_vllm_looks() -> None:
    """vLLM sees the trace headers that it knows; the facts are with the sequence."""
    seen: list[Any] = []
    timeline = in_http(lambda: add(asked("a")))
    told = output("a")
    attach(told, FIRST, FACTS)

    def host(_self: Any, outputs: Any) -> Any:
        seen.extend(one.trace_headers for one in outputs)
        return SimpleNamespace(reqs_to_abort=[])

    server._process_outputs(host)(None, [told])

    assert [None] == seen
    assert FACTS == timeline.sequences[0].first


def test_the_first_facts_stay() -> None:
    """A second first-token packet (a request that began anew) does not replace the first."""
    timeline = in_http(lambda: add(asked("a")))
    for facts in (FACTS, FACTS._replace(done=99)):
        told = output("a")
        attach(told, FIRST, facts)
        process(told)

    assert FACTS == timeline.sequences[0].first


def test_a_stop_string_ends_with_stop() -> None:
    """A sequence that the detokenizer ends has no finish reason of the engine; it is `stop`."""
    timeline = in_http(lambda: add(asked("a")))

    process(output("a"), stopped=("a",))

    assert "stop" == timeline.sequences[0].finish_reason
    assert {} == server.LIVE


def test_parallel_samples_share_the_prompt() -> None:
    """With n = 2 the prompt's tokens are counted with the first sample alone."""

    def both() -> None:
        add(asked("0_a"), parent="p", index=0)
        add(asked("1_a"), parent="p", index=1)

    timeline = in_http(both)

    assert [3, 0] == [sequence.prompt_tokens for sequence in timeline.sequences]


def test_pooling_and_the_offline_llm_are_left_alone(kept: list[Timeline]) -> None:
    """A pooling request has no tokens and the offline LLM has no caller who waits for one."""
    timeline = in_http(lambda: add(asked("pool", sampling_params=None)))
    add(asked("offline"), queue=None)
    process(output("pool"), output("offline", reason="stop"))

    assert [] == timeline.sequences
    assert {} == server.LIVE
    assert [] == kept


def test_an_engine_without_http(kept: list[Timeline]) -> None:
    """AsyncLLM in one's own server: the request ends with its last sequence and continues its trace."""
    add(asked("0_a", trace_headers={"traceparent": "00-1-2-01"}), parent="p", index=0)
    add(asked("1_a"), parent="p", index=1)  # no HTTP request: each its own timeline
    process(output("0_a", reason="stop"))
    process(output("1_a"))
    process(output("1_a", reason="length"))

    assert [1, 2] == [timeline.sequences[0].tokens for timeline in kept]
    assert [1, 2] == [len(timeline.sequences[0].stamps) for timeline in kept]
    assert [(b"traceparent", b"00-1-2-01")] == kept[0].headers
    assert all(timeline.ended for timeline in kept)


def test_a_request_that_names_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The served name stands in where the caller gave none, and only there."""
    monkeypatch.setattr(server, "SERVED", [])
    config = SimpleNamespace(model_config=SimpleNamespace(served_model_name=["tiny", "alias"]))
    server._init(lambda *_args: None)(None, config)

    def named() -> None:
        timeline = CURRENT.get()
        assert timeline is not None
        timeline.model = "alias"
        add(asked("b"))

    assert ["tiny", "alias"] == [in_http(lambda: add(asked("a"))).model, in_http(named).model]


def test_aborted_in_the_front_end() -> None:
    """Aborting ends the sequences that vLLM names, and their HTTP request keeps its own end."""
    timeline = in_http(lambda: add(asked("a")))

    server._abort_requests(lambda *_args: ["a", "never seen"])(None, ["a"], True)

    assert "abort" == timeline.sequences[0].finish_reason
    assert {} == server.LIVE


def test_a_dead_engine_fails_every_request() -> None:
    """When the engine dies each request in it ends with the error's class."""
    timelines = [in_http(lambda name=name: add(asked(name))) for name in "ab"]

    server._propagate_error(lambda *_args: None)(None, ConnectionResetError("gone"))

    assert ["ConnectionResetError"] * 2 == [timeline.error for timeline in timelines]
    assert ["error"] * 2 == [timeline.sequences[0].finish_reason for timeline in timelines]
    assert {} == server.LIVE


def test_model_and_stream_of_a_refused_request() -> None:
    """The parsed body tells model, streaming and limit even if the request never reaches the engine."""
    body = SimpleNamespace(model="nope", stream=True, max_tokens=5)

    async def host(_self: Any, _request: Any) -> str:
        return "refused"

    timeline = in_http(lambda: asyncio.run(server._check_model(host)(None, body)))

    assert ("nope", True, 5) == (timeline.model, timeline.stream, timeline.max_tokens)


def test_rendering_is_tokenize() -> None:
    """The renderer's time is the tokenize stage, also when it refuses the prompt."""

    async def host(_self: Any) -> None:
        await asyncio.sleep(0.002)
        raise ValueError("too long")

    async def tried() -> None:
        with pytest.raises(ValueError, match="too long"):
            await server._render(host)(None)

    timeline = in_http(lambda: asyncio.run(tried()))

    assert timeline.tokenize_end - timeline.tokenize_start >= 2_000_000


def test_one_more_piece_of_a_streamed_input() -> None:
    """A request id that is in the engine already (input in pieces) stays one sequence."""

    def pieces() -> None:
        add(asked("a"))
        add(asked("a"))

    assert 1 == len(in_http(pieces).sequences)
