"""What the requests themselves say: cache hits, preemptions, chunks, and each stage at equal work.

Ratios compare the hit engines' requests of the hit seconds with the same engines before, within classes of
work (model, uncached prompt tokens in half octaves for what is computed before the first token, mean batch
for what comes after), divided by the controls' ratio where there are controls.
"""

from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa

from otel_attrib.analytics.columns import Floats
from otel_attrib.analytics.evidence.board import Grid
from otel_attrib.analytics.evidence.equal_work import classes, equal_work
from otel_attrib.analytics.evidence.hit import Group, Hit
from otel_attrib.analytics.evidence.steps import column, hot_cells, numbers

__all__ = ["Work", "compare_work"]

PROMPT_STAGES = ("ingress", "tokenize", "queue", "kv_init", "prefill", "sample", "egress")
TOKEN_STAGES = ("decode_batch_wait", "decode_forward", "decode_sample", "decode_egress")
FIGURES = ("preemptions", "prefill_chunks", "batch_size_mean", "kv_usage_max", "waiting_max")
FEWEST = 20
CLASS_FEWEST = 5


@dataclass(frozen=True)
class Work:
    """Ratios of stage times at equal work (1 = unchanged) and mean figures, before and after.

    `before_us` and `after_us` are the mean stage times that the ratios were made of. `hit_rate` is the share
    of prompt tokens found in the prefix cache, before and after, at equal prompt lengths; None where it was
    not observed. `figures` are at equal uncached prompts. `demand` is the uncached prompt tokens asked for
    each output token, before and after.
    """

    ratios: dict[str, float] = field(default_factory=dict)
    before_us: dict[str, float] = field(default_factory=dict)
    after_us: dict[str, float] = field(default_factory=dict)
    figures: dict[str, tuple[float, float]] = field(default_factory=dict)
    hit_rate: tuple[float, float] | None = None
    demand: tuple[float, float] = (1.0, 1.0)

    @property
    def services(self) -> float:
        """Return by how much prefill and KV together grew, relative; 0 where they are unknown."""
        names = [name for name in ("prefill", "kv_init") if name in self.before_us]
        before = sum(self.before_us[name] for name in names)
        grown = sum(self.before_us[name] * (self.ratios[name] - 1) for name in names)
        return grown / before if before else 0.0

    def change(self, figure: str) -> float:
        """Return after minus before of a figure; 0 where it was not observed."""
        before, after = self.figures.get(figure, (0.0, 0.0))
        return after - before


def compare_work(baseline: pa.Table, current: pa.Table, hit: Hit, grid: Grid) -> Work:
    """Compare the requests of the hit engines in the hit seconds with those before."""
    if not (baseline.num_rows and current.num_rows):
        return Work()
    hot = hot_cells(hit, "after").tolist()
    frames = _frame(baseline), _frame(current)
    old, new = _of_groups(frames, hit.groups)
    own = old, new.filter(_cell(new, grid).is_in(hot))
    if min(side.height for side in own) < FEWEST:
        return Work()
    ratios = _ratios(own)
    if hit.controls:
        beside = _of_groups(frames, hit.controls)
        theirs = _ratios((beside[0], beside[1].filter(_cell(beside[1], grid).is_in(hot))))
    else:
        theirs = {}
    return Work(
        ratios={name: after / before / _ratio(theirs.get(name)) for name, (before, after) in ratios.items()},
        before_us={name: before for name, (before, _) in ratios.items()},
        after_us={name: after for name, (_, after) in ratios.items()},
        figures=_figures(own),
        hit_rate=_hit_rate(own),
        demand=(_demand(own[0]), _demand(own[1])),
    )


def _ratio(pair: tuple[float, float] | None) -> float:
    return pair[1] / pair[0] if pair else 1.0


def _cell(frame: pl.DataFrame, grid: Grid) -> pl.Series:
    return (frame["time_us"] - grid.start_us) // grid.cell_us


