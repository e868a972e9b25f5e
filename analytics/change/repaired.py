"""The current rows with every stage put back to the baseline's level, and again without any one block.

Where a stage was hit unevenly (`hit`), every part of the rows has a map of its own. The maps are fitted
once. Leaving a block out moves their knots (`Repair.without_a`, `without_b`); who was hit, which kind of
map that takes, and the sizes f_k, stay as they are, so intervals do not hold their noise.
"""

from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.change.hit import LEAST_ROWS, Partition, partitions_of, time_slices
from otel_attrib.analytics.change.repair import Repair, fit_repair, lots
from otel_attrib.analytics.change.sizes import Sizes, tokens_of
from otel_attrib.analytics.change.spread import Sorted
from otel_attrib.analytics.columns import Flags, Floats, Ints, Rows

__all__ = ["Moves", "Restoration", "StageMaps", "restoration"]


STRATA = (0.5, 0.8, 0.95)
NEGLIGIBLE = 1e-9  # of the largest total


@dataclass(frozen=True)
class Moves:
    """One map on some rows, so far as leaving out a block changes it: a line between two knots."""

    rows: Ints
    column: int
    left: Ints
    part: Floats
    size: Floats
    mapped: Floats
    repair: Repair

    def without(self, moves: Floats) -> Floats:
        """Return ms of `rows` with other moves at the knots."""
        shift = moves - self.repair.move
        right = np.minimum(self.left + 1, shift.size - 1)
        change = (1 - self.part) * shift[self.left] + self.part * shift[right]
        return np.maximum(self.repair.floor * self.size, self.mapped + change * self.size)


@dataclass(frozen=True)
class StageMaps:
    """The maps of one stage (a column): for each part of the rows, one for each stratum of sizes.

    With no partition there is one part; with no `edges` (tokens) one stratum.
    """

    column: int
    name: str
    partition: Partition | None
    edges: Floats
    maps: tuple[Repair, ...]

    def numbers(self, rows: Rows) -> Ints:
        """Return which (n,) map each current row takes."""
        part = np.zeros(rows.n, dtype=np.int64) if self.partition is None else self.partition.of(rows)
        return part * (self.edges.size + 1) + _strata(self.edges, rows, self.name)


@dataclass(frozen=True)
class Restoration:
    """How to put current rows back to the baseline's level: sizes f_k, and maps of what changed."""

    sizes: Sizes
    stages: tuple[StageMaps, ...]

    @property
    def hit(self) -> dict[str, str]:
        """Return by what a stage was hit unevenly."""
        uneven = [stage for stage in self.stages if stage.partition is not None]
        return {self.sizes.names[s.column]: s.partition.groups.by for s in uneven if s.partition is not None}

    def restore(self, rows: Rows) -> Floats:
        """Return (n, K) ms of current rows, these or others of the same window, as at baseline."""
        expected, parts = self.sizes.of(rows), rows.parts.copy()
        lot = lots(rows.time_us, rows.prompt, rows.output)
        for stage in self.stages:
            k, numbers = stage.column, stage.numbers(rows)
            for number, repair in enumerate(stage.maps):
                chosen = np.flatnonzero(numbers == number)
                if repair.kind != "nothing":
                    parts[chosen, k] = _restored(repair, parts[chosen, k], expected[chosen, k], lot[chosen])
        return parts

    def moves(self, rows: Rows, parts: Floats) -> tuple[Moves, ...]:
        """Return what is needed to move rows whose restored times are `parts`."""
        expected, numbers = self.sizes.of(rows), [stage.numbers(rows) for stage in self.stages]
        return tuple(
            _moves(stage.column, repair, np.flatnonzero(numbers[i] == number), rows, expected, parts)
            for i, stage in enumerate(self.stages)
            for number, repair in enumerate(stage.maps)
            if repair.kind != "nothing"
        )


def _restored(repair: Repair, time: Floats, expected: Floats, lot: Floats) -> Floats:
    residual = time / expected
    mapped = repair(residual, lot)
    return np.where(mapped == residual, time, mapped * expected)


def _moves(k: int, repair: Repair, chosen: Ints, rows: Rows, expected: Floats, parts: Floats) -> Moves:
    at, size = repair.at, expected[chosen, k]
    residual = rows.parts[chosen, k] / size
    left = np.clip(np.searchsorted(at, residual, side="right") - 1, 0, max(0, at.size - 2))
    right = np.minimum(left + 1, at.size - 1)
    width = at[right] - at[left]
    part = np.where(width > 0, (residual - at[left]) / np.where(width > 0, width, 1.0), 0.0)
    return Moves(chosen, k, left, np.clip(part, 0, 1), size, parts[chosen, k], repair)


