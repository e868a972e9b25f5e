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
from otel_attrib.analytics.change.decompose import repair_rows
from otel_attrib.analytics.columns import Dimension, Rows
from otel_attrib.analytics.replay.arrivals import Arrivals
from otel_attrib.analytics.replay.world import World

__all__ = ["work_as_before"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_GROUP = 200
LEAST_CHANGE = 0.03
OTHERS = -2


def work_as_before(a: World, b: World) -> Floats:
    """Return what each current request's work is multiplied by to be as at baseline."""
    left = _as_before((a.speed, b.speed), (a.seen, b.seen), (a.seen.engine, b.seen.engine)) / b.speed
    left *= _tokens_as_before(a.seen, b.seen)
    return np.where(np.abs(left - 1) < LEAST_CHANGE, 1.0, left)


def _tokens_as_before(a: Arrivals, b: Arrivals) -> Floats:
    """Return what each current request's tokens to compute are multiplied by to be as at baseline.

    Longer prompts before the same prefix, and longer prefixes of longer prompts, are both workload: of the
    change in cached tokens and that in their share the smaller one is the cache's.
    """
    if b.n == 0:
        return np.ones(0)
    groups = _same_codes(a.group, b.group)
    cached = [one.prompt - one.fresh for one in (a, b)]
    shares = [np.clip(one.fresh / np.maximum(one.prompt, 1.0), 1e-6, 1.0) for one in (a, b)]
    by_share = _as_before((shares[0], shares[1]), (a, b), groups) / shares[1]
    found = _as_before((cached[0], cached[1]), (a, b), groups)
    by_count = np.clip(b.prompt - found, 1.0, None) / b.fresh
    moved = [abs(float(np.log((left @ b.fresh) / b.fresh.sum()))) for left in (by_share, by_count)]
    return by_share if moved[0] < moved[1] else by_count


def _as_before(
    values: tuple[Floats, Floats], seen: tuple[Arrivals, Arrivals], groups: tuple[Ints, Ints]
) -> Floats:
    """Return each current value as at baseline, group by group."""
    back = values[1].copy()
    named = _large_enough(*groups)
    for code in np.unique(named[1]).tolist():
        rows = [np.flatnonzero(side == code) for side in named]
        if min(side.size for side in rows) < LEAST_GROUP // 2:
            continue
        sides = [_as_rows(value[own], one, own) for value, one, own in zip(values, seen, rows, strict=True)]
        blocks = [_slices(one.at[own]) for one, own in zip(seen, rows, strict=True)]
        back[rows[1]] = repair_rows(sides[0], sides[1], blocks[0], blocks[1])[:, 0]
    return back


def _same_codes(a: Dimension, b: Dimension) -> tuple[Ints, Ints]:
    """Return both windows' codes, of labels that they share."""
    labels = sorted({*a.labels, *b.labels})
    first, second = (
        np.array([labels.index(x) for x in side.labels], dtype=np.int64)[side.codes] for side in (a, b)
    )
    return first, second


def _large_enough(before: Ints, now: Ints) -> tuple[Ints, Ints]:
    """Return the groups' codes, OTHERS for those that are small in either window."""
    codes = np.unique(np.concatenate([before, now]))
    places = [np.searchsorted(codes, side) for side in (before, now)]
    counts = [np.bincount(place, minlength=codes.size) for place in places]
    named = np.where(np.minimum(*counts) < LEAST_GROUP, OTHERS, codes)
    return named[places[0]], named[places[1]]


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