def _frame(table: pa.Table) -> pl.DataFrame:
    """Return what is compared of the requests, with the name of their engine."""
    names = [f"{stage}_us" for stage in (*PROMPT_STAGES, *TOKEN_STAGES)]
    names += ["prompt_tokens", "cached_tokens", "output_tokens", *FIGURES]
    columns = {name: column(table, name, pl.Float64) for name in names if name in table.column_names}
    words = [
        column(table, name, pl.String) if name in table.column_names else pl.Series([""] * table.num_rows)
        for name in ("node", "replica", "model")
    ]
    return pl.DataFrame(
        {
            "time_us": column(table, "time", pl.Int64),
            **columns,
            "engine": words[0] + "\t" + words[1],
            "model": words[2],
        }
    )


def _of_groups(
    frames: tuple[pl.DataFrame, pl.DataFrame], groups: tuple[Group, ...]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    wanted = sorted({f"{group.node}\t{group.replica}" for group in groups})
    old, new = (frame.filter(pl.col("engine").is_in(wanted)) for frame in frames)
    return old, new


def _ratios(pair: tuple[pl.DataFrame, pl.DataFrame]) -> dict[str, tuple[float, float]]:
    """Return mean stage times before and after at equal work, in µs, where both are above nought."""
    models = sorted(set(pair[0]["model"].unique()) | set(pair[1]["model"].unique()))
    out: dict[str, tuple[float, float]] = {}
    for stages, size in ((PROMPT_STAGES, _uncached), (TOKEN_STAGES, _batch)):
        names = [f"{stage}_us" for stage in stages if f"{stage}_us" in pair[0].columns]
        keys = [classes(_code(frame["model"], models), size(frame)) for frame in pair]
        columns = [{name: numbers(frame, name) for name in names} for frame in pair]
        found = equal_work((keys[0], keys[1]), (columns[0], columns[1]), CLASS_FEWEST, FEWEST)
        out |= {name.removesuffix("_us"): both for name, both in found.items() if min(both) > 0}
    return out


def _code(words: pl.Series, known: list[str]) -> Floats:
    return np.searchsorted(np.asarray(known), words.to_numpy().astype(np.str_)).astype(np.float64)


def _uncached(frame: pl.DataFrame) -> Floats:
    if "prompt_tokens" not in frame.columns:
        return np.ones(frame.height)
    cached = np.nan_to_num(numbers(frame, "cached_tokens")) if "cached_tokens" in frame.columns else 0.0
    return np.maximum(numbers(frame, "prompt_tokens") - cached, 1.0)


def _batch(frame: pl.DataFrame) -> Floats:
    return numbers(frame, "batch_size_mean") if "batch_size_mean" in frame.columns else np.ones(frame.height)


def _figures(pair: tuple[pl.DataFrame, pl.DataFrame]) -> dict[str, tuple[float, float]]:
    """Return mean figures before and after, of requests of the same uncached prompt."""
    names = [name for name in FIGURES if name in pair[0].columns]
    keys = [classes(_uncached(frame)) for frame in pair]
    columns = [{name: numbers(frame, name) for name in names} for frame in pair]
    return equal_work((keys[0], keys[1]), (columns[0], columns[1]), CLASS_FEWEST, FEWEST)


def _hit_rate(pair: tuple[pl.DataFrame, pl.DataFrame]) -> tuple[float, float] | None:
    """Return the cached share of the tokens, before and after, of prompts of the same length."""
    names = ("prompt_tokens", "cached_tokens")
    if any(name not in pair[0].columns for name in names):
        return None
    known = [frame.drop_nulls("cached_tokens") for frame in pair]
    keys = [classes(numbers(frame, "prompt_tokens")) for frame in known]
    columns = [{name: numbers(frame, name) for name in names} for frame in known]
    found = equal_work((keys[0], keys[1]), (columns[0], columns[1]), CLASS_FEWEST, FEWEST)
    if len(found) < 2 or not found["prompt_tokens"][0]:
        return None
    before, after = (cached / whole for cached, whole in zip(found[names[1]], found[names[0]], strict=True))
    return before, after


def _demand(frame: pl.DataFrame) -> float:
    """Return uncached prompt tokens asked for each output token."""
    output = numbers(frame, "output_tokens") if "output_tokens" in frame.columns else np.zeros(1)
    return float(_uncached(frame).sum() / max(1.0, np.nan_to_num(output).sum()))
