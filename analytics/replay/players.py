"""Whose change the replay takes back: the engine's stages, others that moved the quantile, decoding.

Prefill is repaired as what the request alone made the engine do (`step_cost.py`): what its prefill took
grows with the prompts beside it, and those are the load's or another player's doing, which the replay
itself brings about. Other stages are repaired by the path that split the change. Decoding is no stage of
TTFT, yet decides how long a seat stays taken; its pace is that of steps without prompts.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.change.decompose import Change
from otel_attrib.analytics.columns import Rows
from otel_attrib.analytics.replay.work import work_as_before
from otel_attrib.analytics.replay.world import Undone, World

__all__ = ["DECODE", "QUEUE", "Player", "players_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

QUEUE = "queue"
DECODE = "decode_forward"
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

    Prefill always plays, copies where they hold the engine up: what they do to others does not show in
    their own time. Others play when their interval leaves out zero and they are 2 % of the change.
    """
    always = ("prefill", "kv_init") if b.blocking else ("prefill",)
    found = [_player(name, change, rows, a, b, place) for name in always if _seen(rows, name)]
    others = [name for name in _moved(change) if name in rows.names and name not in (*always, QUEUE)]
    found += [_player(name, change, rows, a, b, place) for name in others]
    if any(name.startswith("decode_") for name in others[: MOST - 1]):
        return found[:MOST]
    decode = _decode_player(rows, a, b)
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


def _player(name: str, change: Change, rows: Rows, a: World, b: World, place: Ints) -> Player:
    """Return one stage's player: in the engine its change is taken back there, elsewhere in the value."""
    seen, nothing = b.seen, Undone.nothing(b.seen.n, b.idle.size)
    none = np.zeros(rows.n)
    if name == "prefill":
        return Player(name, none, replace(nothing, computing=work_as_before(a, b)))
    now = rows.stage(name)
    saved = now - change.repaired[:, rows.names.index(name)]
    if name == "kv_init":
        # A request without a copy gets none: whether there is one is not how long it takes.
        saved = np.where(now > 0, saved, 0.0)
        spared = _at_arrivals(saved, now, seen.serving[name], place)
        return Player(name, none if b.blocking else saved, replace(nothing, copies=spared))
    if name in BEFORE:
        spared = _at_arrivals(saved, now, np.zeros(seen.n), place)
        return Player(name, saved, replace(nothing, before=spared))
    if name.startswith("decode_"):
        return Player(name, saved, replace(nothing, decoding=_pace_left(saved, b, place)))
    return Player(name, saved, nothing)


def _at_arrivals(saved: Floats, now: Floats, seen: Floats, place: Ints) -> Floats:
    """Carry each row's saving to its arrival; arrivals without the metric save the typical share."""
    some = now > 0
    share = float(np.median(saved[some] / now[some])) if some.any() else 0.0
    carried = seen * share
    known = place >= 0
    carried[place[known]] = saved[known]
    return carried


def _pace_left(saved: Floats, b: World, place: Ints) -> Floats:
    """Return (engines,) the share of the decode time that is left when (rows,) ms of it are saved."""
    known = place >= 0
    engine = b.seen.engine[place[known]]
    less = np.bincount(engine, weights=saved[known], minlength=b.idle.size)
    whole = np.bincount(engine, weights=b.seen.holding[place[known]], minlength=b.idle.size)
    left: Floats = 1 - np.divide(less, whole, out=np.zeros_like(less), where=whole > 0)
    return np.clip(left, 0.05, 20.0)


def _decode_player(rows: Rows, a: World, b: World) -> Player | None:
    """Return the change of the engines' decode pace, when one's is 3 % or more."""
    ratio = np.divide(a.pace, b.pace, out=np.ones_like(b.pace), where=b.pace > 0)
    if not (np.abs(ratio - 1) >= LEAST_PACE).any():
        return None
    undone = replace(Undone.nothing(b.seen.n, b.idle.size), decoding=ratio)
    return Player(DECODE, np.zeros(rows.n), undone)
