"""All that the evidence of one change is read from, computed once: what signals are functions of."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from otel_attrib.analytics.books import Books
from otel_attrib.analytics.columns import Flags, Rows
from otel_attrib.analytics.evidence.board import grid_of, read_boards
from otel_attrib.analytics.evidence.contrast import Contrast, contrast_all
from otel_attrib.analytics.evidence.hit import Hit, find_hit
from otel_attrib.analytics.evidence.steps import StepChange, compare_steps
from otel_attrib.analytics.evidence.work import Work, compare_work
from otel_attrib.analytics.intervals import Estimate
from otel_attrib.analytics.period import Period

__all__ = ["View", "canonical", "look", "mirrored"]

CONFIG_MARKS = ("deploy", "config", "configuration", "version")


@dataclass(frozen=True)
class View:
    """What is known of one change.

    `stages` are φ_k in ms under canonical names (`decode_forward`, never TPOT's `forward`), positive where
    the stage made it slower; `share` each one's part of their positive sum. `focus[dim]` is 0…1: how far the
    slow rows of now crowd on one value of a dimension, and `focus_on[dim]` names it. `late` is the share of
    slow rows outside the first minute after a deploy; `marks` what was changed, in words.
    """

    stages: Mapping[str, float]
    certain: Mapping[str, float]
    share: Mapping[str, float]
    contrasts: Mapping[str, Contrast]
    steps: Mapping[tuple[str, str], StepChange]
    work: Work
    hit: Hit
    focus: Mapping[str, float]
    focus_on: Mapping[str, str]
    marks: tuple[str, ...]
    start_up: float
    replay_valid: bool | None
    refused: Mapping[str, int] = field(default_factory=dict)
    clock_uncertainty_us: float | None = None

    @property
    def over_pcie(self) -> bool:
        """Return whether the engine's cards talk over PCIe: several of them, and no NVLink on any."""
        links = self.contrasts.get("nvlink_links")
        known = links.after if links is not None else 0.0
        seen = "pcie_receive" in self.contrasts or "pcie_width" in self.contrasts
        return self.hit.ranks > 1 and not known and seen and "nvlink_crc" not in self.contrasts

    @property
    def slower(self) -> float | None:
        """Return by how much steps of the hit engines are longer at equal work, None without steps."""
        found = [change.relative for (_, column), change in self.steps.items() if column == "duration_us"]
        return max(found, default=None)

    def of(self, *stages: str) -> float:
        """Return the share of the change that lies in these stages."""
        return sum(self.share.get(stage, 0.0) for stage in stages)


def canonical(metric_name: str, stage: str) -> str:
    """Return one name for a stage whatever the metric: TPOT's `forward` is `decode_forward`."""
    if metric_name in ("tpot", "tbt"):
        return "gap" if stage == "outside" else f"decode_{stage}"
    return stage


def look(books: Books, baseline: Period, current: Period, hit: Flags | None, level: float) -> View:
    """Read everything once. For a change for the better, pass the periods swapped and the books negated."""
    grids = grid_of(baseline.window), grid_of(current.window)
    known = hit is not None and hit.size == current.rows.n and hit.any() and not hit.all()
    flags = hit if known else None
    found = find_hit(baseline.rows, current.rows, flags, grids, level)
    before, after = read_boards((baseline.samples, baseline.window), (current.samples, current.window))
    boards = before, after
    stages = {canonical(books.metric_name, name): e.value for name, e in books.stages.items()}
    certain = {
        canonical(books.metric_name, name): max(0.0, 2 * e.probability_above(0.0) - 1)
        for name, e in books.stages.items()
    }
    rises = {name: max(0.0, ms) for name, ms in stages.items()}
    total = sum(rises.values())
    slow = _slow(baseline.rows, current.rows)
    focus = {
        dim: _focus(current.rows, dim, slow) for dim in ("node", "gpu_set", "tenant", "version", "model")
    }
    return View(
        stages=stages,
        certain=certain,
        share={name: ms / total if total else 0.0 for name, ms in rises.items()},
        contrasts=contrast_all(*boards, found),
        steps=compare_steps(baseline.steps, current.steps, found, grids[1]),
        work=compare_work(baseline.requests, current.requests, found, grids[1]),
        hit=found,
        focus={dim: crowd for dim, (crowd, _) in focus.items()},
        focus_on={dim: name for dim, (_, name) in focus.items()},
        marks=_marks(current.marks),
        start_up=_start_up(baseline.rows, current, slow),
        replay_valid=books.replay_valid,
        refused={
            key: sum(board.refused.get(key, 0) for board in boards)
            for key in sorted(boards[0].refused.keys() | boards[1].refused.keys())
        },
        clock_uncertainty_us=max(
            (board.uncertainty_us for board in boards if board.uncertainty_us is not None), default=None
        ),
    )


def _slow(baseline: Rows, current: Rows) -> Flags:
    """Return (n_B,) which current rows are above the baseline's P95."""
    if not (baseline.n and current.n):
        return np.zeros(current.n, dtype=np.bool_)
    slow: Flags = current.values > np.quantile(baseline.values, 0.95)
    return slow


def _focus(rows: Rows, dim: str, slow: Flags) -> tuple[float, str]:
    """Return how much more of the excess than of the traffic one value of `dim` has (0…1), and its name."""
    column = rows.dims.get(dim)
    if column is None or len(column.labels) < 2 or not slow.any():
        return 0.0, ""
    counts = np.bincount(column.codes, minlength=len(column.labels)).astype(np.float64)
    excess = np.maximum(np.bincount(column.codes, slow, len(column.labels)) - 0.05 * counts, 0.0)
    if not excess.sum():
        return 0.0, ""
    traffic = counts / counts.sum()
    best = int(np.argmax(excess / excess.sum() - traffic))
    if traffic[best] >= 1.0:
        return 0.0, ""
    return float((excess[best] / excess.sum() - traffic[best]) / (1 - traffic[best])), column.labels[best]


def _marks(marks: pa.Table) -> tuple[str, ...]:
    """Return what was deployed or configured in the window, in order."""
    if not marks.num_rows:
        return ()
    rows = marks.sort_by([("time", "ascending")]).to_pylist()
    return tuple(f"{row['kind']} {row['name']}" for row in rows if row["kind"] in CONFIG_MARKS)


def _start_up(baseline: Rows, current: Period, slow: Flags) -> float:
    """Return how far the slow rows crowd in the first minute after a version or a deploy appeared (0…1)."""
    rows = current.rows
    if not slow.any():
        return 0.0
    starts = _starts(baseline, current)
    after = np.zeros(rows.n, dtype=np.bool_)
    for start in starts:
        after |= (rows.time_us >= start) & (rows.time_us < start + 60_000_000)
    if not after.any() or after.all():
        return 0.0
    return float(max(0.0, (slow[after].sum() / slow.sum() - after.mean()) / (1 - after.mean())))


def _starts(baseline: Rows, current: Period) -> list[int]:
    rows = current.rows
    starts: list[int] = []
    column, old = rows.dims.get("version"), baseline.dims.get("version")
    if column is not None and old is not None:
        seen = {old.labels[code] for code in np.flatnonzero(np.bincount(old.codes))}
        for code, label in enumerate(column.labels):
            mine = rows.time_us[column.codes == code]
            if label not in seen and mine.size:
                starts.append(int(mine.min()))
    if current.marks.num_rows:
        times = pc.cast(current.marks["time"], pa.int64()).to_pylist()
        starts += [
            time
            for time, kind in zip(times, current.marks["kind"].to_pylist(), strict=True)
            if kind in CONFIG_MARKS
        ]
    return sorted(starts)


def mirrored(books: Books) -> Books:
    """Return the books of the same change looked at backwards, for a change for the better."""

    def turned(estimate: Estimate) -> Estimate:
        return replace(estimate, value=-estimate.value)

    return replace(
        books,
        delta=turned(books.delta),
        stages={name: turned(estimate) for name, estimate in books.stages.items()},
        workload=turned(books.workload),
        load=turned(books.load),
        unexplained=turned(books.unexplained),
    )
