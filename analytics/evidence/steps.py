"""The engine's own steps, before and after, at equal work.

A step that computes more tokens takes longer, and that is no fault: steps are compared within classes of
their prompt and output tokens (half octaves), and classes are weighted as the current steps are. Steps of
the hit engines in the hit seconds are set against the same engines before and, where there are controls,
against the controls' change.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from otel_attrib.analytics.columns import Floats
from otel_attrib.analytics.evidence.board import Grid
from otel_attrib.analytics.evidence.equal_work import classes, equal_work
from otel_attrib.analytics.evidence.hit import Group, Hit

__all__ = ["LEVELS", "TIMES", "StepChange", "column", "compare_steps", "hot_cells", "numbers"]

TIMES = ("duration_us", "schedule_us", "forward_us", "sample_us", "collective_us", "copy_us", "output_us")
LEVELS = ("batch_size", "waiting", "running", "preemptions", "kv_usage", "prefill_tokens", "decode_tokens")
FEWEST = 20
CLASS_FEWEST = 3


@dataclass(frozen=True, slots=True)
class StepChange:
    """One column of the steps: mean before and after (µs, or the column's unit), and the controls' change."""

    before: float
    after: float
    peers: float | None

    @property
    def change(self) -> float:
        """Return the difference in differences."""
        return self.after - self.before - (self.peers or 0.0)

    @property
    def relative(self) -> float:
        """Return the change over the mean before."""
        return self.change / self.before if self.before else 0.0


def hot_cells(hit: Hit, which: str) -> np.ndarray:
    """Return the cells in which at least a quarter of the densest cell's tail lay."""
    when = (hit.after if which == "after" else hit.before).sum(axis=0)
    return np.flatnonzero(when >= 0.25 * when.max(initial=0.0))


def compare_steps(
    baseline: pa.Table, current: pa.Table, hit: Hit, grid: Grid
) -> dict[tuple[str, str], StepChange]:
    """Return changes by (kind, column): kind `prefill`, `decode` or `any`; times at equal work.

    Columns that were not observed on both sides are left out. Levels come as kind `any`.
    """
    if not (baseline.num_rows and current.num_rows):
        return {}
    hot = hot_cells(hit, "after")
    frames = _frame(baseline), _frame(current)
    own = _pair(frames, hit.groups, hot, grid)
    peers = _pair(frames, hit.controls, hot, grid) if hit.controls else None
    out: dict[tuple[str, str], StepChange] = {}
    for kind in ("prefill", "decode"):
        mine = _at_equal_work(own, kind)
        theirs = _at_equal_work(peers, kind) if peers is not None else {}
        for column, (before, after) in mine.items():
            change = theirs[column][1] - theirs[column][0] if column in theirs else None
            out[kind, column] = StepChange(before, after, change)
    for column, (before, after) in _levels(own).items():
        out["any", column] = StepChange(before, after, None)
    return out


def _pair(
    frames: tuple[pl.DataFrame, pl.DataFrame], groups: tuple[Group, ...], hot: np.ndarray, grid: Grid
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the steps of these engines, the current ones of the hot cells alone, in the order of time."""
    wanted = sorted({f"{group.node}\t{group.replica}" for group in groups})
    old, new = (frame.filter(pl.col("engine").is_in(wanted)) for frame in frames)
    cell = (new["time_us"] - grid.start_us) // grid.cell_us
    return old, new.filter(cell.is_in(hot.tolist()))


def column(table: pa.Table, name: str, dtype: type[pl.DataType]) -> pl.Series:
    """Return one column as a polars series of `dtype`."""
    found = pl.from_arrow(table[name])
    assert isinstance(found, pl.Series)
    return found.cast(dtype)


def numbers(frame: pl.DataFrame, name: str) -> Floats:
    """Return one column as numbers, NaN where it was not observed."""
    found: Floats = frame[name].to_numpy().astype(np.float64)
    return found


def _frame(table: pa.Table) -> pl.DataFrame:
    """Return the steps with the name of their engine."""
    names = dict.fromkeys((*TIMES, *LEVELS))
    columns = {name: column(table, name, pl.Float64) for name in names if name in table.column_names}
    return pl.DataFrame(
        {
            "time_us": column(table, "time", pl.Int64),
            **columns,
            "engine": column(table, "node", pl.String) + "\t" + column(table, "replica", pl.String),
        }
    )


def _at_equal_work(pair: tuple[pl.DataFrame, pl.DataFrame], kind: str) -> dict[str, tuple[float, float]]:
    """Return mean times before and after of steps with (or without) prompt tokens."""
    kept = [
        frame.filter((pl.col("prefill_tokens").fill_null(0.0) > 0) == (kind == "prefill")) for frame in pair
    ]
    keys = [classes(numbers(frame, "prefill_tokens"), numbers(frame, "decode_tokens")) for frame in kept]
    names = [name for name in TIMES if name in pair[0].columns]
    columns = [{name: numbers(frame, name) for name in names} for frame in kept]
    return equal_work((keys[0], keys[1]), (columns[0], columns[1]), CLASS_FEWEST, FEWEST)


def _levels(pair: tuple[pl.DataFrame, pl.DataFrame]) -> dict[str, tuple[float, float]]:
    out: dict[str, tuple[float, float]] = {}
    for name in LEVELS:
        if name in pair[0].columns and min(frame.height for frame in pair) >= FEWEST:
            before, after = (frame[name].mean() for frame in pair)
            if isinstance(before, float) and isinstance(after, float):
                out[name] = before, after
    return out
