"""Whose change the replay takes back: the engine's stages, others that moved the quantile, decoding.

Prefill is repaired as what the request alone made the engine compute (`shares.py`): what its prefill
took grows with the prompts beside it, and those are the load's or another player's doing, which the
replay itself brings about. Other stages are repaired by the path that split the change. Decoding is no
stage of TTFT, yet decides how long a seat stays taken; its pace is judged at equal batch size.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.blocks import SLICES
from otel_attrib.analytics.change.decompose import Change, decompose
from otel_attrib.analytics.columns import Dimension, Rows
from otel_attrib.analytics.replay.arrivals import Arrivals
from otel_attrib.analytics.replay.world import Undone, World

__all__ = ["DECODE", "ENGINE", "QUEUE", "Player", "players_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

QUEUE = "queue"
DECODE = "decode_forward"
ENGINE = ("kv_init", "prefill")
BEFORE = ("ingress", "tokenize")
MOST = 4
LEAST_SHARE = 0.02
LEAST_PACE = 0.03


@dataclass(frozen=True)
class Player:
    """One player; `direct` (rows,) is what the value loses by itself when its change is taken back."""

    name: str
    direct: Floats
    undone: Undone


def players_of(change: Change, rows: Rows, a: World, b: World, place: Ints) -> list[Player]:
    """Return the players, at most four beside the scheduler; `place` is each row's arrival, or −1.

    The engine's stages always play where they were observed: what they do to others does not show in
    their own time. Others play when their interval leaves out zero and they are 2 % of the change.
    """
    found = [_engine_player(name, change, rows, a, b, place) for name in ENGINE if _seen(rows, name)]
    others = [name for name in _moved(change) if name in rows.names and name not in (*ENGINE, QUEUE)]
    found += [_stage_player(name, change, rows, b.seen, place) for name in others]
    decode = (
        None if any(name.startswith("decode_") for name in others[: MOST - 2]) else _decode_player(a, b, rows)
    )
    return [*found[: MOST - 1], decode] if decode is not None else found[:MOST]


def _seen(rows: Rows, name: str) -> bool:
    return name in rows.names and bool((rows.stage(name) > 0).any())


def _moved(change: Change) -> list[str]:
    """Return stages with a change that matters, the largest first."""
    found = []
    for name, phi in change.stages.items():
        low, high = phi.interval()
        if abs(phi.value) >= LEAST_SHARE * abs(change.delta.value) and not low <= 0 <= high:
            found.append((-abs(phi.value), name))
    return [name for _, name in sorted(found)]


def _engine_player(name: str, change: Change, rows: Rows, a: World, b: World, place: Ints) -> Player:
    nothing = Undone.nothing(b.seen.n)
    none = np.zeros(rows.n)
    if name == "prefill":
        return Player(name, none, replace(nothing, computing=_saved_computing(a, b)))
    column = rows.names.index(name)
    saved = rows.parts[:, column] - change.repaired[:, column]
    spared = _at_arrivals(saved, rows.parts[:, column], b.seen.serving[name], place)
    return Player(name, none if b.blocking else saved, replace(nothing, copies=spared))


def _saved_computing(a: World, b: World) -> Floats:
    """Return what each arrival's own computing loses when put back to the baseline's level for its size."""
    baseline, current = _as_rows(a), _as_rows(b)
    blocks = [_slices(world.seen.at) for world in (a, b)]
    alone = decompose(baseline, current, 0.99, blocks[0], blocks[1])
    saved: Floats = current.parts[:, 0] - alone.repaired[:, 0]
    return saved


def _slices(at: Floats) -> Ints:
    """Return (n,) which of twenty stretches with equally many arrivals each falls into."""
    rank = np.empty(at.size, dtype=np.int64)
    rank[np.argsort(at, kind="stable")] = np.arange(at.size)
    return rank * SLICES // max(1, at.size)


def _as_rows(world: World) -> Rows:
    """Return each arrival's own computing as a row of one stage."""
    seen = world.seen
    parts = np.column_stack([world.computing, np.zeros(seen.n)])
    return Rows(
        names=("prefill", "outside"),
        parts=parts,
        observed=np.ones(parts.shape, dtype=np.bool_),
        time_us=seen.row,
        prompt=seen.prompt,
        cached=np.zeros(seen.n),
        output=seen.output,
        dims={"model": Dimension.of(seen.model)},
        cluster=np.arange(seen.n),
        trace_ids=np.full(seen.n, "", dtype=object),
        total=seen.n,
    )


def _stage_player(name: str, change: Change, rows: Rows, seen: Arrivals, place: Ints) -> Player:
    column = rows.names.index(name)
    saved = rows.parts[:, column] - change.repaired[:, column]
    nothing = Undone.nothing(seen.n)
    if name in BEFORE:
        return Player(
            name, saved, replace(nothing, before=_at_arrivals(saved, saved, np.zeros(seen.n), place))
        )
    if name.startswith("decode_"):
        return Player(
            name, saved, replace(nothing, decoding=_at_arrivals(saved, saved, np.zeros(seen.n), place))
        )
    return Player(name, saved, nothing)


def _at_arrivals(saved: Floats, now: Floats, seen: Floats, place: Ints) -> Floats:
    """Carry each row's saving to its arrival; arrivals without the metric save the typical share."""
    some = now > 0
    share = float(np.median(saved[some] / now[some])) if some.any() else 0.0
    carried = seen * share
    known = place >= 0
    carried[place[known]] = saved[known]
    return carried


def _decode_player(a: World, b: World, rows: Rows) -> Player | None:
    """Return the change of the decode pace at equal batch size, when it is 3 % or more."""
    told_a, told_b = _paces(a.seen), _paces(b.seen)
    if min(told_a[0].size, told_b[0].size) < 20:
        return None
    slope, level = _line(*told_a)
    ratio = float(np.median(told_b[0] / np.maximum(level + slope * told_b[1], 1e-6)))
    if abs(ratio - 1) < LEAST_PACE:
        return None
    spared = b.seen.holding * (1 - 1 / ratio)
    return Player(DECODE, np.zeros(rows.n), replace(Undone.nothing(b.seen.n), decoding=spared))


def _paces(seen: Arrivals) -> tuple[Floats, Floats]:
    """Return ms per token and mean batch size (0 where unknown) of requests with several tokens."""
    some = (seen.output > 1) & (seen.holding > 0)
    return seen.holding[some] / (seen.output[some] - 1), np.nan_to_num(seen.batch[some])


def _line(pace: Floats, batch: Floats) -> tuple[float, float]:
    """Return slope ≥ 0 and level of pace over batch size, through the medians of its two halves."""
    high = batch > np.median(batch)
    if not high.any():
        return 0.0, float(np.median(pace))
    (x0, y0), (x1, y1) = [
        (float(np.median(batch[half])), float(np.median(pace[half]))) for half in (~high, high)
    ]
    slope = max(0.0, (y1 - y0) / (x1 - x0))
    return slope, y0 - slope * x0
