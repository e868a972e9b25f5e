"""What the recorder costs the threads of an engine, beside spans and events of the plain OpenTelemetry SDK.

Every hook is run as it is installed in vLLM, around functions that do nothing, over objects shaped like
vLLM's; the same loop without hooks is subtracted. Per token and per request are the sums of what the
API server's event loop and the engine's loop pay; a step is shared by its whole batch. Building and
exporting spans happens on another thread and is shown by itself. Figures are medians of `--repeats`.

    python benchmarks/recorder.py --json build/bench/recorder.json
"""

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from otel_attrib.instrumentation import background, spans
from otel_attrib.instrumentation.asgi import RecordingApp, stamping
from otel_attrib.instrumentation.recorder import Timeline
from otel_attrib.instrumentation.shim import Hook
from otel_attrib.instrumentation.steps import StepLog
from otel_attrib.instrumentation.vllm import engine, server, worker
from otel_attrib.instrumentation.vllm.engine import ENGINE

TOKEN_BUDGET_US = 1.0
REQUEST_BUDGET_US = 50.0
BUDGET_BATCH = 8
EVENT_LOOP = "API event loop"
ENGINE_LOOP = "engine loop"
BACKGROUND = "background thread"
PLAIN_SDK = "plain SDK, inline"


class Nowhere(SpanExporter):
    """Takes batches and forgets them."""

    def export(self, spans: Any) -> SpanExportResult:
        """Succeed."""
        return SpanExportResult.SUCCESS


def output(request: str, finished: str | None = None) -> SimpleNamespace:
    """One engine output as vLLM shapes it: a token of a request."""
    return SimpleNamespace(
        request_id=request, new_token_ids=[7], finish_reason=finished, trace_headers=None, prefill_stats=None
    )


def nothing(*_args: Any, **_kwargs: Any) -> Any:
    return None


def hooked(hooks: tuple[Hook, ...], name: str, result: Any = None) -> Callable[..., Any]:
    """One hook as it is installed, around a function that returns `result`."""
    (found,) = (one for one in hooks if one.target.endswith(name))
    return found.wrapper(lambda *_a, **_k: result)


def per_call(work: Callable[[], object], calls: int) -> float:
    """Microseconds of this thread's CPU for each of `calls` calls that `work` makes."""
    start = time.thread_time_ns()
    work()
    return (time.thread_time_ns() - start) / calls / 1e3


class Measured:
    """Rows of medians, the loop without the hooks subtracted."""

    def __init__(self, repeats: int) -> None:
        """Take the median of `repeats` runs."""
        self.repeats = repeats
        self.rows: list[dict[str, Any]] = []

    def add(
        self,
        thread: str,
        what: str,
        per: dict[str, int],
        with_it: Callable[[], object],
        without: Callable[[], object],
        batch: int = 0,
    ) -> None:
        """Measure once, report per each unit of `per` (unit -> how many of it `with_it` makes)."""
        costs = [per_call(with_it, 1) - per_call(without, 1) for _ in range(self.repeats)]
        for unit, count in per.items():
            cost = round(statistics.median(costs) / count, 3)
            self.rows.append({"thread": thread, "what": what, "per": unit, "us": cost, "batch": batch})


def api_token(measured: Measured, batch: int, steps: int) -> None:
    """A step's outputs come in, each token is stamped, its chunk is written."""
    requests = [f"r{number}" for number in range(batch)]
    timelines = [Timeline("chat") for _ in requests]
    for timeline, request in zip(timelines, requests, strict=True):
        sequence = timeline.add(request, 100, True)
        assert sequence is not None
        server.LIVE[request] = sequence
    outputs = [output(request) for request in requests]
    process = hooked(server.HOOKS, "process_outputs", SimpleNamespace(reqs_to_abort=[]))
    chunk = {"type": "http.response.body", "body": b"x", "more_body": True}

    async def write(_message: Any) -> None:
        return None

    async def run(step: Callable[..., Any], sends: list[Any]) -> None:
        for _ in range(steps):
            step(None, outputs)
            for send in sends:
                await send(chunk)

    stamped = [stamping(timeline, write) for timeline in timelines]
    measured.add(
        EVENT_LOOP,
        f"token taken and written, batch {batch}",
        {"token": steps * batch},
        lambda: asyncio.run(run(process, stamped)),
        lambda: asyncio.run(run(nothing, [write] * batch)),
        batch,
    )
    server.LIVE.clear()


