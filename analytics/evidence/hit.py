"""Who was hit, where and when; and who was not, as the control.

A *group* is one engine: node, devices and replica of a request. Groups are hit when the flagged rows (or,
without flags, rows above their own group's earlier quantile) are at least half as frequent there as where
they are most frequent. The other groups that serve the same models are controls; there are none when one
engine serves all, or when all were hit alike, and then only before and after can be compared.
"""

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from otel_attrib.analytics.columns import Flags, Floats, Ints, Rows
from otel_attrib.analytics.evidence.board import Grid, Place

__all__ = ["Group", "Hit", "find_hit"]

FEWEST = 20
TAIL = 3.0
SEPARATOR = re.compile(r"[,;+ ]+")


@dataclass(frozen=True, slots=True)
class Group:
    """One engine: its node, the devices it runs on (none when unknown) and its replica."""

    node: str
    devices: tuple[str, ...]
    replica: str

    def name(self) -> str:
        """Write it as in a slice: `node3:GPU-5`."""
        return f"{self.node}:{','.join(self.devices)}" if self.devices else self.node or "the engine"


@dataclass(frozen=True)
class Hit:
    """Groups hit and controls, with the tail's weight by (group, cell) in both windows.

    `before` and `after` are (groups, cells), over the hit groups in `groups`' order, each summing to 1.
    """

    groups: tuple[Group, ...]
    controls: tuple[Group, ...]
    before: Floats
    after: Floats
    rows_before: Flags
    rows_after: Flags
    share: float

    @property
    def paired(self) -> bool:
        """Return whether there are controls."""
        return bool(self.controls)

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Return the nodes of the hit groups."""
        return tuple(sorted({group.node for group in self.groups}))

    @cached_property
    def control_nodes(self) -> tuple[str, ...]:
        """Return the nodes that serve controls and no hit group."""
        return tuple(sorted({group.node for group in self.controls} - set(self.nodes)))

    @property
    def whole_nodes(self) -> float:
        """Return the share of the engines on the hit nodes that were hit: 1 when all on a node were."""
        beside = sum(group.node in self.nodes for group in self.controls)
        return len(self.groups) / max(1, len(self.groups) + beside)

    @property
    def ranks(self) -> int:
        """Return the most devices of one hit engine; 0 when they are not known."""
        return max((len(group.devices) for group in self.groups), default=0)

    def name(self) -> str:
        """Write where it happened, in few words."""
        if not self.paired:
            return "every engine" if len(self.groups) > 1 else self.groups[0].name() if self.groups else ""
        if self.whole_nodes == 1.0:
            return _few(self.nodes)
        return _few(tuple(group.name() for group in self.groups))


def _few(words: tuple[str, ...]) -> str:
    return ", ".join(words[:3]) + (f" and {len(words) - 3} more" if len(words) > 3 else "")


def find_hit(
    baseline: Rows, current: Rows, flags: Flags | None, grids: tuple[Grid, Grid], level: float
) -> Hit:
    """Find the hit groups and the controls among the rows of two windows."""
    codes_a, codes_b, groups, models = _grouped(baseline, current)
    marked = _marked(baseline, current, flags, codes_a, codes_b, len(groups))
    counts = np.bincount(codes_b, minlength=len(groups))
    rate = np.bincount(codes_b, marked, len(groups)) / np.maximum(counts, 1)
    rate[counts < min(FEWEST, counts.max(initial=0))] = 0.0
    hit = rate >= 0.5 * rate.max(initial=0.0) if rate.any() else counts > 0
    alike = [number for number in np.flatnonzero(~hit & (counts > 0)) if models[number] & _union(models, hit)]
    others = alike or list(np.flatnonzero(~hit & (counts > 0)))
    chosen = np.flatnonzero(hit)
    rows_a, rows_b = (np.isin(codes, chosen) for codes in (codes_a, codes_b))
    return Hit(
        groups=tuple(groups[number] for number in chosen),
        controls=tuple(groups[number] for number in others),
        before=_weights(baseline, rows_a, codes_a, chosen, grids[0], level),
        after=_weights(current, rows_b & _kept(flags, rows_b), codes_b, chosen, grids[1], level),
        rows_before=rows_a,
        rows_after=rows_b,
        share=float(rows_b.mean()) if rows_b.size else 0.0,
    )


def _kept(flags: Flags | None, rows: Flags) -> Flags:
    return flags if flags is not None and (flags & rows).any() else rows


def _union(models: list[set[int]], hit: Flags) -> set[int]:
    return set().union(*(models[number] for number in np.flatnonzero(hit)))


def _grouped(baseline: Rows, current: Rows) -> tuple[Ints, Ints, list[Group], list[set[int]]]:
    """Return the group of every row, the groups in order, and the models that each serves."""
    sides = [_labelled(rows, ("node", "gpu_set", "replica")) for rows in (baseline, current)]
    served_by = [_labelled(rows, ("model",)) for rows in (baseline, current)]
    labels, models = (sorted({label for _, names in each for label in names}) for each in (sides, served_by))
    codes = [_renumbered(side, labels) for side in sides]
    served: list[set[int]] = [set() for _ in labels]
    for side, mine in zip(codes, served_by, strict=True):
        for pair in np.unique(side * max(1, len(models)) + _renumbered(mine, models)):
            served[int(pair) // len(models)].add(int(pair) % len(models))
    return codes[0], codes[1], [_parsed(label) for label in labels], served


def _labelled(rows: Rows, names: tuple[str, ...]) -> tuple[Ints, list[str]]:
    """Return (n,) codes into the distinct combinations of these dimensions, and the combinations in words."""
    codes = np.zeros(rows.n, dtype=np.int64)
    words = [""]
    for number, name in enumerate(names):
        column = rows.dims.get(name)
        labels = column.labels if column is not None else ("",)
        mine = column.codes if column is not None else np.zeros(rows.n, dtype=np.int64)
        joined = codes * len(labels) + mine
        kept = np.flatnonzero(np.bincount(joined, minlength=1))
        place = np.zeros(int(kept[-1]) + 1 if kept.size else 1, dtype=np.int64)
        place[kept] = np.arange(kept.size)
        codes = place[joined]
        joint = "\t" if number else ""
        words = [f"{words[int(k) // len(labels)]}{joint}{labels[int(k) % len(labels)]}" for k in kept]
    return codes, words


def _renumbered(side: tuple[Ints, list[str]], labels: list[str]) -> Ints:
    codes, words = side
    place = {label: number for number, label in enumerate(labels)}
    out: Ints = np.array([place[word] for word in words], dtype=np.int64)[codes]
    return out


def _parsed(label: str) -> Group:
    node, devices, replica = label.split("\t")
    bare = devices.removeprefix(f"{node}:") if node else devices
    return Group(node, tuple(word for word in SEPARATOR.split(bare) if word), replica)


def _marked(
    baseline: Rows, current: Rows, flags: Flags | None, codes_a: Ints, codes_b: Ints, groups: int
) -> Floats:
    """Return (n_B,) what makes a row count as hit: its flag, or its excess over its group's earlier P95."""
    if flags is not None and flags.any():
        return flags.astype(np.float64)
    limits = np.full(groups, np.nan)
    for group in range(groups):
        mine = baseline.values[codes_a == group]
        if mine.size >= FEWEST:
            limits[group] = np.quantile(mine, 0.95)
    limits = np.where(np.isnan(limits), np.quantile(baseline.values, 0.95) if baseline.n else 0.0, limits)
    above = current.values > limits[codes_b]
    counts = np.maximum(np.bincount(codes_b, minlength=groups), 1)
    excess = np.maximum(np.bincount(codes_b, above, groups) / counts - 0.05, 0.0)
    # Noise of a quiet group must not make it look hit beside others that are.
    excess[excess < 0.25 * excess.max(initial=0.0)] = 0.0
    out: Floats = excess[codes_b]
    return out


