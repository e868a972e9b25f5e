"""RIF regression: Oaxaca–Blinder on the recentred influence function of the quantile.

Firpo, Fortin and Lemieux (2009), "Unconditional quantile regressions", Econometrica 77, 953–973;
decomposition as in their 2018 paper, Econometrics 6(2), 28. RIF = q + (τ − 1{T ≤ q}) / f(q) is regressed on
the stages and the logarithms of prompt and output tokens; a stage's line is the change of mean × coefficient.
"""

import numpy as np

from benchmarks.attribution.peers.answer import Answer
from benchmarks.attribution.peers.stage_answer import name_largest
from otel_attrib.analytics.columns import Floats, Rows
from otel_attrib.analytics.period import Period

__all__ = ["answer"]


def _rif(values: Floats, level: float) -> Floats:
    """Return the recentred influence function; density by a Gaussian kernel with Silverman's width."""
    q = float(np.quantile(values, level))
    spread = min(values.std(), (np.quantile(values, 0.75) - np.quantile(values, 0.25)) / 1.34)
    width = 0.9 * max(float(spread), 1e-9) * values.size**-0.2
    density = float(np.exp(-0.5 * ((values - q) / width) ** 2).mean() / (width * np.sqrt(2 * np.pi)))
    return np.asarray(q + (level - (values <= q)) / max(density, 1e-12), dtype=np.float64)


def _lines(rows: Rows, level: float) -> Floats:
    """Return mean × coefficient of each covariate: K stages, prompt, output, intercept."""
    work = np.log1p(np.column_stack([rows.prompt, rows.output]))
    design = np.column_stack([rows.parts, work, np.ones(rows.n)])
    scale = np.abs(design).max(axis=0)
    scale[scale == 0] = 1.0
    coefficients, *_ = np.linalg.lstsq(design / scale, _rif(rows.values, level), rcond=None)
    lines: Floats = (design / scale).mean(axis=0) * coefficients
    return lines


def answer(baseline: Period, current: Period, level: float) -> Answer:
    """Name the layer of the stage with the largest line."""
    change = _lines(current.rows, level) - _lines(baseline.rows, level)
    names = current.rows.names
    stages = dict(zip(names, change[: len(names)].tolist(), strict=True))
    workload = float(change[len(names) : -1].sum())
    return name_largest(stages, float(change.sum()), workload)
