"""How much of the engine's work each prompt would have been at baseline: slower tokens, and more of them.

Speed is compared engine by engine: each is its own control, whichever requests it was sent. What the
prefix cache finds is compared tenant by tenant and model by model: it depends on who asks what, and that
is workload. Both by the repair path of the change. Groups of under 200 requests
are put together. A change of a request's work under 3 % is none: near saturation waits would make much
of it.
"""

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.blocks import SLICES
from otel_attrib.analytics.change.decompose import decompose
from otel_attrib.analytics.columns import Rows
from otel_attrib.analytics.replay.arrivals import Arrivals
from otel_attrib.analytics.replay.world import World

__all__ = ["work_as_before"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.str_]

LEAST_GROUP = 200
LEAST_CHANGE = 0.03
OTHERS = "\0others"


def work_as_before(a: World, b: World) -> Floats:
    """Return what each current request's work is multiplied by to be as at baseline."""
    engines = a.seen.engine.astype(np.str_), b.seen.engine.astype(np.str_)
    left = _as_before((a.speed, b.speed), (a.seen, b.seen), engines) / b.speed
    left *= _tokens_as_before(a.seen, b.seen)
    return np.where(np.abs(left - 1) < LEAST_CHANGE, 1.0, left)


def _tokens_as_before(a: Arrivals, b: Arrivals) -> Floats:
    """Return what each current request's tokens to compute are multiplied by to be as at baseline.

    Longer prompts before the same prefix, and longer prefixes of longer prompts, are both workload: of the
    change in cached tokens and that in their share the smaller one is the cache's.
    """
    if b.n == 0:
        return np.ones(0)
    groups = a.group, b.group
    cached = [one.prompt - one.fresh for one in (a, b)]
    shares = [np.clip(one.fresh / np.maximum(one.prompt, 1.0), 1e-6, 1.0) for one in (a, b)]
    by_share = _as_before((shares[0], shares[1]), (a, b), groups) / shares[1]
    found = _as_before((cached[0], cached[1]), (a, b), groups)
    by_count = np.clip(b.prompt - found, 1.0, None) / b.fresh
    moved = [abs(float(np.log((left @ b.fresh) / b.fresh.sum()))) for left in (by_share, by_count)]
    return by_share if moved[0] < moved[1] else by_count


def _as_before(
    values: tuple[Floats, Floats], seen: tuple[Arrivals, Arrivals], groups: tuple[Words, Words]
) -> Floats:
    """Return each current value as at baseline, group by group."""
    back = values[1].copy()
    named = _large_enough(*groups)
    for name in np.unique(named[1]).tolist():
        rows = [np.flatnonzero(side == name) for side in named]
        if min(side.size for side in rows) < LEAST_GROUP // 2:
            continue
        sides = [_as_rows(value[own], one, own) for value, one, own in zip(values, seen, rows, strict=True)]
        blocks = [_slices(one.at[own]) for one, own in zip(seen, rows, strict=True)]
        back[rows[1]] = decompose(sides[0], sides[1], 0.99, blocks[0], blocks[1]).repaired[:, 0]
    return back


def _large_enough(before: Words, now: Words) -> tuple[Words, Words]:
    """Return the groups' names, those that are small in either window under one."""
    names = np.unique(np.concatenate([before, now]))
    small = [
        name for name in names.tolist() if min((before == name).sum(), (now == name).sum()) < LEAST_GROUP
    ]
    sides = [np.where(np.isin(side, small), OTHERS, side) for side in (before, now)]
    return sides[0], sides[1]


def _slices(at: Floats) -> Ints:
    """Return (n,) which of twenty stretches with equally many arrivals each falls into."""
    rank = np.empty(at.size, dtype=np.int64)
    rank[np.argsort(at, kind="stable")] = np.arange(at.size)
    return rank * SLICES // max(1, at.size)


def _as_rows(values: Floats, seen: Arrivals, own: Ints) -> Rows:
    """Return values as rows of one stage, comparable as they are: size is taken out of them already."""
    n = own.size
    return Rows(
        names=("prefill", "outside"),
        parts=np.column_stack([values, np.zeros(n)]),
        observed=np.ones((n, 2), dtype=np.bool_),
        time_us=seen.row[own],
        prompt=np.ones(n),
        cached=np.zeros(n),
        output=seen.output[own],
        dims={},
        cluster=np.arange(n),
        trace_ids=np.full(n, "", dtype=object),
        total=n,
    )