def scheduled(tokens: dict[str, int], new: tuple[str, ...] = ()) -> SimpleNamespace:
    """A SchedulerOutput."""
    return SimpleNamespace(
        total_num_scheduled_tokens=sum(tokens.values()),
        num_scheduled_tokens=tokens,
        scheduled_new_reqs=[SimpleNamespace(req_id=name) for name in new],
        scheduled_cached_reqs=SimpleNamespace(resumed_req_ids=set()),
    )


def scheduler(names: list[str]) -> SimpleNamespace:
    """A Scheduler."""
    return SimpleNamespace(
        requests={name: SimpleNamespace(request_id=name, is_prefill_chunk=False) for name in names},
        get_request_counts=lambda: (len(names), 3),
        get_kv_cache_usage=lambda: 0.5,
    )


def computed() -> SimpleNamespace:
    """A ModelRunnerOutput as it comes from a worker with the shim."""
    work = worker.Work(ENGINE.passages.clock, 1, 2, 3, 1, -1, -1)
    return SimpleNamespace(**{worker.ATTRIBUTE: tuple(work)})


def engine_token(measured: Measured, batch: int, steps: int) -> None:
    """Decoding: blocks for each request, schedule and output of each step."""
    names = [f"e{number}" for number in range(batch)]
    host = scheduler(names)
    planned = scheduled(dict.fromkeys(names, 1))
    result = computed()
    schedule = hooked(engine.HOOKS, "Scheduler.schedule", planned)
    answers = {0: SimpleNamespace(outputs=[output(name) for name in names])}
    update = hooked(engine.HOOKS, "update_from_output", answers)
    blocks = hooked(engine.HOOKS, "allocate_slots")

    def run(blocks: Any, schedule: Any, update: Any) -> None:
        for _ in range(steps):
            for request in host.requests.values():
                blocks(None, request, 1)
            schedule(host)
            update(host, planned, result)
        ENGINE.log = StepLog()

    measured.add(
        ENGINE_LOOP,
        f"decode step, batch {batch}",
        {"token": steps * batch, "step": steps},
        lambda: run(blocks, schedule, update),
        lambda: run(nothing, nothing, nothing),
        batch,
    )


