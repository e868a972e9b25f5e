"""Engine process: hooks on the scheduler and the KV cache manager that feed `Passages` and the step log.

A schedule is matched with its output by the identity of the SchedulerOutput, never by nesting,
because two batches may be in flight. No object of ours is put into anything that vLLM pickles.
"""

import functools
from time import monotonic_ns
from typing import Any

from otel_attrib.instrumentation import background, spans, status
from otel_attrib.instrumentation.clock import clock_id
from otel_attrib.instrumentation.shim import Callback, Hook, guarded
from otel_attrib.instrumentation.steps import StepLog
from otel_attrib.instrumentation.vllm.passages import Batch, Passages, Times
from otel_attrib.instrumentation.vllm.wire import FIRST, LAST, attach
from otel_attrib.instrumentation.vllm.worker import ATTRIBUTE

__all__ = ["ENGINE", "HOOKS", "EngineRecorder"]

MOST_IN_FLIGHT = 64


class EngineRecorder:
    """What this engine process has told about its requests and its steps."""

    def __init__(self) -> None:
        """Start empty."""
        self.passages = Passages(clock_id())
        self.log = StepLog()
        self.flight: dict[int, Batch] = {}
        self.preempted = 0
        self.previous_done = 0
        self.begun = False

    def received(self, request: Any) -> None:
        """A request has been decoded and is in the engine's queue."""
        self.passages.receive(request.request_id, monotonic_ns())

    def scheduled(self, scheduler: Any, output: Any, start: int) -> None:
        """A batch was put together; an empty one is no step."""
        end = monotonic_ns()
        if not output.total_num_scheduled_tokens:
            return
        passages = self.passages
        passages.step = number = passages.step + 1
        running, waiting = scheduler.get_request_counts()
        usage = int(scheduler.get_kv_cache_usage() * 1e6)
        passages.waiting_max.add(number, waiting)
        passages.kv_usage_max.add(number, usage)
        counts = waiting, running, self.preempted, usage
        self.preempted = 0
        batch = Batch(output, number, start, end, len(output.num_scheduled_tokens), counts)
        if passages.chunking or output.scheduled_new_reqs or output.scheduled_cached_reqs.resumed_req_ids:
            self._prompts(scheduler, output, batch)
        self.flight[id(output)] = batch
        if len(self.flight) > MOST_IN_FLIGHT:
            del self.flight[next(iter(self.flight))]
        if not self.begun:
            self._begin(scheduler)

    def _prompts(self, scheduler: Any, output: Any, batch: Batch) -> None:
        """Some requests compute a piece of their prompt in this step; each is told once."""
        found = dict.fromkeys(self.passages.chunking)
        found.update((new.req_id, None) for new in output.scheduled_new_reqs)
        found.update(dict.fromkeys(output.scheduled_cached_reqs.resumed_req_ids))
        tokens = output.num_scheduled_tokens
        for request in found:
            if request in tokens:
                more = scheduler.requests[request].is_prefill_chunk
                self.passages.schedule(batch, request, tokens[request], more=more)

    def _begin(self, scheduler: Any) -> None:
        """First step of this process: learn which replica it is and start sending."""
        self.begun = True
        parallel = scheduler.vllm_config.parallel_config
        self.passages.replica = getattr(parallel, "data_parallel_index", 0) or 0
        status.tell("engine", replica=self.passages.replica)
        background.every_tick(self.send)

    def send(self) -> None:
        """Turn the new steps into spans, once a second; runs on the background thread."""
        if background.due(self, 1.0):
            for found in self.log.take():
                spans.write_steps(found, "vllm", str(self.passages.replica))

    def processed(self, output: Any, result: Any, outputs: Any, received: int) -> None:
        """A step's output is there and has been handled."""
        finished = monotonic_ns()
        batch = self.flight.pop(id(output), None)
        if batch is None:
            return
        begun = max(batch.end, self.previous_done)
        ready = done = received
        forward = sample = collective = copy = -1
        work = getattr(result, ATTRIBUTE, None)
        if work is not None:
            clock, _, logits, fetched, forward, collective, copy = work
            sample = fetched - logits if logits >= 0 else -1
            if clock == self.passages.clock:
                done = fetched
            ready = done - sample if sample >= 0 else done
        self.previous_done = done
        times = Times(begun, ready, done, finished)
        self.passages.compute(batch, times, forward, sample)
        self._tell(batch, times, sample, outputs)
        size = batch.size
        prompt = batch.prefill_tokens
        answer = output.total_num_scheduled_tokens - prompt
        waiting, running, preempted, usage = batch.counts
        started = batch.start
        scheduling = batch.end - started
        row = (batch.number, started, finished - started, size, prompt, answer, waiting, running, preempted)
        self.log.append((*row, usage, scheduling, forward, sample, collective, copy, finished - received))

    def _tell(self, batch: Batch, times: Times, sample: int, outputs: Any) -> None:
        """Send what is known along with each first and each last token."""
        passages = self.passages
        opening = passages.opening
        for answer in outputs.values():
            for one in answer.outputs:
                if opening and one.new_token_ids and one.request_id in opening:
                    first = passages.first_token(one.request_id, batch, times, sample)
                    if first is not None:
                        attach(one, FIRST, first)
                if one.finish_reason is not None:
                    last = passages.finish(one.request_id, batch, times)
                    if last is not None:
                        attach(one, LAST, last)


