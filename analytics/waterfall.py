"""One request taken apart: the stages of its first token, its token gaps, the steps that served it.

Pure: rows of `requests`, `steps` and `otel_traces` in, numbers out. A stage that is NULL stays
unknown, never zero, and the shares are of TTFT as it was observed. Moments are `time_us`,
µs since 1970.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from otel_attrib.analytics.log_lines import LogLine
from otel_attrib.schema.attributes import (
    DECODE_STAGES,
    GAP_US,
    MEASURED_FROM,
    PROCESSING_STAGE,
    REQUEST_SCOPE,
    STAGES,
    TOKEN_INDEX,
    TOKEN_STALL_EVENT,
    TOKEN_TIMELINE,
)

__all__ = ["Neighbour", "StageBar", "Stall", "StepSummary", "Waterfall", "summarise_steps", "waterfall"]

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StageBar:
    """One stage of TTFT: µs (None: not observed), share of TTFT, and where its bar starts in µs."""

    stage: str
    us: float | None
    share: float | None
    offset_us: float


@dataclass(frozen=True, slots=True)
class Stall:
    """A token that came late."""

    token: int
    gap_us: float


@dataclass(frozen=True, slots=True)
class StepSummary:
    """The engine steps of one phase: how full they were, and the prompt tokens of others in them."""

    phase: str
    steps: int
    first: int
    last: int
    mean_us: float | None
    batch_mean: float | None
    batch_max: int | None
    prefill_beside: int
    kv_low: float | None
    kv_high: float | None
    waiting_max: int | None
    preemptions: int


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A span of the same trace that is not the request's own: offset from its start and length, µs."""

    service: str
    name: str
    offset_us: float
    duration_us: float
    node: str
    other_clock: bool


@dataclass(frozen=True, slots=True)
class Waterfall:
    """Everything that `otel-attrib trace` shows of one request."""

    request: dict[str, Any]
    ttft_us: float | None
    measured_from: str
    last_stage: str
    stages: tuple[StageBar, ...]
    missing: tuple[str, ...]
    decode: dict[str, float]
    gaps: dict[str, float]
    timeline_us: tuple[float, ...]
    stalls: tuple[Stall, ...]
    steps: tuple[StepSummary, ...]
    neighbours: tuple[Neighbour, ...]
    logs: tuple[LogLine, ...] = ()


def waterfall(request: Row, spans: Sequence[Row] = (), steps: Sequence[Row] = ()) -> Waterfall:
    """Take one row of `requests` apart, beside the spans of its trace and the steps that served it."""
    own = next((span for span in spans if span["SpanId"] == request["span_id"]), None)
    attributes = own["SpanAttributes"] if own else {}
    bars = _bars(request)
    return Waterfall(
        request=dict(request),
        ttft_us=request["ttft_us"],
        measured_from=attributes.get(MEASURED_FROM, "arrival"),
        last_stage=attributes.get(PROCESSING_STAGE) or _last_observed(bars),
        stages=bars,
        missing=tuple(bar.stage for bar in bars if bar.us is None),
        decode={stage: request[f"decode_{stage}_us"] for stage in DECODE_STAGES if _seen(request, stage)},
        gaps=_gaps(request),
        # Without a recorded timeline `gaps_us` is an unfolded sketch, in order of length.
        timeline_us=tuple(request["gaps_us"]) if attributes.get(TOKEN_TIMELINE) else (),
        stalls=_stalls(own),
        steps=_phases(request, steps),
        neighbours=_neighbours(request, spans),
    )


def _bars(request: Row) -> tuple[StageBar, ...]:
    ttft, at, bars = request["ttft_us"], 0.0, []
    for stage in STAGES:
        us = request[f"{stage}_us"]
        bars.append(StageBar(stage, us, us / ttft if us is not None and ttft else None, at))
        at += us or 0.0
    return tuple(bars)


def _last_observed(bars: Sequence[StageBar]) -> str:
    seen = [bar.stage for bar in bars if bar.us is not None and bar.stage != "outside"]
    return seen[-1] if seen else ""


def _seen(request: Row, stage: str) -> bool:
    return request[f"decode_{stage}_us"] is not None


def _gaps(request: Row) -> dict[str, float]:
    names = ("count", "mean_us", "p50_us", "p99_us", "max_us")
    return {name: request[f"gap_{name}"] for name in names if request[f"gap_{name}"] is not None}


def _stalls(own: Row | None) -> tuple[Stall, ...]:
    if own is None:
        return ()
    events = zip(own["Events.Name"], own["Events.Attributes"], strict=True)
    found = [
        Stall(int(data.get(TOKEN_INDEX, 0)), float(data[GAP_US]))
        for name, data in events
        if name == TOKEN_STALL_EVENT and GAP_US in data
    ]
    return tuple(sorted(found, key=lambda stall: -stall.gap_us))


def _phases(request: Row, steps: Sequence[Row]) -> tuple[StepSummary, ...]:
    """Steps that began before the first token was out, and those after it."""
    own = max(0, (request["prompt_tokens"] or 0) - (request["cached_tokens"] or 0))
    if request["ttft_us"] is None:
        return tuple(filter(None, [summarise_steps("all", steps, own)]))
    first_token = request["time_us"] + request["ttft_us"]
    before = [step for step in steps if step["time_us"] < first_token]
    after = [step for step in steps if step["time_us"] >= first_token]
    phases = summarise_steps("to 1st token", before, own), summarise_steps("after it", after)
    return tuple(filter(None, phases))


def summarise_steps(phase: str, steps: Sequence[Row], own: int = 0) -> StepSummary | None:
    """Reduce the steps of one phase to a line; `own` prompt tokens are not counted as beside it."""
    if not steps:
        return None
    batch, usage = _observed(steps, "batch_size"), _observed(steps, "kv_usage")
    return StepSummary(
        phase=phase,
        steps=len(steps),
        first=min(step["step"] for step in steps),
        last=max(step["step"] for step in steps),
        mean_us=_mean(_observed(steps, "duration_us")),
        batch_mean=_mean(batch),
        batch_max=max(batch, default=None),
        prefill_beside=max(0, sum(_observed(steps, "prefill_tokens")) - own),
        kv_low=min(usage, default=None),
        kv_high=max(usage, default=None),
        waiting_max=max(_observed(steps, "waiting"), default=None),
        preemptions=sum(_observed(steps, "preemptions")),
    )


def _observed(steps: Sequence[Row], name: str) -> list[Any]:
    return [step[name] for step in steps if step[name] is not None]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _neighbours(request: Row, spans: Sequence[Row]) -> tuple[Neighbour, ...]:
    """Spans of the same trace that are neither this request's span nor its own stages."""
    kept = [
        span
        for span in spans
        if span["SpanId"] != request["span_id"]
        and not (span["ScopeName"] == REQUEST_SCOPE and span["ParentSpanId"] == request["span_id"])
    ]
    found = [
        Neighbour(
            service=span["ServiceName"],
            name=span["SpanName"],
            offset_us=span["time_us"] - request["time_us"],
            duration_us=span["Duration"] / 1e3,
            node=span["node"],
            other_clock=bool(span["node"] and request["node"] and span["node"] != request["node"]),
        )
        for span in kept
    ]
    return tuple(sorted(found, key=lambda span: span.offset_us))