def api_request(measured: Measured, requests: int) -> None:
    """A request's whole way through the API server, except its tokens."""
    headers = [
        (b"traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        (b"x-tenant-id", b"acme"),
    ]
    params = SimpleNamespace(output_kind=SimpleNamespace(name="DELTA"), max_tokens=64)
    writer = spans.SpanWriter()

    def asked(number: int) -> SimpleNamespace:
        return SimpleNamespace(
            request_id=f"q{number}",
            sampling_params=params,
            prompt_token_ids=[1] * 50,
            external_req_id="cmpl-q",
            trace_headers=None,
        )

    def app(add: Any) -> Any:
        async def serve(scope: Any, _receive: Any, send: Any) -> None:
            add(None, asked(scope["number"]), None, None, 0, headers)
            await send({"type": "http.response.start", "status": 200})
            await send({"type": "http.response.body", "body": b"x", "more_body": False})

        return serve

    def keep(timeline: Timeline) -> None:
        for sequence in timeline.sequences:
            server.LIVE.pop(sequence.identity, None)
        writer.put(timeline, "vllm")

    async def run(serve: Any) -> None:
        async def receive() -> Any:
            return {"type": "http.request"}

        async def send(_message: Any) -> None:
            return None

        for number in range(requests):
            scope = {"type": "http", "method": "POST", "path": "/v1/completions", "headers": headers}
            await serve(scope | {"number": number}, receive, send)
        writer.queue.clear()

    recording = RecordingApp(
        app(hooked(server.HOOKS, "OutputProcessor.add_request")), server.OPERATIONS, keep
    )
    measured.add(
        EVENT_LOOP,
        "arrival, submission, end",
        {"request": requests},
        lambda: asyncio.run(run(recording)),
        lambda: asyncio.run(run(app(nothing))),
    )


def engine_request(measured: Measured, requests: int) -> None:
    """Each request alone: received, blocks, a step with its whole prompt, its only token."""
    receive = hooked(engine.HOOKS, "preprocess_add_request")
    blocks = hooked(engine.HOOKS, "allocate_slots")

    def run(receive: Any, blocks: Any, schedule: Any, update: Any) -> None:
        for number in range(requests):
            name = f"p{number}"
            host = scheduler([name])
            planned = scheduled({name: 50}, (name,))
            result = computed()
            answers = {0: SimpleNamespace(outputs=[output(name, "stop")])}
            receive(None, host.requests[name])
            blocks(None, host.requests[name], 50)
            schedule(host, planned, time.monotonic_ns())
            update(planned, result, answers, time.monotonic_ns())
        ENGINE.log = StepLog()

    measured.add(
        ENGINE_LOOP,
        "prompt and end, its step included",
        {"request": requests},
        lambda: run(receive, blocks, ENGINE.scheduled, ENGINE.processed),
        lambda: run(nothing, nothing, nothing, nothing),
    )


def provider() -> TracerProvider:
    """An SDK that keeps what it is given: export is not measured."""
    made = TracerProvider(shutdown_on_exit=False)
    many = 2**20
    made.add_span_processor(
        BatchSpanProcessor(
            Nowhere(), max_queue_size=many, schedule_delay_millis=3_600_000, max_export_batch_size=many
        )
    )
    return made


def off_thread(measured: Measured, requests: int, tokens: int) -> None:
    """A request's span tree, before export."""
    sdk = provider()
    tracer = sdk.get_tracer("bench")
    timelines = []
    for _ in range(requests):
        timeline = Timeline("chat", "/v1/chat/completions")
        sequence = timeline.add("x", 100, False)
        assert sequence is not None
        for number in range(tokens):
            sequence.took(timeline.arrived + 1_000_000 * (number + 1), 1)
        timeline.end()
        timelines.append(timeline)
    writer = spans.SpanWriter()

    def build() -> None:
        for timeline in timelines:
            writer.request(tracer, timeline, "vllm")

    measured.add(BACKGROUND, f"span tree, {tokens} tokens", {"request": requests}, build, nothing)
    sdk.shutdown()


def plain_sdk(measured: Measured, calls: int) -> None:
    """What the same would cost inline: a span with 20 attributes, an event per token."""
    sdk = provider()
    tracer = sdk.get_tracer("plain")
    attributes = {f"gen_ai.attribute.{number}": number for number in range(20)}

    def span() -> None:
        for _ in range(calls):
            tracer.start_span("chat tiny", attributes=attributes).end()

    def events() -> None:
        one = tracer.start_span("chat tiny")
        for number in range(calls):
            one.add_event("token", {"index": number})
        one.end()

    measured.add(PLAIN_SDK, "one span, 20 attributes", {"request": calls}, span, nothing)
    measured.add(PLAIN_SDK, "one event", {"token": calls}, events, nothing)
    sdk.shutdown()


def main() -> int:
    """Measure, print, write JSON; 1 if a budget is exceeded."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    background.BUDGET.share = 0.0  # this process does nothing but build spans
    ENGINE.begun = True  # no spans are sent from here
    measured = Measured(args.repeats)
    for batch in (1, 8, 64):
        api_token(measured, batch, 4000 // batch)
        engine_token(measured, batch, 4000 // batch)
    api_request(measured, 500)
    engine_request(measured, 500)
    off_thread(measured, 100, 200)
    plain_sdk(measured, 2000)
    for row in measured.rows:
        print(f"{row['thread']:<18} {row['what']:<38} {row['us']:>9.3f} us/{row['per']}")
    within = kept(measured.rows)
    print(
        f"budget on each engine thread ({TOKEN_BUDGET_US:g} us a token at batch {BUDGET_BATCH} and more, "
        f"{REQUEST_BUDGET_US:g} us a request): {'kept' if within else 'EXCEEDED'}"
    )
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({"rows": measured.rows, "within_budget": within}, indent=1) + "\n")
    return 0 if within else 1


def kept(rows: list[dict[str, Any]]) -> bool:
    """Whether every row of ours on an engine's thread is within the budget."""
    ours = [row for row in rows if row["thread"] in (EVENT_LOOP, ENGINE_LOOP)]
    tokens = [row["us"] for row in ours if row["per"] == "token" and row["batch"] >= BUDGET_BATCH]
    requests = [row["us"] for row in ours if row["per"] == "request"]
    return bool(max(tokens) <= TOKEN_BUDGET_US and sum(requests) <= REQUEST_BUDGET_US)


if __name__ == "__main__":
    raise SystemExit(main())
