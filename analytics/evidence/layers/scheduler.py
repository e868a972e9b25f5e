"""The engine's scheduler: waiting of its own, KV blocks, preemptions, budget, policy and cache.

An empty queue does not clear it: chunks, batches and preemptions delay requests that are running. Where the
services themselves are slower too, a longer queue is their consequence, not a policy.
"""

from math import log

from otel_attrib.analytics.evidence.signal import NOTHING, Finding, Signal, saturate
from otel_attrib.analytics.evidence.view import View
from otel_attrib.analytics.wording import digits

__all__ = ["SIGNALS"]

WAITED = ("queue", "decode_batch_wait", "gap", "outside")
ADMITTED = (*WAITED, "prefill", "kv_init", "decode_forward")
PROMPTED = ("queue", "prefill", "kv_init", "outside")


def _own_wait(view: View) -> Finding | None:
    if not view.replay_valid:
        return None
    part = view.of("queue", "decode_batch_wait")
    return (
        Finding(saturate(part, 0.2), "the replay leaves this waiting to the scheduler itself")
        if part > 0.05
        else NOTHING
    )


def _preempted(view: View) -> Finding | None:
    step = view.steps.get(("any", "preemptions"))
    if step is None and "preemptions" not in view.work.figures:
        return None
    per_request = view.work.change("preemptions")
    size = max(per_request, 10 * step.change if step is not None else 0.0)
    before, after = view.work.figures.get("preemptions", (0.0, 0.0))
    text = f"{digits(before)} → {digits(after)} preemptions a request"
    return Finding(saturate(size, 0.1), text) if size > 0.01 else NOTHING


def _cache_full(view: View) -> Finding | None:
    usage = view.steps.get(("any", "kv_usage"))
    if usage is None:
        return None
    strength = saturate(usage.after - 0.85, 0.05) * saturate(usage.after - usage.before, 0.1)
    return (
        Finding(strength, f"KV use {100 * usage.before:.0f} → {100 * usage.after:.0f} %")
        if strength > 0
        else NOTHING
    )


def _more_chunks(view: View) -> Finding | None:
    if "prefill_chunks" not in view.work.figures:
        return None
    before, after = view.work.figures["prefill_chunks"]
    strength = saturate(after / before - 1.1 if before else 0.0, 0.3)
    return (
        Finding(strength, f"{digits(before)} → {digits(after)} prefill chunks a request")
        if strength > 0
        else NOTHING
    )


def _cache_misses(view: View) -> Finding | None:
    """The cache finds less in equal prompts, as far as that made work grow and not other prompts."""
    if view.work.hit_rate is None:
        return None
    before, after = view.work.hit_rate
    grown = log(max(view.work.demand[1], 1e-9) / max(view.work.demand[0], 1e-9))
    missed = log(max(1 - after, 1e-9) / max(1 - before, 1e-9))
    part = min(1.0, missed / grown) if grown > missed > 0 else 1.0
    strength = saturate(before - after - 0.04, 0.1) * part
    text = f"prefix cache hits {100 * before:.0f} → {100 * after:.0f} % of equal prompts"
    return Finding(strength, text) if strength > 0 else NOTHING


def _waiting(view: View) -> Finding | None:
    """More requests wait while fewer run: they are held back."""
    waiting, running = view.steps.get(("any", "waiting")), view.steps.get(("any", "running"))
    if waiting is None or running is None:
        return None
    fewer = max(0.0, 1 - running.after / running.before) if running.before else 0.0
    strength = saturate(waiting.change, 2.0) * saturate(fewer, 0.1)
    text = (
        f"{digits(waiting.before)} → {digits(waiting.after)} requests wait"
        f" while {digits(running.before)} → {digits(running.after)} run"
    )
    return Finding(strength, text) if strength > 0 else NOTHING


def _prompts_crowd(view: View) -> Finding | None:
    """Steps carry more prompt tokens than were asked for, at the cost of those that wait for a token."""
    prompt, output = view.steps.get(("any", "prefill_tokens")), view.steps.get(("any", "decode_tokens"))
    if prompt is None or output is None or not prompt.before:
        return None
    before, after = (prompt.before / max(output.before, 1.0), prompt.after / max(output.after, 1.0))
    asked = max(1.0, view.work.demand[1] / view.work.demand[0]) if view.work.demand[0] else 1.0
    strength = saturate(after / before / asked - 1.3, 1.0)
    text = f"{digits(before)} → {digits(after)} prompt tokens a step for each output token"
    return Finding(strength, text) if strength > 0 else NOTHING


def _changed(view: View) -> Finding | None:
    if not view.marks:
        return NOTHING
    return Finding(0.5, f"changed in the window: {', '.join(view.marks[:3])}")


def _services_slower(view: View) -> Finding | None:
    if not view.work.ratios:
        return None
    if view.replay_valid:
        return NOTHING
    slower = max(view.work.services, view.work.ratios.get("decode_forward", 1.0) - 1)
    strength = saturate(slower - 0.05, 0.15)
    text = f"the services themselves are {100 * slower:.0f} % slower at equal work"
    return Finding(strength, text) if strength > 0 else NOTHING


SIGNALS = (
    Signal("own_wait", "scheduler", True, "replay", _own_wait, stages=WAITED),
    Signal("preempted", "scheduler", True, "steps.preemptions", _preempted, stages=ADMITTED),
    Signal("kv_full", "scheduler", True, "steps.kv_usage", _cache_full, stages=ADMITTED),
    Signal("more_chunks", "scheduler", True, "requests.prefill_chunks", _more_chunks, stages=PROMPTED),
    Signal("cache_misses", "scheduler", True, "requests.cached_tokens", _cache_misses, stages=PROMPTED),
    Signal("held_back", "scheduler", True, "steps.waiting", _waiting, stages=WAITED),
    Signal(
        "prompts_crowd",
        "scheduler",
        True,
        "steps.prefill_tokens",
        _prompts_crowd,
        stages=("decode_batch_wait", "decode_forward", "gap"),
    ),
    Signal("changed", "scheduler", True, "marks", _changed, own=False, stages=ADMITTED),
    Signal("services_slower", "scheduler", False, "requests.prefill_us", _services_slower, own=False),
)
