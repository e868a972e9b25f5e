"""The current rows with every stage put back to the baseline's level, and again without any one block.

The maps are fitted once. Leaving a block out moves their knots (`Repair.without_a`, `without_b`); which
kind of map a stage has, and the sizes f_k, stay as they are, so intervals do not hold their noise.
"""

from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.change.repair import Repair, fit_repair, lots
from otel_attrib.analytics.change.sizes import Sizes
from otel_attrib.analytics.change.spread import spread_of
from otel_attrib.analytics.columns import Floats, Ints, Rows

__all__ = ["Moves", "Repaired", "repair_rows"]


@dataclass(frozen=True)
class Moves:
    """One stage's map on some rows, so far as leaving out a block changes it: a line between two knots."""

    column: int
    left: Ints
    part: Floats
    size: Floats
    mapped: Floats
    repair: Repair

    def without(self, moves: Floats) -> Floats:
        """Return (n,) ms with other moves at the knots."""
        shift = moves - self.repair.move
        right = np.minimum(self.left + 1, shift.size - 1)
        change = (1 - self.part) * shift[self.left] + self.part * shift[right]
        return np.maximum(0.0, self.mapped + change * self.size)


@dataclass(frozen=True)
class Repaired:
    """`parts` (n_B, K) in ms; `repairs` by stage."""

    parts: Floats
    residuals: Floats
    expected: Floats
    repairs: tuple[Repair, ...]

    def moves(self, rows: Ints) -> tuple[Moves, ...]:
        """Return what is needed to move the chosen rows' stages, for the stages that have a map."""
        return tuple(
            self._moves(k, repair, rows) for k, repair in enumerate(self.repairs) if repair.kind != "nothing"
        )

    def _moves(self, k: int, repair: Repair, rows: Ints) -> Moves:
        residual, size = self.residuals[rows, k], self.expected[rows, k]
        left = np.clip(np.searchsorted(repair.at, residual, side="right") - 1, 0, max(0, repair.at.size - 2))
        right = np.minimum(left + 1, repair.at.size - 1)
        width = repair.at[right] - repair.at[left]
        part = np.where(width > 0, (residual - repair.at[left]) / np.where(width > 0, width, 1.0), 0.0)
        return Moves(k, left, np.clip(part, 0, 1), size, self.parts[rows, k], repair)


def repair_rows(
    baseline: Rows, current: Rows, sizes: Sizes, weights: Floats, priced: Floats, blocks: tuple[Ints, Ints]
) -> Repaired:
    """Fit every stage's map and apply it to the current rows.

    `weights` (n_A,) make the baseline's work the current window's; `priced` (n_B,) is 1 for the current
    rows whose work the baseline has seen, else 0: the maps are read off those.
    """
    lot = lots(current.time_us, current.prompt, current.output)
    residuals = current.parts / sizes.current
    before = baseline.parts / sizes.baseline
    counts = [1 + int(side.max()) for side in blocks]
    repairs = []
    parts = current.parts.copy()
    for k in range(parts.shape[1]):
        a = spread_of(before[:, k], weights, blocks[0], counts[0])
        b = spread_of(residuals[:, k], priced, blocks[1], counts[1])
        repairs.append(fit_repair(a, b))
        if repairs[k].kind != "nothing":
            mapped = repairs[k](residuals[:, k], lot)
            moved = mapped != residuals[:, k]
            parts[moved, k] = mapped[moved] * sizes.current[moved, k]
    return Repaired(parts, residuals, sizes.current, tuple(repairs))
