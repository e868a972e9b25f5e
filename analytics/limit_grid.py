"""The limits of exceedance as a table that a store can look up: model × eighths of an octave of the work.

Within one step of the grid the limit is that of its middle, so against `Cells` it is off by at most what
the baseline's curve does in 9 % of size (19 % for E2E, which has two sizes).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from otel_attrib.analytics.columns import Dimension, Floats, Ints
from otel_attrib.analytics.exceedance import Cells, Work

__all__ = ["LimitGrid", "grid_of"]

OCTAVES = 20
STEPS = {1: 8, 2: 4}  # steps an octave, by how many sizes there are
COLUMNS = {1: ("prompt_tokens",), 2: ("output_tokens", "prompt_tokens")}
NO_LIMIT = -1.0


@dataclass(frozen=True, slots=True)
class LimitGrid:
    """`limits` are µs, (models + 1) × bins of each size, flat; −1 where a request is not judged."""

    models: tuple[str, ...]
    sizes: int
    limits: Floats

    @property
    def bins(self) -> int:
        """Return the bins of one size."""
        return OCTAVES * STEPS[self.sizes]

    def sql(self) -> str:
        """Return SQL over `requests` for the limit of a row, with the values of `parameters` bound."""
        known = "transform(toString(model), {grid_models:Array(String)}, {grid_codes:Array(UInt32)}, "
        place = f"{known}toUInt32({len(self.models)}))"
        for column in COLUMNS[self.sizes]:
            step = f"floor(log2(greatest({column}, 1)) * {STEPS[self.sizes]})"
            place = f"({place} * {self.bins} + toUInt32(least({step}, {self.bins - 1})))"
        return f"arrayElement({{grid_limits:Array(Float64)}}, {place} + 1)"

    def parameters(self) -> dict[str, Any]:
        """Return what `sql` binds."""
        return {
            "grid_models": list(self.models),
            "grid_codes": list(range(len(self.models))),
            "grid_limits": self.limits.tolist(),
        }


def grid_of(cells: Cells) -> LimitGrid:
    """Return the limits of all work that the baseline has."""
    models = tuple(sorted(cells.models))
    sizes = len(cells.models[models[0]].axes) if models else 1
    bins = OCTAVES * STEPS[sizes]
    middles = 2 ** ((np.arange(bins) + 0.5) / STEPS[sizes])
    grids = np.meshgrid(*[middles] * sizes, indexing="ij")
    flat = tuple(grid.ravel() for grid in grids)
    parts = [cells.limits(Work(_all_of(model, flat[0].size), flat)) * 1000 for model in models]
    limits = np.concatenate([*parts, np.full(bins**sizes, NO_LIMIT)])
    return LimitGrid(models, sizes, np.where(np.isnan(limits), NO_LIMIT, limits))


def _all_of(model: str, n: int) -> Dimension:
    codes: Ints = np.zeros(n, dtype=np.int64)
    return Dimension(codes, (model,))
