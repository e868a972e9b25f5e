"""How long a stage takes at baseline for a size of work: f_k(z), by model.

The work is what came in (model, prompt and output tokens), never what the server made of it (cached
tokens, batch, node): those carry faults. f is monotone: medians of bins of equal count, made isotonic
(pool adjacent violators), joined by straight lines over log(1 + tokens), and flat beyond the ends.

A model with under 20 baseline rows is read off all models together. A stage that its size does not
explain gets a constant. R² is of ranks: the share of the variance of a stage's ranks that the ranks of
f_k explain.

Source of the isotonic fit: Barlow et al. (1972), Statistical Inference under Order Restrictions.
"""

from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.columns import Floats, Ints, Rows

__all__ = ["LEAST_ROWS", "Sizes", "fit_sizes", "tokens_of"]

LEAST_ROWS = 20
BINS = 24
LEAST_R2 = 0.02
PROMPT_STAGES = frozenset({"ingress", "tokenize", "kv_init", "prefill"})
"""Stages of a first token that work on the prompt."""


@dataclass(frozen=True)
class Sizes:
    """(n, K) ms at baseline for each row's work, and R² by model and stage."""

    baseline: Floats
    current: Floats
    fit: dict[str, dict[str, float]]


def tokens_of(rows: Rows, stage: str) -> Floats | None:
    """Return the (n,) tokens that a stage works on, or nothing where no size is known to matter."""
    if stage in PROMPT_STAGES:
        return rows.prompt
    return rows.output if stage.startswith("decode_") else None


def fit_sizes(baseline: Rows, current: Rows) -> Sizes:
    """Fit every model and stage on the baseline and read the sizes of both windows' rows off the fit."""
    expected = [np.ones_like(baseline.parts), np.ones_like(current.parts)]
    models = _models(baseline), _models(current)
    fit: dict[str, dict[str, float]] = {}
    for model in sorted(set(models[0]) | set(models[1])):
        mine = [words == model for words in models]
        source = mine[0] if int(mine[0].sum()) >= LEAST_ROWS else np.ones(baseline.n, dtype=np.bool_)
        fit[model] = {}
        for k, stage in enumerate(baseline.names):
            sizes = [_log_tokens(rows, stage) for rows in (baseline, current)]
            curve = _curve(sizes[0][source], baseline.parts[source, k])
            fit[model][stage] = curve.r2
            for side in (0, 1):
                expected[side][mine[side], k] = curve(sizes[side][mine[side]])
    return Sizes(expected[0], expected[1], fit)


def _log_tokens(rows: Rows, stage: str) -> Floats:
    tokens = tokens_of(rows, stage)
    return np.zeros(rows.n) if tokens is None else np.log1p(tokens)


def _models(rows: Rows) -> np.ndarray:
    return rows.dims["model"].words() if "model" in rows.dims else np.full(rows.n, "")


@dataclass(frozen=True)
class Curve:
    """Straight lines through (log tokens, ms)."""

    at: Floats
    height: Floats
    r2: float

    def __call__(self, size: Floats) -> Floats:
        """Return ms for (n,) log(1 + tokens)."""
        return np.interp(size, self.at, self.height)


def _curve(size: Floats, time: Floats) -> Curve:
    level = float(np.median(time)) or float(time.mean()) if time.size else 0.0
    flat = Curve(np.zeros(1), np.full(1, level if level > 0 else 1.0), 0.0)
    if time.size < LEAST_ROWS or size.min() == size.max() or time.min() == time.max():
        return flat
    at, height, count = _bins(size, time)
    height = np.maximum(_isotonic(height, count), 1e-3 * flat.height[0])
    curve = Curve(at, height, 0.0)
    r2 = _rank_r2(curve(size), time)
    return Curve(at, height, r2) if r2 >= LEAST_R2 and height[-1] > height[0] else flat


def _bins(size: Floats, time: Floats) -> tuple[Floats, Floats, Ints]:
    """Return the mean size, median time and count of bins of about equal count."""
    bins = max(1, min(BINS, size.size // LEAST_ROWS))
    order = np.lexsort((time, size))
    edges = np.unique(np.searchsorted(size[order], size[order][np.arange(bins) * size.size // bins]))
    stops = np.append(edges[1:], size.size)
    at = np.array([size[order[a:b]].mean() for a, b in zip(edges, stops, strict=True)])
    height = np.array([np.median(time[order[a:b]]) for a, b in zip(edges, stops, strict=True)])
    return at, height, stops - edges


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
    ranks = [np.unique(x, return_inverse=True)[1].astype(np.float64) for x in (fitted, time)]
    if min(float(r.std()) for r in ranks) == 0:
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1] ** 2)
