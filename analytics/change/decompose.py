"""Why a quantile changed, in ms that add up: stages, workload, and what neither explains.

delta = Σ stages + workload + unexplained, to rounding, where with A the baseline and B the current window

- y are B's rows with each stage put back to the baseline's level for the same size of work (`repair`);
- stages are the path from q(y) to q(B) (`path`): what a stage's own times changed, whoever was hit;
- workload is q(A weighted like B's work) − q(A) (`mix`);
- unexplained is q(y) − q(A weighted): stages that are slow together more or less often, work that the
  baseline has not seen, and the noise of both windows.

Every line has the variance of the delete-block jackknife of both windows.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics import harrell_davis
from otel_attrib.analytics.change.mix import cells_of, weigh, weighted_quantile
from otel_attrib.analytics.change.path import Path, reach, walk
from otel_attrib.analytics.change.repair import fit_repair, lots
from otel_attrib.analytics.change.sizes import Sizes, fit_sizes
from otel_attrib.analytics.columns import Flags, Floats, Ints, Rows
from otel_attrib.analytics.intervals import Estimate, difference, jackknife

__all__ = ["Change", "decompose"]

OBSERVED_APART = 0.02  # of the rows: a stage whose share differs by more cannot be compared


@dataclass(frozen=True)
class Change:
    """The books of one change of a quantile, in ms.

    `stages` are what each stage's own times added, `outside` among them. `repaired` is (n_B, K): the
    current rows with every stage as at baseline; `expected` (n_B, K): the baseline's time for that work.
    `fit` is the rank R² of the sizes by model and stage. `tail_accounting` is what is in the tail, current
    minus baseline: it adds up too and is no cause. `certificate`: no row that was left out could matter.
    """

    before: Estimate
    after: Estimate
    delta: Estimate
    stages: dict[str, Estimate]
    workload: Estimate
    unexplained: Estimate
    repaired: Floats
    expected: Floats
    fit: dict[str, dict[str, float]]
    tail_accounting: dict[str, Estimate]
    new_workload_share: float
    certificate: bool
    sum_error_ms: float


def decompose(
    baseline: Rows,
    current: Rows,
    level: float,
    blocks_a: Ints,
    blocks_b: Ints,
    displayed: tuple[float, float] | None = None,
) -> Change:
    """Split the change of the quantile at `level` from the baseline to the current window.

    `blocks_a`, `blocks_b` are (n,) block numbers from 0 for the jackknife. `displayed` are the numbers
    shown for both windows, when others than the Harrell–Davis quantiles of the rows at hand.
    """
    baseline, current = _same_stages(baseline, current)
    sizes = fit_sizes(baseline, current)
    repaired = _repair(baseline, current, sizes)
    books = _Books(baseline, current, repaired, cells_of(baseline, current), level, displayed)
    path, whole = books.lines(None, None)
    estimates = _estimates(books, whole, _by_cluster(baseline, blocks_a), _by_cluster(current, blocks_b))
    k = len(current.names)
    before, after, workload, unexplained = estimates[:4]
    delta = difference(after, before)
    stages = dict(zip(current.names, estimates[4 : 4 + k], strict=True))
    total = sum(e.value for e in stages.values()) + workload.value + unexplained.value
    return Change(
        before=before,
        after=after,
        delta=delta,
        stages=stages,
        workload=workload,
        unexplained=unexplained,
        repaired=repaired,
        expected=sizes.current,
        fit=sizes.fit,
        tail_accounting=dict(zip(current.names, estimates[4 + k :], strict=True)),
        new_workload_share=books.mix.new_share,
        certificate=path.certified,
        sum_error_ms=abs(total - delta.value),
    )


def _same_stages(baseline: Rows, current: Rows) -> tuple[Rows, Rows]:
    """Count a stage that only one window has observed into `outside` of both."""
    if baseline.names != current.names:
        raise ValueError("rows of different metrics cannot be compared")
    if not baseline.n or not current.n:
        raise ValueError("a window without rows has no quantile")
    seen = [rows.observed.mean(axis=0) for rows in (baseline, current)]
    apart = np.abs(seen[0] - seen[1]) > OBSERVED_APART
    names = [name for name, fold in zip(baseline.names[:-1], apart[:-1], strict=True) if fold]
    return (baseline.fold(names), current.fold(names)) if names else (baseline, current)


def _repair(baseline: Rows, current: Rows, sizes: Sizes) -> Floats:
    lot = lots(current.time_us, current.prompt, current.output)
    repaired = current.parts.copy()
    for k in range(len(current.names)):
        repair = fit_repair(
            baseline.parts[:, k] / sizes.baseline[:, k], current.parts[:, k] / sizes.current[:, k]
        )
        if repair.changed:
            residual = current.parts[:, k] / sizes.current[:, k]
            mapped = repair(residual, lot)
            repaired[:, k] = np.where(mapped == residual, current.parts[:, k], mapped * sizes.current[:, k])
    return repaired


class _Books:
    """All lines of the books from all rows, or from those outside one block of either window."""

    def __init__(
        self,
        baseline: Rows,
        current: Rows,
        repaired: Floats,
        cells: tuple[Ints, Ints],
        level: float,
        displayed: tuple[float, float] | None,
    ) -> None:
        self.level, self.cells, self.mix = level, cells, weigh(*cells)
        self.order = np.argsort(baseline.values, kind="stable")
        self.ordered, self.parts_a = baseline.values[self.order], baseline.parts[self.order]
        self.x, self.y = current.parts, repaired
        self.totals = repaired.sum(axis=1), current.parts.sum(axis=1)
        self.shifts = (0.0, 0.0)
        if displayed is not None:
            self.shifts = (
                displayed[0] - harrell_davis.quantile(self.ordered, level),
                displayed[1] - harrell_davis.quantile(current.values, level),
            )

    def lines(self, keep_a: Flags | None, keep_b: Flags | None) -> tuple[Path, Floats]:
        """Return before, after, workload, unexplained, the stages and the tail accounting."""
        cells_a = self.cells[0] if keep_a is None else self.cells[0][keep_a]
        cells_b = self.cells[1] if keep_b is None else self.cells[1][keep_b]
        kept = slice(None) if keep_a is None else keep_a[self.order]
        ordered = self.ordered[kept]
        weights = np.ones(self.cells[0].size)
        weights[slice(None) if keep_a is None else keep_a] = weigh(cells_a, cells_b).weights
        plain = weighted_quantile(ordered, np.ones(ordered.size), self.level)
        mixed = weighted_quantile(ordered, weights[self.order][kept], self.level)
        kept_b = slice(None) if keep_b is None else keep_b
        path = self._path(kept_b)
        before = plain + self.shifts[0]
        tail = self._tail(self.x[kept_b], self.totals[1][kept_b]) - self._tail(self.parts_a[kept], ordered)
        return path, np.concatenate(
            [
                [before, path.after, mixed - plain, path.before - (mixed + self.shifts[0])],
                path.stages,
                tail,
            ]
        )

    def _path(self, kept: Flags | slice) -> Path:
        y, x = self.y[kept], self.x[kept]
        near = reach(self.totals[0][kept], self.totals[1][kept], self.level)
        return walk(y[near.rows], x[near.rows], self.level, near.below, near.above, self.shifts)

    def _tail(self, parts: Floats, totals: Floats) -> Floats:
        first, last = harrell_davis.rank_window(totals.size, self.level)
        order = np.argsort(totals, kind="stable")[first - 1 : last]
        return harrell_davis.weights(totals.size, self.level, first, last) @ parts[order]


def _by_cluster(rows: Rows, blocks: Ints) -> Ints:
    """Put every row into the block of its cluster's first row, numbered from 0."""
    _, first, cluster = np.unique(rows.cluster, return_index=True, return_inverse=True)
    return np.unique(blocks[first[cluster]], return_inverse=True)[1].astype(np.int64)


def _estimates(books: _Books, whole: Floats, blocks_a: Ints, blocks_b: Ints) -> list[Estimate]:
    a = jackknife(whole, *_without(blocks_a, lambda keep: books.lines(keep, None)[1]))
    b = jackknife(whole, *_without(blocks_b, lambda keep: books.lines(None, keep)[1]))
    pairs = zip(whole.tolist(), a, b, strict=True)
    return [Estimate(v, *_sum(first, second)) for v, first, second in pairs]


def _without(blocks: Ints, lines: Callable[[Flags], Floats]) -> tuple[Floats, Ints]:
    sizes = np.bincount(blocks)
    if sizes.size < 2:
        return np.zeros((1, 1)), sizes
    return np.array([lines(blocks != block) for block in range(sizes.size)]), sizes


def _sum(first: Estimate, second: Estimate) -> tuple[float, float]:
    both = difference(first, second)
    return both.variance, both.freedom