ENGINE = EngineRecorder()


def _schedule(original: Callback) -> Callback:
    scheduled = guarded("engine schedule", ENGINE.scheduled)

    @functools.wraps(original)
    def schedule(self: Any, *args: Any, **kwargs: Any) -> Any:
        start = monotonic_ns()
        output = original(self, *args, **kwargs)
        scheduled(self, output, start)
        return output

    return schedule


def _update_from_output(original: Callback) -> Callback:
    processed = guarded("engine output", ENGINE.processed)

    @functools.wraps(original)
    def update_from_output(
        self: Any, scheduler_output: Any, model_runner_output: Any, *args: Any, **kwargs: Any
    ) -> Any:
        received = monotonic_ns()
        outputs = original(self, scheduler_output, model_runner_output, *args, **kwargs)
        processed(scheduler_output, model_runner_output, outputs, received)
        return outputs

    return update_from_output


def _preprocess_add_request(original: Callback) -> Callback:
    received = guarded("engine receive", ENGINE.received)

    @functools.wraps(original)
    def preprocess_add_request(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, request, *args, **kwargs)
        received(request)
        return result

    return preprocess_add_request


def _add_request(original: Callback) -> Callback:
    # Where requests come in without preprocess_add_request; else already known.
    received = guarded("engine receive", ENGINE.received)

    @functools.wraps(original)
    def add_request(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        received(request)
        return original(self, request, *args, **kwargs)

    return add_request


def _preempt_request(original: Callback) -> Callback:
    def preempted(request: Any) -> None:
        ENGINE.preempted += 1
        ENGINE.passages.preempt(request.request_id)

    note = guarded("engine preempt", preempted)

    @functools.wraps(original)
    def preempt_request(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        note(request)
        return original(self, request, *args, **kwargs)

    return preempt_request


def _finish_requests(original: Callback) -> Callback:
    def aborted(requests: Any) -> None:
        ENGINE.passages.forget(request.request_id for request in requests)

    note = guarded("engine abort", aborted)

    @functools.wraps(original)
    def finish_requests(self: Any, *args: Any, **kwargs: Any) -> Any:
        requests = original(self, *args, **kwargs)
        note(requests)
        return requests

    return finish_requests


def _kv(original: Callback) -> Callback:
    """Time spent on a request's blocks before its first token; a lookup is all it costs later."""
    opening = ENGINE.passages.opening

    @functools.wraps(original)
    def kv(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        passage = opening.get(request.request_id)
        if passage is None or passage.in_flight:
            return original(self, request, *args, **kwargs)
        before = monotonic_ns()
        result = original(self, request, *args, **kwargs)
        after = monotonic_ns()
        passage.kv += after - before
        if result is not None and kwargs.get("delay_cache_blocks"):
            passage.loading = after  # blocks are being loaded from elsewhere
        return result

    return kv


_SCHEDULER = "vllm.v1.core.sched.scheduler:Scheduler"
_KV = "vllm.v1.core.kv_cache_manager:KVCacheManager"

HOOKS = (
    Hook(f"{_SCHEDULER}.schedule", ("self", "throttle_prefills"), _schedule),
    Hook(
        f"{_SCHEDULER}.update_from_output",
        ("self", "scheduler_output", "model_runner_output"),
        _update_from_output,
    ),
    Hook(f"{_SCHEDULER}.add_request", ("self", "request"), _add_request),
    Hook(f"{_SCHEDULER}._preempt_request", ("self", "request", "timestamp"), _preempt_request),
    Hook(f"{_SCHEDULER}.finish_requests", ("self", "request_ids", "finished_status"), _finish_requests),
    Hook(f"{_KV}.get_computed_blocks", ("self", "request"), _kv),
    Hook(f"{_KV}.allocate_slots", ("self", "request", "num_new_tokens"), _kv),
    Hook(
        "vllm.v1.engine.core:EngineCore.preprocess_add_request", ("self", "request"), _preprocess_add_request
    ),
)