def _weights(rows: Rows, chosen_rows: Flags, codes: Ints, chosen: Ints, grid: Grid, level: float) -> Floats:
    """Return the (groups, cells) share of the tail of the chosen rows, all of them when they are few."""
    mine = np.flatnonzero(chosen_rows)
    if mine.size:
        values = rows.values[mine]
        share = min(0.5, TAIL * (1 - level))
        mine = mine[values >= np.quantile(values, 1 - share)] if mine.size >= FEWEST else mine
    at = rows.time_us[mine] + (rows.values[mine] * 500).astype(np.int64)
    row = np.searchsorted(chosen, codes[mine])
    flat = np.bincount(row * grid.cells + grid.cell_of(at), minlength=chosen.size * grid.cells)
    weights: Floats = flat.reshape(chosen.size, grid.cells) / max(1, flat.sum())
    return weights


def devices_of(groups: tuple[Group, ...], known: tuple[Place, ...]) -> list[list[Place]]:
    """Return the places of each group's devices among those that were read.

    A set may be written `GPU-0,GPU-1`, `0,1` or `node3:0,1`; a MIG instance `0:2` brings its card. Where none
    of it is known by that name, all devices of the node stand for it.
    """
    on_node: dict[str, list[Place]] = {}
    for place in known:
        on_node.setdefault(place[0], []).append(place)
    return [_match(group, on_node.get(group.node, [])) for group in groups]


def _match(group: Group, beside: list[Place]) -> list[Place]:
    named = {*group.devices, *(device.partition(":")[0] for device in group.devices)}
    wanted = named | {f"GPU-{device}" for device in named}
    return [place for place in beside if place[1] in wanted] or beside
