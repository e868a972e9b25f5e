"""The engine's hooks over objects shaped like vLLM's: pairing, packets, and the host left as it is."""

from types import SimpleNamespace
from typing import Any

import pytest

from otel_attrib.instrumentation.shim import FAULTS
from otel_attrib.instrumentation.vllm import engine as hooks
from otel_attrib.instrumentation.vllm.engine import MOST_IN_FLIGHT, EngineRecorder
from otel_attrib.instrumentation.vllm.wire import detach
from otel_attrib.instrumentation.vllm.worker import ATTRIBUTE


def scheduler(more: bool = False) -> Any:
    """A Scheduler whose requests are (with `more`) amid their prompt."""
    request = SimpleNamespace(is_prefill_chunk=more)
    return SimpleNamespace(
        requests={"a": request, "b": request},
        get_request_counts=lambda: (2, 5),
        get_kv_cache_usage=lambda: 0.25,
    )


def scheduled(tokens: dict[str, int], new: tuple[str, ...] = ()) -> Any:
    """A SchedulerOutput."""
    return SimpleNamespace(
        total_num_scheduled_tokens=sum(tokens.values()),
        num_scheduled_tokens=tokens,
        scheduled_new_reqs=[SimpleNamespace(req_id=request) for request in new],
        scheduled_cached_reqs=SimpleNamespace(resumed_req_ids=set()),
    )


def answers(*outputs: tuple[str, list[int], str | None]) -> Any:
    """EngineCoreOutputs of one client."""
    return {
        0: SimpleNamespace(
            outputs=[
                SimpleNamespace(request_id=name, new_token_ids=ids, finish_reason=reason, trace_headers=None)
                for name, ids, reason in outputs
            ]
        )
    }


def result(recorder: EngineRecorder, ready: int, done: int) -> Any:
    """A ModelRunnerOutput with its worker's numbers."""
    return SimpleNamespace(**{ATTRIBUTE: (recorder.passages.clock, 0, ready, done, 7, -1, -1)})


@pytest.fixture
def recorder() -> EngineRecorder:
    """A recorder that sends nothing."""
    made = EngineRecorder()
    made.begun = True
    return made


def test_outputs_are_paired_by_identity(recorder: EngineRecorder) -> None:
    """Two steps in flight: each output finds its own schedule, though the second was scheduled in between."""
    recorder.received(SimpleNamespace(request_id="a"))
    recorder.received(SimpleNamespace(request_id="b"))
    one, two = scheduled({"a": 9}, ("a",)), scheduled({"b": 8}, ("b",))
    recorder.scheduled(scheduler(), one, 0)
    recorder.scheduled(scheduler(), two, 0)
    first, second = answers(("a", [1], None)), answers(("b", [1], None))

    recorder.processed(one, result(recorder, 10, 20), first, 0)
    recorder.processed(two, result(recorder, 30, 40), second, 0)

    _, of_a, _ = detach(first[0].outputs[0].trace_headers)
    _, of_b, _ = detach(second[0].outputs[0].trace_headers)
    assert of_a is not None and of_b is not None
    assert [(1, 20), (2, 40)] == [(of_a.step, of_a.done), (of_b.step, of_b.done)]
    assert {} == recorder.flight


def test_first_and_last_packets(recorder: EngineRecorder) -> None:
    """Only the first and the last token of a request carry a packet."""
    recorder.received(SimpleNamespace(request_id="a"))
    carried: list[list[str]] = []
    for reason in (None, None, "stop"):
        step = scheduled({"a": 1}, () if carried else ("a",))
        recorder.scheduled(scheduler(), step, 0)
        told = answers(("a", [1], reason))
        recorder.processed(step, result(recorder, 1, 2), told, 0)
        carried.append(sorted(told[0].outputs[0].trace_headers or {}))

    assert [["otel-attrib-first"], [], ["otel-attrib-last"]] == carried


def test_chunks_until_the_first_token(recorder: EngineRecorder) -> None:
    """A prompt in two chunks: the packet names both, and the prompt's tokens are in the step rows."""
    recorder.received(SimpleNamespace(request_id="a"))
    one, two = scheduled({"a": 256}, ("a",)), scheduled({"a": 44, "b": 1})
    recorder.scheduled(scheduler(more=True), one, 0)
    recorder.processed(one, result(recorder, 1, 2), answers(), 0)
    recorder.scheduled(scheduler(more=False), two, 0)
    told = answers(("a", [1], None), ("b", [1], None))
    recorder.processed(two, result(recorder, 3, 4), told, 0)

    _, first, _ = detach(told[0].outputs[0].trace_headers)
    (rows,) = recorder.log.take()
    assert first is not None
    assert 2 == first.chunks
    assert "256,44" == rows.attributes["slatag.steps.prefill_tokens"]
    assert "0,1" == rows.attributes["slatag.steps.decode_tokens"]
    assert "5,5" == rows.attributes["slatag.steps.waiting"]
    assert "250000,250000" == rows.attributes["slatag.steps.kv_usage_ppm"]
    assert "," == rows.attributes["slatag.steps.copy_us"]


def test_an_empty_schedule_is_no_step(recorder: EngineRecorder) -> None:
    """A schedule without tokens gives no step and leaves nothing in flight."""
    empty = scheduled({})
    recorder.scheduled(scheduler(), empty, 0)
    recorder.processed(empty, SimpleNamespace(), {}, 0)

    assert [] == list(recorder.log.take())
    assert 0 == recorder.passages.step


def test_a_worker_without_the_shim(recorder: EngineRecorder) -> None:
    """Without its worker's numbers a step has no forward time, and the first token's sample is unknown."""
    recorder.received(SimpleNamespace(request_id="a"))
    step = scheduled({"a": 9}, ("a",))
    recorder.scheduled(scheduler(), step, 0)
    told = answers(("a", [1], None))
    recorder.processed(step, SimpleNamespace(), told, 10**18)

    _, first, _ = detach(told[0].outputs[0].trace_headers)
    (rows,) = recorder.log.take()
    assert first is not None
    assert (-1, 10**18) == (first.sample, first.done)
    assert "" == rows.attributes["slatag.steps.forward_us"]


def test_steps_in_flight_are_bounded(recorder: EngineRecorder) -> None:
    """Outputs that never come do not fill the memory."""
    kept = [scheduled({"a": 1}) for _ in range(MOST_IN_FLIGHT + 5)]
    for step in kept:
        recorder.scheduled(scheduler(), step, 0)

    assert MOST_IN_FLIGHT == len(recorder.flight)


def test_hooks_that_fail_do_not_break_the_host() -> None:
    """With a scheduler that is not what we think, its own result comes back and the failure is counted."""
    before = FAULTS.counts["engine schedule"]
    host_output = object()
    schedule = hooks._schedule(lambda *_args, **_kwargs: host_output)

    assert host_output is schedule("not a scheduler")
    assert before + 1 == FAULTS.counts["engine schedule"]
