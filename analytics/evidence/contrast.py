"""One counter, hit against not hit: difference in differences with a robust scale.

d = (hit now − hit before) − (controls now − controls before). The hit side is weighted by where and when the
tail lay; controls are read in the same seconds. Without controls d is after minus before alone, which a
change of everything would fake: such a contrast is `paired = False` and counts half.

The scale is the MAD of the baseline's cells about their place's median, floored by FLOORS: the relative or
absolute change below which a counter says nothing however quiet it was.
"""

from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.columns import Floats
from otel_attrib.analytics.evidence.board import Board, Place
from otel_attrib.analytics.evidence.hit import Group, Hit, devices_of
from otel_attrib.schema.counters import COUNTERS, Counter

__all__ = ["RELATIVE_FLOOR", "Contrast", "contrast_all"]

RELATIVE_FLOOR = 0.02
FLOORS = {
    "gpu_throttled": 0.01,
    "gpu_throttle_time": 0.01,
    "gpu_temperature": 2.0,
    "gpu_utilization": 0.02,
    "sm_activity": 0.01,
    "dram_activity": 0.01,
    "ecc_errors": 1 / 600,
    "remapped_rows": 1 / 600,
    "xid": 1 / 600,
    "pcie_replays": 2 / 60,
    "nvlink_crc": 2 / 60,
    "nvlink_replays": 2 / 60,
    "nvlink_recoveries": 1 / 600,
    "run_queue_wait": 0.01,
    "off_cpu": 0.05,
    "cpu_throttled": 0.01,
    "cpu_pressure": 0.01,
    "memory_pressure": 0.01,
    "cpu_utilization": 0.02,
    "cpu_steal": 0.01,
    "gc_time": 0.002,
    "tokenize_cpu": 0.005,
    "tcp_retransmits": 0.2,
    "tcp_rtt": 0.0005,
    "tcp_zero_window": 1 / 60,
    "send_queue": 16_384.0,
}
"""The smallest change in the counter's own unit (a second for totals) that counts as one deviation."""
NORMAL = 1.4826
MOST_CELLS_FOR_Z = 9.0


@dataclass(frozen=True, slots=True)
class Contrast:
    """One counter: its levels before and after where it was hit, and by how much more than the controls.

    `change` is the difference in differences in the counter's unit, `z` that over its scale. `peers` is the
    controls' own change, None without controls. `before` and `after` are the hit side's.
    """

    key: str
    before: float
    after: float
    peers: float | None
    change: float
    z: float
    place: str = ""

    @property
    def paired(self) -> bool:
        """Return whether controls stood against it."""
        return self.peers is not None

    @property
    def relative(self) -> float:
        """Return the change over the level before (0 where there was none)."""
        return self.change / self.before if self.before else 0.0

    @property
    def trust(self) -> float:
        """Return 0…1: no trust up to two deviations, full from four; half of it without controls."""
        gate = min(1.0, max(0.0, (abs(self.z) - 2) / 2))
        return gate if self.paired else 0.75 * gate


def contrast_all(before: Board, after: Board, hit: Hit) -> dict[str, Contrast]:
    """Return the contrast of every counter that was read on both sides."""
    found = ((counter.key, _contrast(counter, before, after, hit)) for counter in COUNTERS)
    return {key: contrast for key, contrast in found if contrast is not None}


