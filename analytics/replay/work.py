"""How much of the engine's work each prompt would have been at baseline: slower tokens, and more of them.

Speed is compared engine by engine: each is its own control, whichever requests it was sent. The share of
the prompt that has to be computed is compared tenant by tenant: what the prefix cache finds depends on
who asks, and who asks is workload. Both by the repair path of the change. Groups of under 200 requests
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
    left = _as_before((a.speed, b.speed), (a.seen, b.seen), engines)
    shares = a.seen.fresh / np.maximum(a.seen.prompt, 1.0), b.seen.fresh / np.maximum(b.seen.prompt, 1.0)
    left *= _as_before(shares, (a.seen, b.seen), (a.seen.tenant, b.seen.tenant))
    return np.where(np.abs(left - 1) < LEAST_CHANGE, 1.0, left)


def _as_before(
    values: tuple[Floats, Floats], seen: tuple[Arrivals, Arrivals], groups: tuple[Words, Words]
) -> Floats:
    """Return each current value's ratio to its baseline level, group by group."""
    left = np.ones(seen[1].n)
    named = _large_enough(*groups)
    for name in np.unique(named[1]).tolist():
        rows = [np.flatnonzero(side == name) for side in named]
        if min(side.size for side in rows) < LEAST_GROUP // 2:
            continue
        sides = [_as_rows(value[own], one, own) for value, one, own in zip(values, seen, rows, strict=True)]
        blocks = [_slices(one.at[own]) for one, own in zip(seen, rows, strict=True)]
        repaired = decompose(sides[0], sides[1], 0.99, blocks[0], blocks[1]).repaired[:, 0]
        now = sides[1].parts[:, 0]
        left[rows[1]] = np.divide(repaired, now, out=np.ones_like(now), where=now > 0)
    return left


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
