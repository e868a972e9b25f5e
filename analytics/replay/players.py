"""Whose change the replay takes back: stages that moved the quantile, the decode pace, the scheduler.

A stage's own times with the change taken back come from the repair path. Decoding is no stage of TTFT,
yet it decides how long a seat stays taken; its pace is judged at equal batch size, for a longer batch
is an effect of the load that the replay itself brings about.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.change.decompose import Change
from otel_attrib.analytics.columns import Rows
from otel_attrib.analytics.replay.arrivals import UNTIL_FIRST_TOKEN, Arrivals

__all__ = ["DECODE", "QUEUE", "Player", "decode_player", "stage_players"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

QUEUE = "queue"
DECODE = "decode_forward"
MOST = 4
LEAST_SHARE = 0.02
LEAST_PACE = 0.03
BEFORE = ("ingress", "tokenize")


@dataclass(frozen=True)
class Player:
    """One player: what taking its change back saves, in ms, each row of the metric and each arrival.

    `own` (rows,) is what the value itself loses; `saved` (arrivals,) what the engine is spared.
    """

    name: str
    own: Floats
    saved: Floats

    @property
    def where(self) -> str:
        """Return what it moves in the engine: `before`, `serving`, `holding` or nothing."""
        if self.name in BEFORE:
            return "before"
        if self.name in UNTIL_FIRST_TOKEN:
            return "serving"
        return "holding" if self.name.startswith("decode_") else ""


def stage_players(change: Change, rows: Rows, seen: Arrivals, place: Ints) -> list[Player]:
    """Return the stages with a change that matters, the largest first, at most four.

    It matters when its interval leaves out zero and it is at least 2 % of the whole. `place` is (rows,)
    each row's arrival, or −1.
    """
    found = []
    for name, phi in change.stages.items():
        low, high = phi.interval()
        big = abs(phi.value) >= LEAST_SHARE * abs(change.delta.value)
        if name != QUEUE and name in rows.names and big and not low <= 0 <= high:
            found.append((abs(phi.value), name))
    names = [name for _, name in sorted(found, key=lambda item: (-item[0], item[1]))[:MOST]]
    return [_stage_player(name, change, rows, seen, place) for name in names]


def _stage_player(name: str, change: Change, rows: Rows, seen: Arrivals, place: Ints) -> Player:
    column = rows.names.index(name)
    now, before = rows.parts[:, column], change.repaired[:, column]
    some = now > 0
    ratio = float(np.median(before[some] / now[some])) if some.any() else 1.0
    typical = seen.serving.get(name, np.zeros(seen.n)) * (1 - ratio)
    return Player(name, now - before, _at_arrivals(now - before, typical, place))


def _at_arrivals(own: Floats, otherwise: Floats, place: Ints) -> Floats:
    """Carry each row's saving to its arrival; arrivals without the metric get the typical one."""
    saved = otherwise.copy()
    known = place >= 0
    saved[place[known]] = own[known]
    return saved


def decode_player(baseline: Arrivals, current: Arrivals, rows: Rows) -> Player | None:
    """Return the change of the decode pace at equal batch size, when it is 3 % or more."""
    told_a, told_b = _paces(baseline), _paces(current)
    if min(told_a[0].size, told_b[0].size) < 20:
        return None
    slope, level = _line(*told_a)
    expected = level + slope * told_b[1]
    ratio = float(np.median(told_b[0] / np.maximum(expected, 1e-6)))
    if abs(ratio - 1) < LEAST_PACE:
        return None
    return Player(DECODE, np.zeros(rows.n), current.holding * (1 - 1 / ratio))


def _paces(seen: Arrivals) -> tuple[Floats, Floats]:
    """Return ms per token and mean batch size (0 where unknown) of requests with several tokens."""
    some = (seen.output > 1) & (seen.holding > 0)
    return seen.holding[some] / (seen.output[some] - 1), np.nan_to_num(seen.batch[some])


def _line(pace: Floats, batch: Floats) -> tuple[float, float]:
    """Return slope ≥ 0 and level of pace over batch size, through the medians of its two halves."""
    high = batch > np.median(batch)
    if not high.any():
        return 0.0, float(np.median(pace))
    ends = [(float(np.median(batch[half])), float(np.median(pace[half]))) for half in (~high, high)]
    (x0, y0), (x1, y1) = ends
    slope = max(0.0, (y1 - y0) / (x1 - x0))
    return slope, y0 - slope * x0
