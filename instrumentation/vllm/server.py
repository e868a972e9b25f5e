"""API server: hooks on vLLM's front end that stamp tokenizing, submission, tokens and failures.

One HTTP request is one `Timeline`, whatever number of engine requests it becomes. An engine used
without HTTP (`AsyncLLM` in one's own server) gives one timeline per request; the offline `LLM`
has no caller who waits for a token and is left alone.
"""

import functools
from time import monotonic_ns
from typing import Any

from otel_attrib.instrumentation import spans, status
from otel_attrib.instrumentation.asgi import RecordingApp
from otel_attrib.instrumentation.logs.correlate import remember
from otel_attrib.instrumentation.mark import marked_resource
from otel_attrib.instrumentation.recorder import CURRENT, Sequence, Timeline
from otel_attrib.instrumentation.shim import Callback, Hook, guarded
from otel_attrib.instrumentation.vllm.wire import detach

__all__ = ["HOOKS", "LIVE"]

OPERATIONS = {
    "/v1/chat/completions": "chat",
    "/v1/chat/completions/batch": "chat",
    "/v1/completions": "text_completion",
    "/v1/responses": "chat",
    "/v1/messages": "chat",
    "/inference/v1/generate": "text_completion",
}
"""Generation routes; a request on one of them is recorded even if it fails before the engine."""

LIVE: dict[str, Sequence] = {}
"""Sequences in the engine, by its id."""

SERVED: list[str] = []
"""Names of the model that this process serves, the first for requests that name none."""


def keep(timeline: Timeline) -> None:
    """A request is over: forget its sequences here and hand it to the span writer."""
    for sequence in timeline.sequences:
        LIVE.pop(sequence.identity, None)
    spans.write_request(timeline, "vllm")


def _build_middleware_stack(original: Callback) -> Callback:
    def wrap(app: Any) -> Any:
        status.tell("server")
        return RecordingApp(app, OPERATIONS, keep)

    safe = guarded("middleware", wrap)

    @functools.wraps(original)
    def build_middleware_stack(self: Any, *args: Any, **kwargs: Any) -> Any:
        app = original(self, *args, **kwargs)
        return safe(app) or app

    return build_middleware_stack