def _contrast(counter: Counter, before: Board, after: Board, hit: Hit) -> Contrast | None:
    known = tuple(sorted(set(before.places.get(counter.key, ())) & set(after.places.get(counter.key, ()))))
    if not known or not hit.groups:
        return None
    owners = _places(counter, hit.groups, known)
    sides = [
        [_by_group(counter, board, owner, when) for owner, when in zip(owners, weights, strict=True)]
        for board, weights in ((before, hit.before), (after, hit.after))
    ]
    chosen = [_worst(counter, old, new) for old, new in zip(*sides, strict=True)]
    heavy = hit.after.sum(axis=1)
    heavy = np.array(
        [weight if pick is not None else 0.0 for weight, pick in zip(heavy, chosen, strict=True)]
    )
    if not heavy.sum():
        return None
    heavy = heavy / heavy.sum()
    was, now = (
        float(
            sum(
                w * side[g][pick]
                for g, (w, pick) in enumerate(zip(heavy, chosen, strict=True))
                if pick is not None and w
            )
        )
        for side in sides
    )
    peers = _peers(counter, hit, known, owners, before, after)
    change = now - was - (peers or 0.0)
    places = tuple(sorted({place for places in owners for place in places}))
    scale = _scale(counter, before.take(counter.key, places), was)
    when = hit.after.sum(axis=0)
    cells = min(MOST_CELLS_FOR_Z, 1 / max(float((when**2).sum()), 1e-9))
    return Contrast(
        counter.key,
        was,
        now,
        peers,
        change,
        change * float(np.sqrt(cells)) / scale,
        _name(owners, chosen, heavy),
    )


def _by_group(counter: Counter, board: Board, places: list[Place], when: Floats) -> Floats:
    """Return the (places,) levels of one engine's devices (or its host) in the tail's seconds."""
    values = board.take(counter.key, tuple(places))
    return np.array([_mean(row, when) for row in values])


def _worst(counter: Counter, old: Floats, new: Floats) -> int | None:
    """Return the device that moved most for the worse: one late rank makes the whole engine late."""
    moved = (new - old) * (counter.bad or 1)
    return int(np.nanargmax(moved)) if moved.size and not np.isnan(moved).all() else None


def _name(owners: list[list[Place]], chosen: list[int | None], heavy: Floats) -> str:
    """Name the place when one engine was hit; several are named by the slice."""
    picked = {
        owner[pick] for owner, pick, w in zip(owners, chosen, heavy, strict=True) if pick is not None and w
    }
    if len(picked) != 1:
        return ""
    node, device = picked.pop()
    return f"{node}:{device}" if device else node


def _places(counter: Counter, groups: tuple[Group, ...], known: tuple[Place, ...]) -> list[list[Place]]:
    if counter.per_device:
        return devices_of(groups, known)
    hosts = set(known)
    return [[(group.node, "")] if (group.node, "") in hosts else [] for group in groups]


def _peers(
    counter: Counter,
    hit: Hit,
    known: tuple[Place, ...],
    owners: list[list[Place]],
    before: Board,
    after: Board,
) -> float | None:
    """Return the controls' own median change in the same seconds; None without any."""
    groups = hit.controls
    if not counter.per_device:
        groups = tuple(group for group in groups if group.node in hit.control_nodes)
    taken = {place for places in owners for place in places}
    places = sorted({place for mine in _places(counter, groups, known) for place in mine} - taken)
    if not places:
        return None
    old, new = (
        _by_group(counter, board, places, weights.sum(axis=0))
        for board, weights in ((before, hit.before), (after, hit.after))
    )
    moved = new - old
    return None if np.isnan(moved).all() else float(np.nanmedian(moved))


def _mean(values: Floats, weights: Floats) -> float:
    """Return the weighted mean of what is known; plain where the weighted cells are all unknown."""
    known = ~np.isnan(values)
    total = float(weights[known].sum())
    if total > 0:
        return float((weights[known] * values[known]).sum() / total)
    return float(values[known].mean()) if known.any() else float("nan")


def _scale(counter: Counter, baseline: Floats, level: float) -> float:
    spread = np.abs(baseline - _medians(baseline)[:, None])
    mad = float(_medians(spread.reshape(1, -1))[0])
    least = max(FLOORS.get(counter.key, 0.0), RELATIVE_FLOOR * abs(level), 1e-12)
    return least if np.isnan(mad) else max(NORMAL * mad, least)


def _medians(values: Floats) -> Floats:
    """Return (n,) medians of what is known in each row, NaN where nothing is."""
    ordered = np.sort(values, axis=1)  # NaN last
    known = (~np.isnan(values)).sum(axis=1)
    rows = np.arange(values.shape[0])
    low, high = np.maximum(known - 1, 0) // 2, known // 2
    out: Floats = (ordered[rows, low] + ordered[rows, np.minimum(high, values.shape[1] - 1)]) / 2
    return out
