"""A condition in SQL that no row fails whose repaired total reaches a floor.

A stage put back to the baseline takes y = x + f·m(x/f), where m is the map's move over residuals, straight
between knots. With m(r) ≤ α·r + β everywhere, the repaired total is at most the total plus Σ (α·x + β·f).
A fault makes moves negative, so that most maps need nothing (α = β = 0). f, the stage's time for the size
of its work, grows with the tokens: it is taken at the upper end of a bin of token counts.
"""

from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.change.decompose import Change
from otel_attrib.analytics.change.repair import Repair
from otel_attrib.analytics.change.sizes import Sizes, tokens_of
from otel_attrib.analytics.columns import Floats, Rows
from otel_attrib.analytics.metric import Metric

__all__ = ["Majorant", "majorant_of"]

BINS = 32
ROUND = 1e-9


@dataclass(frozen=True)
class Majorant:
    """What repair may add to a total, in µs: `sql` with bound `parameters`; `ms` is (n,) of the sample."""

    sql: str
    parameters: dict[str, list[float] | float]
    ms: Floats


def majorant_of(change: Change, metric: Metric, current: Rows) -> Majorant:
    """Bound what the change's maps can add to a row; `current` is the sample that they were fitted on."""
    pieces: list[str] = []
    parameters: dict[str, list[float] | float] = {}
    added = np.zeros(current.n)
    for k in range(len(current.names)):
        # Parts of the rows that were hit unevenly have maps of their own: the bound is over all of them.
        bounds = [
            _above(repair) for stage in change.back.stages if stage.column == k for repair in stage.maps
        ]
        slope, height = (max((bound[i] for bound in bounds), default=0.0) for i in (0, 1))
        if slope == 0 and height == 0:
            continue
        name = current.names[k]
        pieces.append(f"{{slope_{k}:Float64}} * {_column(metric, current, name)}")
        parameters[f"slope_{k}"] = slope
        added += slope * current.parts[:, k]
        if height > 0:
            sizes = height * _longest(change.back.sizes, k)
            tokens = _tokens(current, name)
            pieces.append(f"{{sizes_{k}:Array(Float64)}}[{_bin_sql(tokens)}]")
            parameters[f"sizes_{k}"] = (sizes * 1000).tolist()
            added += sizes[_bins(getattr(current, tokens)) if tokens else 0]
    return Majorant(" + ".join(pieces) or "0", parameters, added)


def _above(repair: Repair) -> tuple[float, float]:
    """Return α ≥ 0 and β ≥ 0 with m(r) ≤ α·r + β for all r; both have their corners at the knots."""
    if repair.kind == "nothing":
        return 0.0, 0.0
    at, move = repair.at, repair.move
    middle = float(np.median(at))
    far = (at >= middle) & (at > 0)
    slope = max(0.0, float((move[far] / at[far]).max(initial=0.0)))
    height = max(0.0, float((move - slope * at).max(initial=0.0)))
    for value, _, high in repair.atoms:
        height = max(height, float(repair.target.at(np.array([high]))[0]) - (1 + slope) * value)
    return slope * (1 + ROUND), height * (1 + ROUND)


def _column(metric: Metric, rows: Rows, name: str) -> str:
    """Return SQL for a stage in µs; `outside` is what is left by the stages that these rows keep apart."""
    seen = {stage for k, stage in enumerate(rows.names) if rows.observed[:, k].any()}
    parts = {stage: f"toFloat64(ifNull({sql}, 0))" for stage, sql in metric.parts if stage in seen}
    rest = " - ".join([f"assumeNotNull({metric.value})", *parts.values()])
    return parts.get(name, f"greatest(0, {rest})")


def _tokens(rows: Rows, name: str) -> str:
    """Return which tokens a stage works on: `prompt`, `output`, or none that is known."""
    tokens = tokens_of(rows, name)
    return "" if tokens is None else "prompt" if tokens is rows.prompt else "output"


def _bin_sql(tokens: str) -> str:
    return f"1 + least({BINS - 1}, toUInt8(ceil(log2({tokens}_tokens + 1))))" if tokens else "1"


def _bins(tokens: Floats) -> np.ndarray:
    bins: np.ndarray = np.minimum(BINS - 1, np.ceil(np.log2(tokens + 1)).astype(np.int64))
    return bins


def _longest(sizes: Sizes, stage: int) -> Floats:
    """Return (BINS,) ms: the longest that any model takes for the most tokens of a bin."""
    tokens = np.log1p(2.0 ** np.arange(BINS))
    longest: Floats = np.max([curves[stage](tokens) for curves in sizes.curves.values()], axis=0)
    return longest