def _check_model(original: Callback) -> Callback:
    """Every API passes its parsed body here first: the model asked for is known even if it is refused."""

    def asked(request: Any) -> None:
        timeline = CURRENT.get()
        if timeline is not None:
            timeline.model = getattr(request, "model", None) or timeline.model
            timeline.stream = bool(getattr(request, "stream", False))
            timeline.max_tokens = getattr(request, "max_tokens", None) or 0

    note = guarded("request body", asked)

    @functools.wraps(original)
    async def check_model(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        note(request)
        return await original(self, request, *args, **kwargs)

    return check_model


def _render(original: Callback) -> Callback:
    @functools.wraps(original)
    async def render(self: Any, *args: Any, **kwargs: Any) -> Any:
        timeline = CURRENT.get()
        if timeline is None:
            return await original(self, *args, **kwargs)
        timeline.tokenizing()
        try:
            return await original(self, *args, **kwargs)
        finally:
            timeline.tokenized()

    return render


def _init(original: Callback) -> Callback:
    def served(config: Any) -> None:
        name = config.model_config.served_model_name
        SERVED[:] = [name] if isinstance(name, str) else list(name)

    note = guarded("engine client", served)

    @functools.wraps(original)
    def init(self: Any, vllm_config: Any, *args: Any, **kwargs: Any) -> Any:
        note(vllm_config)
        with marked_resource():
            return original(self, vllm_config, *args, **kwargs)

    return init


def _add_request(original: Callback) -> Callback:
    begin = guarded("submission", submit)

    @functools.wraps(original)
    def add_request(
        self: Any,
        request: Any,
        prompt: Any,
        parent_req: Any = None,
        request_index: int = 0,
        queue: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        result = original(self, request, prompt, parent_req, request_index, queue, *args, **kwargs)
        if queue is not None:  # without a queue it is the offline LLM
            begin(request, parent_req, request_index)
        return result

    return add_request


def submit(request: Any, parent: Any, index: int) -> None:
    """An engine request begins: one more sequence of its HTTP request, with n > 1 number `index`."""
    params = request.sampling_params
    if params is None or request.request_id in LIVE:  # pooling, or one more piece of a streamed input
        return
    timeline = CURRENT.get() or Timeline("text_completion")
    streamed = params.output_kind.name == "DELTA"
    counted = parent is not None and index > 0  # the same prompt again
    prompt_tokens = 0 if counted else len(request.prompt_token_ids or ())
    # Delivered by a socket that we see, else when handed over.
    sequence = timeline.add(request.request_id, prompt_tokens, streamed and timeline.scope is not None)
    if sequence is None:
        return
    LIVE[request.request_id] = sequence
    timeline.model = timeline.model or (SERVED[0] if SERVED else "")
    timeline.stream = timeline.stream or streamed
    timeline.max_tokens = params.max_tokens or timeline.max_tokens
    timeline.external_id = timeline.external_id or request.external_req_id or request.request_id
    if timeline.scope is None and request.trace_headers:
        timeline.headers = [(key.encode(), value.encode()) for key, value in request.trace_headers.items()]
    remember(timeline, request.request_id, timeline.external_id)


def unpack(outputs: Any) -> None:
    """Take the engine's packets out before vLLM sees the outputs."""
    for output in outputs:
        if output.trace_headers is not None:
            output.trace_headers, first, last = detach(output.trace_headers)
            sequence = LIVE.get(output.request_id)
            if sequence is not None:
                sequence.first = sequence.first or first
                sequence.last = last or sequence.last


def took(outputs: Any, result: Any) -> None:
    """Tokens have been detokenised and handed over: one stamp for the whole batch."""
    now = monotonic_ns()
    find = LIVE.get
    for output in outputs:
        sequence = find(output.request_id)
        if sequence is None:
            continue
        tokens = output.new_token_ids
        if tokens:
            sequence.took(now, len(tokens))
            if sequence.cached < 0 and output.prefill_stats is not None:
                sequence.cached = output.prefill_stats.num_cached_tokens
        if output.finish_reason is not None:
            finish(sequence, now, str(output.finish_reason))
    for request in result.reqs_to_abort:  # ended here by a stop string
        if request in LIVE:
            finish(LIVE[request], now, "stop")


def finish(sequence: Sequence, now: int, reason: str) -> None:
    """A sequence is complete; without HTTP so is the request, with its last sequence."""
    sequence.finish(now, reason)
    LIVE.pop(sequence.identity, None)
    timeline = sequence.timeline
    if timeline.scope is None and not timeline.ended and all(one.finished for one in timeline.sequences):
        timeline.end()
        keep(timeline)


def _process_outputs(original: Callback) -> Callback:
    before = guarded("engine packets", unpack)
    after = guarded("tokens", took)

    @functools.wraps(original)
    def process_outputs(self: Any, engine_core_outputs: Any, *args: Any, **kwargs: Any) -> Any:
        before(engine_core_outputs)
        result = original(self, engine_core_outputs, *args, **kwargs)
        after(engine_core_outputs, result)
        return result

    return process_outputs


def _abort_requests(original: Callback) -> Callback:
    def aborted(requests: Any) -> None:
        now = monotonic_ns()
        for request in requests:
            sequence = LIVE.get(request)
            if sequence is not None:
                finish(sequence, now, "abort")

    note = guarded("abort", aborted)

    @functools.wraps(original)
    def abort_requests(self: Any, *args: Any, **kwargs: Any) -> Any:
        requests = original(self, *args, **kwargs)
        note(requests)
        return requests

    return abort_requests


def _propagate_error(original: Callback) -> Callback:
    def failed(error: BaseException) -> None:
        now = monotonic_ns()
        for sequence in list(LIVE.values()):
            sequence.timeline.error = type(error).__name__
            finish(sequence, now, "error")

    note = guarded("engine failure", failed)

    @functools.wraps(original)
    def propagate_error(self: Any, e: Any, *args: Any, **kwargs: Any) -> Any:
        note(e)
        return original(self, e, *args, **kwargs)

    return propagate_error


_OUTPUTS = "vllm.v1.engine.output_processor:OutputProcessor"
_RENDERER = "vllm.renderers.base:BaseRenderer"

HOOKS = (
    Hook("fastapi.applications:FastAPI.build_middleware_stack", ("self",), _build_middleware_stack),
    Hook("vllm.v1.engine.async_llm:AsyncLLM.__init__", ("self", "vllm_config"), _init),
    Hook("vllm.entrypoints.serve.engine.serving:BaseServing._check_model", ("self", "request"), _check_model),
    Hook(f"{_RENDERER}.render_chat_async", ("self", "conversations", "chat_params"), _render),
    Hook(f"{_RENDERER}.render_cmpl_async", ("self", "prompts"), _render),
    Hook(
        f"{_OUTPUTS}.add_request",
        ("self", "request", "prompt", "parent_req", "request_index", "queue"),
        _add_request,
    ),
    Hook(f"{_OUTPUTS}.process_outputs", ("self", "engine_core_outputs"), _process_outputs),
    Hook(f"{_OUTPUTS}.abort_requests", ("self", "request_ids", "internal"), _abort_requests),
    Hook(f"{_OUTPUTS}.propagate_error", ("self", "e"), _propagate_error),
)
