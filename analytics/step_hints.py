"""What the engine's steps show of one request: how its steps differed from the others of the window.

A hint is a fact beside a stage, not a cause: copies that took longer than usual while its prefix was
loaded, requests of others in its steps, preemptions, a full cache.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from otel_attrib.analytics.columns import Flags, Floats, Ints

__all__ = ["hints_of"]

TIMES = {"copy_us": "copies", "collective_us": "collectives", "schedule_us": "scheduling"}
"""Part of a step → its name; `forward_us` includes copies and collectives."""
RATIO = 1.5
LEAST_MS = 0.2
FULL = 0.9
SHARE = 0.3


@dataclass(frozen=True)
class _Steps:
    """Columns of steps, nan where not observed."""

    table: pa.Table

    def __getitem__(self, name: str) -> Floats:
        if name not in self.table.column_names:
            return np.full(len(self.table), np.nan)
        numbers = pc.cast(self.table[name], pa.float64()).to_numpy(zero_copy_only=False)
        return np.asarray(numbers, dtype=np.float64)

    @property
    def start_us(self) -> Ints:
        moments = pc.cast(self.table["time"], pa.int64()).to_numpy(zero_copy_only=False)
        return np.asarray(moments, dtype=np.int64)


def hints_of(own: pa.Table, usual: pa.Table, first_token_us: float, prompt: float) -> dict[str, str]:
    """Return a hint by stage, stages without one left out.

    own: the steps of the request. usual: those of the window, its own among them. first_token_us: µs since
    1970; later steps decode. prompt: the tokens that the request itself had to compute.
    """
    if len(own) == 0:
        return {}
    steps, others = _Steps(own), _Steps(usual)
    before = steps.start_us < first_token_us
    found = {
        "queue": _queue(steps, others, before),
        "kv_init": _longer(steps, others, before, ("copy_us",)),
        "prefill": _prefill(steps, others, before, prompt),
        "sample": _longer(steps, others, before, ("sample_us",)),
        "egress": _longer(steps, others, before, ("output_us",)),
        "decode_forward": _decode(steps, others, ~before),
        "decode_batch_wait": _preempted(steps, ~before),
    }
    return {stage: "; ".join(words) for stage, words in found.items() if words}


def _queue(steps: _Steps, others: _Steps, before: Flags) -> list[str]:
    words = _preempted(steps, before)
    waiting, usual = _most(steps["waiting"][before]), _middle(others["waiting"])
    if waiting is not None and usual is not None and waiting > RATIO * usual + 1:
        words.append(f"{waiting:,.0f} waiting, usually {usual:,.0f}")
    full = _most(steps["kv_usage"][before])
    if full is not None and full >= FULL:
        words.append(f"KV cache {full:.0%} full")
    return words + _longer(steps, others, before, ("schedule_us",))


def _prefill(steps: _Steps, others: _Steps, before: Flags, prompt: float) -> list[str]:
    words = _longer(steps, others, before, ("collective_us", "copy_us"))
    computed = steps["prefill_tokens"][before]
    if computed.size and not np.isnan(computed).all():
        beside = float(np.nansum(computed)) - prompt
        if beside > SHARE * prompt and beside >= 1:
            words.append(f"{beside:,.0f} prompt tokens of others in its steps")
    return words or _slower(steps, others, before)


def _decode(steps: _Steps, others: _Steps, after: Flags) -> list[str]:
    words = _longer(steps, others, after, ("collective_us", "copy_us"))
    batch, usual = _middle(steps["batch_size"][after]), _middle(others["batch_size"])
    if batch is not None and usual is not None and batch > RATIO * usual:
        words.append(f"batch {batch:,.0f}, usually {usual:,.0f}")
    return words


def _preempted(steps: _Steps, chosen: Flags) -> list[str]:
    count = float(np.nansum(steps["preemptions"][chosen]))
    return [f"{count:,.0f} preemptions in its steps"] if count else []


def _slower(steps: _Steps, others: _Steps, chosen: Flags) -> list[str]:
    """Compare the ms of a prompt token, which steps of any size have in common."""
    with np.errstate(divide="ignore", invalid="ignore"):
        pace, usual = (one["duration_us"] / one["prefill_tokens"] for one in (steps, others))
    mine, theirs = (
        _middle(pace[chosen & (steps["prefill_tokens"] > 0)]),
        _middle(usual[others["prefill_tokens"] > 0]),
    )
    if mine is None or theirs is None or mine < RATIO * theirs:
        return []
    return [f"{mine / 1000:.3f} ms a prompt token, usually {theirs / 1000:.3f}"]


def _longer(steps: _Steps, others: _Steps, chosen: Flags, names: tuple[str, ...]) -> list[str]:
    words = []
    for name in names:
        mine, usual = _mean(steps[name][chosen]), _middle(others[name])
        if mine is None or usual is None or mine < RATIO * usual or mine - usual < LEAST_MS * 1000:
            continue
        told = TIMES.get(name, name.removesuffix("_us"))
        words.append(f"{told} {mine / 1000:.1f} ms a step, usually {usual / 1000:.1f}")
    return words


def _mean(values: Floats) -> float | None:
    seen = values[~np.isnan(values)]
    return float(seen.mean()) if seen.size else None


def _middle(values: Floats) -> float | None:
    seen = values[~np.isnan(values)]
    return float(np.median(seen)) if seen.size else None


def _most(values: Floats) -> float | None:
    seen = values[~np.isnan(values)]
    return float(seen.max()) if seen.size else None
