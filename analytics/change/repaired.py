"""The current rows with every stage put back to the baseline's level, and again without any one block.

Where a stage was hit unevenly (`hit`), every part of the rows has a map of its own. The maps are fitted
once. Leaving a block out moves their knots (`Repair.without_a`, `without_b`); who was hit, which kind of
map that takes, and the sizes f_k, stay as they are, so intervals do not hold their noise.
"""

from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.change.hit import LEAST_ROWS, Partition, partitions_of, time_slices
from otel_attrib.analytics.change.repair import Repair, fit_repair, lots
from otel_attrib.analytics.change.sizes import Sizes
from otel_attrib.analytics.change.spread import Sorted
from otel_attrib.analytics.columns import Flags, Floats, Ints, Rows

__all__ = ["Moves", "Restoration", "StageMaps", "restoration"]


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
        return np.maximum(0.0, self.mapped + change * self.size)


@dataclass(frozen=True)
class StageMaps:
    """The maps of one stage (a column), by part of the rows; with no partition there is one part."""

    column: int
    partition: Partition | None
    maps: tuple[Repair, ...]

    def parts_of(self, rows: Rows) -> Ints:
        """Return the (n,) part of each row."""
        return np.zeros(rows.n, dtype=np.int64) if self.partition is None else self.partition.of(rows)


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
            k, part = stage.column, stage.parts_of(rows)
            for number, repair in enumerate(stage.maps):
                chosen = np.flatnonzero(part == number)
                if repair.kind != "nothing":
                    parts[chosen, k] = _restored(repair, parts[chosen, k], expected[chosen, k], lot[chosen])
        return parts

    def moves(self, rows: Rows, parts: Floats) -> tuple[Moves, ...]:
        """Return what is needed to move rows whose restored times are `parts`."""
        expected = self.sizes.of(rows)
        return tuple(
            _moves(
                stage.column, repair, np.flatnonzero(stage.parts_of(rows) == number), rows, expected, parts
            )
            for stage in self.stages
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
    for k in range(now.shape[1]):
        stage = _Stage(Sorted.of(before[:, k]), Sorted.of(now[:, k]), weights, priced, blocks, slices)
        partition = partitions.hit(stage.a, stage.b, weights)
        maps = _maps(stage, partition, baseline, current)
        if any(repair.kind != "nothing" for repair in maps):
            stages.append(StageMaps(k, partition, maps))
    return Restoration(sizes, tuple(stages))


def _maps(stage: _Stage, partition: Partition | None, baseline: Rows, current: Rows) -> tuple[Repair, ...]:
    everything = np.ones(baseline.n, dtype=np.bool_)
    if partition is None:
        return (stage.repair(everything, np.ones(current.n, dtype=np.bool_)),)
    part_a, part_b = partition.of_baseline(baseline), partition.of(current)
    own = [part_a == part for part in range(partition.parts)]
    return tuple(
        stage.repair(mine if int(mine.sum()) >= LEAST_ROWS else everything, part_b == part)
        for part, mine in enumerate(own)
    )