@dataclass(frozen=True)
class _Stage:
    """One stage's residuals in both windows with the rows' weights and blocks."""

    a: Sorted
    b: Sorted
    weights: Floats
    priced: Flags
    blocks: tuple[Ints, Ints]
    slices: tuple[Ints, Ints]

    def repair(self, of_a: Flags, of_b: Flags) -> Repair:
        """Fit the map of some current rows to some of the baseline's."""
        of_b = of_b & self.priced if bool((of_b & self.priced).any()) else of_b
        return fit_repair(
            self.a.spread(of_a, self.weights, self.blocks[0], self.slices[0]),
            self.b.spread(of_b, np.ones(of_b.size), self.blocks[1], self.slices[1]),
        )


def restoration(
    baseline: Rows, current: Rows, sizes: Sizes, weights: Floats, priced: Flags, blocks: tuple[Ints, Ints]
) -> Restoration:
    """Fit every stage's maps.

    `weights` (n_A,) make the baseline's work the current window's; `priced` (n_B,) are the current rows
    whose work the baseline has seen: the maps are read off those.
    """
    before, now = baseline.parts / sizes.of(baseline), current.parts / sizes.of(current)
    slices = time_slices(baseline), time_slices(current)
    partitions = partitions_of(baseline, current, blocks[0])
    stages = []
    least = NEGLIGIBLE * max(float(baseline.values.max()), float(current.values.max()))
    for k in range(now.shape[1]):
        if max(float(np.abs(rows.parts[:, k]).max()) for rows in (baseline, current)) <= least:
            continue  # what rounding leaves of a stage that took no time
        stage = _Stage(Sorted.of(before[:, k]), Sorted.of(now[:, k]), weights, priced, blocks, slices)
        partition = partitions.hit(stage.a, stage.b, weights)
        edges, maps = _maps(stage, partition, baseline, current, baseline.names[k])
        if any(repair.kind != "nothing" for repair in maps):
            stages.append(StageMaps(k, baseline.names[k], partition, edges, maps))
    return Restoration(sizes, tuple(stages))


def _maps(
    stage: _Stage, partition: Partition | None, baseline: Rows, current: Rows, name: str
) -> tuple[Floats, tuple[Repair, ...]]:
    """Fit a map for each part, and in parts that need quantiles one for each stratum of sizes.

    Short and long requests that are served together need not be slowed by the same factor.
    """
    parts = _rows_of_parts(partition, baseline, current)
    pooled = [stage.repair(of_a, of_b) for of_a, of_b in parts]
    edges = _edges(baseline, current, name, len(parts))
    if not any(repair.kind == "quantiles" for repair in pooled):
        edges = edges[:0]
    strata = [_strata(edges, rows, name) for rows in (baseline, current)]
    maps = []
    for (of_a, of_b), repair in zip(parts, pooled, strict=True):
        for stratum in range(edges.size + 1):
            inside = of_a & (strata[0] == stratum), of_b & (strata[1] == stratum)
            own = repair.kind == "quantiles" and min(int(side.sum()) for side in inside) >= LEAST_ROWS
            maps.append(stage.repair(*inside) if own and edges.size else repair)
    return edges, tuple(maps)


def _rows_of_parts(partition: Partition | None, baseline: Rows, current: Rows) -> list[tuple[Flags, Flags]]:
    """Return for each part the rows of both windows that its map is read off."""
    everything = np.ones(baseline.n, dtype=np.bool_)
    if partition is None:
        return [(everything, np.ones(current.n, dtype=np.bool_))]
    part_a, part_b = partition.of_baseline(baseline), partition.of(current)
    own = [part_a == part for part in range(partition.parts)]
    return [
        (mine if int(mine.sum()) >= LEAST_ROWS else everything, part_b == part)
        for part, mine in enumerate(own)
    ]


def _edges(baseline: Rows, current: Rows, name: str, parts: int) -> Floats:
    """Return the tokens between strata that hold rows enough; none for a stage without a size."""
    tokens = tokens_of(baseline, name)
    if tokens is None:
        return np.zeros(0)
    rows = min(baseline.n, current.n) / parts
    levels = [level for level in STRATA if rows * (1 - level) >= 2 * LEAST_ROWS]
    return np.unique(np.quantile(tokens, levels))


def _strata(edges: Floats, rows: Rows, name: str) -> Ints:
    tokens = tokens_of(rows, name)
    if tokens is None or not edges.size:
        return np.zeros(rows.n, dtype=np.int64)
    return np.searchsorted(edges, tokens, side="left").astype(np.int64)
