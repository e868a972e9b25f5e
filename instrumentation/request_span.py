"""Turn one timeline into the attributes of its span: stages, gaps, sizes, outcome.

Runs on the background thread, after the request. No prompt and no output text is seen here.
"""

import os
import socket
from functools import lru_cache
from typing import Any

from otel_attrib.instrumentation import board, gaps
from otel_attrib.instrumentation.clock import clock_id
from otel_attrib.instrumentation.facts import First, Last
from otel_attrib.instrumentation.recorder import Sequence, Timeline
from otel_attrib.instrumentation.shim import GPU_SET, TOKEN_TIMELINE, guarded, switched_on
from otel_attrib.instrumentation.sla import promise
from otel_attrib.instrumentation.stages import decode_stages, ttft_stages
from otel_attrib.schema import attributes as names

__all__ = ["attributes_of", "outcome", "stages_of", "worst_gaps"]


def attributes_of(timeline: Timeline, engine: str, version: str) -> dict[str, Any]:
    """Every attribute of the request's SERVER span; what was not observed is absent."""
    status, error = outcome(timeline)
    devices = gpu_set()
    found: dict[str, Any] = {
        names.GEN_AI_OPERATION_NAME: timeline.operation or "text_completion",
        names.GEN_AI_PROVIDER_NAME: engine,
        names.GEN_AI_REQUEST_MODEL: timeline.model,
        names.GEN_AI_RESPONSE_ID: timeline.external_id,
        names.GEN_AI_REQUEST_STREAM: timeline.stream,
        names.GEN_AI_REQUEST_MAX_TOKENS: timeline.max_tokens or None,
        names.HTTP_ROUTE: timeline.path,
        names.HTTP_RESPONSE_STATUS_CODE: timeline.status_code or None,
        names.ERROR_TYPE: error,
        names.ENGINE: engine,
        names.ENGINE_VERSION: version,
        names.GPU_SET: devices,
        names.STATUS: status,
        names.PROCESSING_STAGE: stage_reached(timeline),
        names.E2E_US: (timeline.ended - timeline.arrived) / 1e3,
    }
    found |= promise(timeline.headers, timeline.model)
    if timeline.sequences:
        found |= _usage(timeline) | _first_token(timeline) | _tokens(timeline) | _engine(timeline)
        found |= _board(timeline.arrived, timeline.ended, devices) or {}
    return {name: value for name, value in found.items() if value is not None and value != ""}


def outcome(timeline: Timeline) -> tuple[str, str]:
    """How the request ended, one of ok, error, aborted, timeout; and the class of the failure."""
    reasons = {sequence.finish_reason for sequence in timeline.sequences}
    failed = timeline.error or (str(timeline.status_code) if timeline.status_code >= 400 else "")
    if timeline.disconnected or timeline.error == "CancelledError":
        return "aborted", ""
    if timeline.status_code in (408, 504) or timeline.error == "TimeoutError":
        return "timeout", failed
    if failed or "error" in reasons:
        return "error", failed or "error"
    return ("aborted", "") if "abort" in reasons else ("ok", "")


def stage_reached(timeline: Timeline) -> str:
    """The last stage that the request is known to have come to."""
    if any(sequence.first or sequence.tokens for sequence in timeline.sequences):
        return "egress"
    if timeline.sequences:
        return "queue"
    return "tokenize" if timeline.tokenize_start else "ingress"


def stages_of(timeline: Timeline) -> dict[str, int]:
    """TTFT split into stages, in ns; empty when no token was delivered."""
    leader = timeline.leader()
    if leader is None:
        return {}
    tokenized = timeline.tokenize_start and timeline.tokenize_end
    return ttft_stages(
        timeline.arrived,
        leader.stamps[0],
        tokenize=timeline.tokenize_end - timeline.tokenize_start if tokenized else None,
        submitted=timeline.submitted,
        engine=leader.first,
        clock=_clock(),
    )


def worst_gaps(timeline: Timeline) -> list[tuple[int, int, float]]:
    """The worst stalls of the leading sequence: (monotonic ns, index of the late token, gap in µs)."""
    leader = timeline.leader()
    if leader is None:
        return []
    series = gaps.gaps_of(leader.stamps)
    found = gaps.statistics(series)
    late = gaps.stalls(series, found.p50) if found else []
    return [(leader.stamps[index], index, gap) for index, gap in late]


