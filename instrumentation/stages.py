"""Take a request's stamps apart into stages; the parts telescope, so their sum is exact.

TTFT from `arrived` to `first` (nanoseconds):

    ingress   arrived → in the engine's queue, less tokenize
    tokenize  template and tokenizer
    queue     engine's queue → first token computed, less kv_init, prefill and sample
    kv_init   KV blocks found, allocated, waited for
    prefill   steps that computed the prompt, up to the logits of its last one
    sample    logits → token ids out of the worker
    egress    token ids → first token delivered
    outside   what is left: 0 where the engine's stamps are on our clock

Where the engine runs on another host its stamps are not subtracted from ours: its own
durations stay, ingress ends at the hand-over and the rest is `outside`.
"""

from collections.abc import Sequence

from otel_attrib.instrumentation.facts import First, Last

__all__ = ["decode_stages", "ttft_stages"]


def ttft_stages(
    arrived: int, first: int, *, tokenize: int | None, submitted: int, engine: First | None, clock: int
) -> dict[str, int]:
    """Split first − arrived; the values are ≥ 0 and their sum is first − arrived exactly.

    `tokenize` is a duration, `submitted` the hand-over to the engine, `clock` names our own clock.
    """
    total = first - arrived
    stages: dict[str, int] = {}
    left = _take(stages, "tokenize", tokenize, total)
    if engine is None:
        _take(stages, "ingress", submitted - arrived - stages.get("tokenize", 0), left)
    elif engine.clock == clock and submitted <= engine.received and engine.done <= first:
        left = _take(stages, "ingress", engine.received - arrived - stages.get("tokenize", 0), left)
        left = _take(stages, "egress", first - engine.done, left)
        _inside(stages, engine, left)
    else:
        left = _take(stages, "ingress", submitted - arrived - stages.get("tokenize", 0), left)
        _inside(stages, engine, min(left, engine.done - engine.received))
    stages["outside"] = total - sum(stages.values())
    return stages


def _inside(stages: dict[str, int], engine: First, span: int) -> None:
    """Split the engine's `span`: sample, prefill and kv_init as measured, the rest is queue."""
    span = _take(stages, "sample", engine.sample if engine.sample >= 0 else None, span)
    span = _take(stages, "prefill", engine.prefill, span)
    span = _take(stages, "kv_init", engine.kv, span)
    stages["queue"] = span


def _take(stages: dict[str, int], stage: str, wanted: int | None, left: int) -> int:
    """Give `stage` what it wants of what is left; return the rest."""
    if wanted is None:
        return left
    stages[stage] = min(max(wanted, 0), left)
    return left - stages[stage]


def decode_stages(
    stamps: Sequence[int], first: First | None, last: Last | None, clock: int
) -> dict[str, int] | None:
    """Split last − first delivery (ns, summed over the tokens after the first); None when nothing is known.

    forward and sample are the workers' own; egress is the engine's handling of its outputs plus how much
    later, against its computation, the last token was delivered than the first; batch_wait is the rest.
    Work that overlaps the next forward pass (asynchronous scheduling) is cut to what is left.
    """
    if len(stamps) < 2 or first is None or last is None or last.forward < 0:
        return None
    later = (stamps[-1] - last.done) - (stamps[0] - first.done) if first.clock == clock else 0
    stages: dict[str, int] = {}
    left = _take(stages, "forward", last.forward, stamps[-1] - stamps[0])
    left = _take(stages, "sample", last.sample, left)
    left = _take(stages, "egress", last.output + later, left)
    stages["batch_wait"] = left
    return stages
