"""How long a stage takes at baseline for a size of work: f_k(z), by model.

The work is what came in (model, prompt and output tokens), never what the server made of it (cached
tokens, batch, node): those carry faults. f is monotone: medians of bins, finer towards the largest, made
isotonic (pool adjacent violators), joined by straight lines, and flat beyond the sizes seen.

A model with under 20 baseline rows is read off all models together. A stage that its size does not
explain gets a constant. R² is of ranks: the squared correlation of the ranks of the stage and of f_k.

Source of the isotonic fit: Barlow et al. (1972), Statistical Inference under Order Restrictions.
"""

from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.change.bins import bin_starts
from otel_attrib.analytics.columns import Flags, Floats, Ints, Rows

__all__ = ["LEAST_ROWS", "Curve", "Sizes", "fit_sizes", "tokens_of"]

LEAST_ROWS = 20
BINS = 24
LOWEST = 0.2  # of the first bin's time: what the smallest size takes at least
LEAST_R2 = 0.02
RANKED = 4000
PROMPT_STAGES = frozenset({"ingress", "tokenize", "kv_init", "prefill"})
"""Stages of a first token that work on the prompt."""


@dataclass(frozen=True)
class Curve:
    """f_k of one model: straight lines through (tokens, ms), and the rank R² of the fit."""

    at: Floats
    height: Floats
    r2: float

    def __call__(self, size: Floats) -> Floats:
        """Return ms for (n,) tokens."""
        return np.interp(size, self.at, self.height)


@dataclass(frozen=True)
class Sizes:
    """The curves of all stages by model; "" stands for a model that the baseline has too few rows of."""

    names: tuple[str, ...]
    curves: dict[str, tuple[Curve, ...]]

    @property
    def fit(self) -> dict[str, dict[str, float]]:
        """Return the rank R² by model and stage."""
        return {
            model: {name: curve.r2 for name, curve in zip(self.names, curves, strict=True)}
            for model, curves in self.curves.items()
            if model or len(self.curves) == 1
        }

    def of(self, rows: Rows) -> Floats:
        """Return (n, K) ms that the baseline would take for the work of these rows, all above 0."""
        expected = np.empty_like(rows.parts)
        sizes = [_tokens(rows, name) for name in self.names]
        for model, mine in _by_model(rows):
            for k, curve in enumerate(self.curves.get(model, self.curves[""])):
                expected[mine, k] = curve(sizes[k][mine])
        return expected


def tokens_of(rows: Rows, stage: str) -> Floats | None:
    """Return the (n,) tokens that a stage works on, or nothing where no size is known to matter."""
    if stage in PROMPT_STAGES:
        return rows.prompt
    return rows.output if stage.startswith("decode_") else None


def fit_sizes(baseline: Rows) -> Sizes:
    """Fit every stage, for all models together and for each with rows enough."""
    sizes = [_tokens(baseline, name) for name in baseline.names]
    curves = {"": _curves(sizes, baseline.parts)}
    models = _by_model(baseline)
    for model, mine in models:
        if model and int(mine.sum()) >= LEAST_ROWS:
            alone = len(models) == 1
            curves[model] = curves[""] if alone else _curves([s[mine] for s in sizes], baseline.parts[mine])
    return Sizes(baseline.names, curves)


def _curves(sizes: list[Floats], parts: Floats) -> tuple[Curve, ...]:
    return tuple(_curve(size, parts[:, k]) for k, size in enumerate(sizes))


def _tokens(rows: Rows, stage: str) -> Floats:
    tokens = tokens_of(rows, stage)
    return np.zeros(rows.n) if tokens is None else tokens


def _by_model(rows: Rows) -> list[tuple[str, Flags]]:
    """Return each model that has rows, and which."""
    if "model" not in rows.dims:
        return [("", np.ones(rows.n, dtype=np.bool_))]
    model = rows.dims["model"]
    pairs = ((label, model.codes == code) for code, label in enumerate(model.labels))
    return [(label, mine) for label, mine in pairs if mine.any()]


def _curve(size: Floats, time: Floats) -> Curve:
    level = float(np.median(time)) or float(time.mean()) if time.size else 0.0
    flat = Curve(np.zeros(1), np.full(1, level if level > 0 else 1.0), 0.0)
    if time.size < LEAST_ROWS or size.min() == size.max() or time.min() == time.max():
        return flat
    at, height, count = _bins(size, time)
    at, height = _to_the_ends(at, _isotonic(height, count), float(size.min()), float(size.max()))
    height = np.maximum(height, 1e-3 * flat.height[0])
    curve = Curve(at, height, _rank_r2(np.interp(size, at, height), time))
    return curve if curve.r2 >= LEAST_R2 and height[-1] > height[0] else flat


def _bins(size: Floats, time: Floats) -> tuple[Floats, Floats, Ints]:
    """Return the mean size, median time and count of bins, finer at the large end; a size is in one bin."""
    ordered = np.sort(size)
    inner = np.unique(ordered[bin_starts(size.size, BINS, 2 * LEAST_ROWS)[1:]])
    place = np.searchsorted(inner, size, side="right")
    count = np.bincount(place, minlength=inner.size + 1)
    groups = np.split(np.argsort(place, kind="stable"), np.cumsum(count)[:-1])
    held = [group for group in groups if group.size]
    at = np.array([size[group].mean() for group in held])
    height = np.array([np.median(time[group]) for group in held])
    return at, height, count[count > 0]


def _to_the_ends(at: Floats, height: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Continue the first and last line to the ends, upwards no faster than in proportion to the size."""
    if at.size < 2:
        return at, height
    slopes = (height[[1, -1]] - height[[0, -2]]) / (at[[1, -1]] - at[[0, -2]])
    first = max(height[0] - slopes[0] * (at[0] - low), LOWEST * height[0])
    last = min(height[-1] + slopes[1] * (high - at[-1]), height[-1] * (1 + high) / (1 + at[-1]))
    inside = (at > low) & (at < high)
    return np.concatenate([[low], at[inside], [high]]), np.concatenate([[first], height[inside], [last]])


def _isotonic(height: Floats, count: Ints) -> Floats:
    """Pool neighbours that fall until none does."""
    pools: list[tuple[float, int, int]] = []
    for value, weight in zip(height.tolist(), count.tolist(), strict=True):
        pools.append((value, weight, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (v1, w1, n1), (v2, w2, n2) = pools[-2:]
            pools[-2:] = [((v1 * w1 + v2 * w2) / (w1 + w2), w1 + w2, n1 + n2)]
    return np.repeat([value for value, _, _ in pools], [n for _, _, n in pools])


def _rank_r2(fitted: Floats, time: Floats) -> float:
    """Return the squared correlation of the ranks of at most RANKED rows, evenly chosen by fitted time."""
    order = np.lexsort((time, fitted))[:: -(-fitted.size // RANKED)]
    ranks = [np.unique(x[order], return_inverse=True)[1].astype(np.float64) for x in (fitted, time)]
    if min(float(rank.std()) for rank in ranks) == 0:
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1] ** 2)