def _usage(timeline: Timeline) -> dict[str, Any]:
    cached = [one.cached for one in timeline.sequences if one.prompt_tokens and one.cached >= 0]
    reasons = [one.finish_reason for one in timeline.sequences if one.finish_reason]
    return {
        names.GEN_AI_USAGE_INPUT_TOKENS: sum(one.prompt_tokens for one in timeline.sequences),
        names.GEN_AI_USAGE_OUTPUT_TOKENS: sum(one.tokens for one in timeline.sequences),
        names.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: sum(cached) if cached else None,
        names.GEN_AI_RESPONSE_FINISH_REASONS: reasons or None,
    }


def _first_token(timeline: Timeline) -> dict[str, Any]:
    stages = stages_of(timeline)
    if not stages:
        return {}
    total = sum(stages.values())
    found: dict[str, Any] = {names.stage_attribute(stage): ns / 1e3 for stage, ns in stages.items()}
    found[names.FIRST_BYTE_LATENCY_US] = total / 1e3
    found[names.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK] = total / 1e9
    return found


def _tokens(timeline: Timeline) -> dict[str, Any]:
    """Gaps pooled over the sequences, TPOT, and the decode stages per token."""
    begun = [one for one in timeline.sequences if len(one.stamps) > 1]
    series = [gap for one in begun for gap in gaps.gaps_of(one.stamps)]
    known = gaps.statistics(series)
    if known is None:
        return {}
    found: dict[str, Any] = {
        names.TPOT_US: sum(series) / len(series),
        names.TOKEN_GAP_COUNT: known.count,
        names.TOKEN_GAP_MEAN_US: known.mean,
        names.TOKEN_GAP_P50_US: known.p50,
        names.TOKEN_GAP_P99_US: known.p99,
        names.TOKEN_GAP_MAX_US: known.max,
        names.TOKEN_GAP_SKETCH: gaps.sketch(series),
    }
    if switched_on(TOKEN_TIMELINE):
        found[names.TOKEN_TIMELINE] = gaps.packed(series)
    return found | _decode(begun)


def _decode(begun: list[Sequence]) -> dict[str, float]:
    split = [(decode_stages(one.stamps, one.first, one.last, _clock()), len(one.stamps) - 1) for one in begun]
    known = [(stages, count) for stages, count in split if stages is not None]
    tokens = sum(count for _, count in known)
    return {
        names.decode_attribute(stage): sum(stages[stage] for stages, _ in known) / tokens / 1e3
        for stage in (names.DECODE_STAGES if known else ())
    }


def _engine(timeline: Timeline) -> dict[str, Any]:
    """What the engine was doing meanwhile, as far as its process told."""
    leader = timeline.leader() or timeline.sequences[0]
    first: First | None = leader.first
    last: Last | None = leader.last
    if first is None:
        return {}
    latest = last or first
    preempted = [one.last or one.first for one in timeline.sequences]
    found: dict[str, Any] = {
        names.REPLICA: str(first.replica),
        names.PREEMPTIONS: sum(facts.preemptions for facts in preempted if facts is not None),
        names.PREFILL_CHUNKS: first.chunks,
        names.STEP_FIRST: first.step,
        names.WAITING_MAX: latest.waiting_max,
        names.KV_USAGE_MAX: latest.kv_usage_max_ppm / 1e6,
    }
    if last is not None:
        found[names.STEP_LAST] = last.step
        found[names.BATCH_SIZE_MEAN] = last.batch_sum / max(last.batch_steps, 1)
    return found


@lru_cache(maxsize=1)
def _clock() -> int:
    return clock_id()


_board = guarded("board", board.seen)
_indices = guarded("board", board.indices)


@lru_cache(maxsize=1)
def _host() -> str:
    return socket.gethostname()


def gpu_set() -> str:
    """Devices that this server may use, as `node:0,1`; empty when nothing says.

    A UUID in `CUDA_VISIBLE_DEVICES` is written as the index that counters have it under, once the node's
    agent has told.
    """
    named = os.environ.get(GPU_SET)
    if named is not None:
        return named
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    devices = _indices(visible) or visible
    return f"{_host()}:{devices}" if devices else ""
