"""Why a quantile changed, in ms that add up: stages, workload, and what neither explains.

delta = Σ stages + workload + unexplained, to rounding, where with A the baseline and B the current window

- y are B's rows with each stage put back to the baseline's level for the same size of work (`repair`);
- stages are the path from q(y) to q(B) (`path`): what a stage's own times changed, whoever was hit;
- workload is q(A weighted like B's work) − q(A) (`mix`);
- unexplained is q(y) − q(A weighted): stages that are slow together more or less often, work that the
  baseline has not seen, and the noise of both windows.

Every line has the variance of the delete-block jackknife of both windows: the rows and the maps' knots are
looked at again without each block; who was hit, the kind of each map and the sizes f_k are not. A stage in
which nothing was seen to change is given exactly 0, with no variance: what it may hide is in `unexplained`.
"""

from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics import harrell_davis
from otel_attrib.analytics.change.leave_out import Baseline, Current, baseline_side, current_side
from otel_attrib.analytics.change.mix import Cells, cells_of, ratios
from otel_attrib.analytics.change.path import Path
from otel_attrib.analytics.change.repaired import Restoration, restoration
from otel_attrib.analytics.change.sizes import fit_sizes
from otel_attrib.analytics.codes import distinct
from otel_attrib.analytics.columns import Floats, Ints, Rows
from otel_attrib.analytics.intervals import Estimate, difference, jackknife

__all__ = ["Change", "decompose", "repair_rows", "same_stages"]

OBSERVED_APART = 0.02  # of the rows: a stage whose share differs by more cannot be compared


@dataclass(frozen=True)
class Change:
    """The books of one change of a quantile, in ms.

    `stages` are what each stage's own times added, `outside` among them. `repaired` is (n_B, K): the
    current rows with every stage as at baseline; `expected` (n_B, K): the baseline's time for that work.
    `fit` is the rank R² of the sizes by model and stage. `hit` names what a stage was hit unevenly by.
    `back` made `repaired` and restores other rows of the window. `tail_accounting` is what is in the tail,
    current minus baseline: it adds up too and is no cause. `certificate`: no row that was left out could
    matter.
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
    hit: dict[str, str]
    tail_accounting: dict[str, Estimate]
    new_workload_share: float
    certificate: bool
    sum_error_ms: float
    back: Restoration


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
    baseline, current = same_stages(baseline, current)
    blocks = _by_cluster(baseline, blocks_a), _by_cluster(current, blocks_b)
    cells = cells_of(baseline, current)
    shifts = _shifts(baseline, current, level, displayed)
    before = baseline_side(baseline, cells, blocks, level, shifts[0])
    back = _back(baseline, current, cells, blocks)
    restored = back.restore(current)
    after = current_side(current, restored, back, blocks[1], level, shifts)
    path = after.path()
    estimates = _estimates(before, after, path)
    k = len(current.names)
    first, last, delta, workload, unexplained = estimates[:5]
    stages = dict(zip(current.names, estimates[5 : 5 + k], strict=True))
    total = sum(e.value for e in stages.values()) + workload.value + unexplained.value
    return Change(
        before=first,
        after=last,
        delta=delta,
        stages=stages,
        workload=workload,
        unexplained=unexplained,
        repaired=restored,
        expected=back.sizes.of(current),
        fit=back.sizes.fit,
        hit=back.hit,
        tail_accounting=dict(zip(current.names, estimates[5 + k :], strict=True)),
        new_workload_share=cells.new_share,
        certificate=path.certified,
        sum_error_ms=abs(total - delta.value),
        back=back,
    )


def repair_rows(baseline: Rows, current: Rows, blocks_a: Ints, blocks_b: Ints) -> Floats:
    """Return `Change.repaired` alone: (n_B, K) ms, the current rows with every stage as at baseline."""
    baseline, current = same_stages(baseline, current)
    blocks = _by_cluster(baseline, blocks_a), _by_cluster(current, blocks_b)
    return _back(baseline, current, cells_of(baseline, current), blocks).restore(current)


def _back(baseline: Rows, current: Rows, cells: Cells, blocks: tuple[Ints, Ints]) -> Restoration:
    counts = [np.bincount(side, minlength=cells.priced.size) for side in (cells.a, cells.b)]
    weights = ratios(counts[0], counts[1], cells.priced)[cells.a]
    return restoration(baseline, current, fit_sizes(baseline), weights, cells.priced[cells.b], blocks)


def same_stages(baseline: Rows, current: Rows) -> tuple[Rows, Rows]:
    """Count a stage that only one window has observed into `outside` of both."""
    if baseline.names != current.names:
        raise ValueError("rows of different metrics cannot be compared")
    if not baseline.n or not current.n:
        raise ValueError("a window without rows has no quantile")
    seen = [rows.observed.mean(axis=0) for rows in (baseline, current)]
    apart = np.abs(seen[0] - seen[1]) > OBSERVED_APART
    names = [name for name, fold in zip(baseline.names[:-1], apart[:-1], strict=True) if fold]
    return (baseline.fold(names), current.fold(names)) if names else (baseline, current)


def _shifts(
    baseline: Rows, current: Rows, level: float, displayed: tuple[float, float] | None
) -> tuple[float, float]:
    if displayed is None:
        return 0.0, 0.0
    first, last = (harrell_davis.quantile(rows.values, level) for rows in (baseline, current))
    return displayed[0] - first, displayed[1] - last


def _by_cluster(rows: Rows, blocks: Ints) -> Ints:
    """Put every row into the block of its cluster's first row, numbered from 0."""
    if rows.n and bool((np.diff(rows.cluster) > 0).all()):
        return distinct(blocks)[1]  # each row is a cluster of its own
    _, first, cluster = np.unique(rows.cluster, return_index=True, return_inverse=True)
    return distinct(blocks[first[cluster]])[1]


def _estimates(before: Baseline, after: Current, path: Path) -> list[Estimate]:
    """Return before, after, delta, workload, unexplained, the stages and the tail accounting."""
    start, tail = before.lines(), after.tail()
    whole = _lines(start, path, tail)
    sizes = before.counts_a.sum(axis=1), after.sizes
    a, b = ([whole] * size.size for size in sizes)
    if sizes[0].size > 1:
        a = [_lines(before.lines(a=block), after.without_a(block), tail) for block in range(len(a))]
    if sizes[1].size > 1:
        b = [
            _lines(before.lines(b=block), after.without_b(block), after.tail(block))
            for block in range(len(b))
        ]
    pairs = zip(jackknife(whole, np.array(a), sizes[0]), jackknife(whole, np.array(b), sizes[1]), strict=True)
    return [_together(*pair) for pair in pairs]


def _lines(start: Floats, path: Path, tail: Floats) -> Floats:
    quantile, mixed = start[:2]
    delta, workload = path.after - quantile, mixed - quantile
    # Where no stage moved, a difference of the two shown numbers' shifts is on no stage: it is unexplained.
    head = [quantile, path.after, delta, workload, path.after - path.stages.sum() - mixed]
    return np.concatenate([head, path.stages, tail - start[2:]])


def _together(a: Estimate, b: Estimate) -> Estimate:
    """Return the same number with the noise of both windows; one that never moves takes no part."""
    if min(a.freedom, b.freedom) >= 1 and (a.variance == 0 or b.variance == 0):
        noisy = b if a.variance == 0 else a
        return Estimate(a.value, noisy.variance, noisy.freedom)
    both = difference(a, b)
    return Estimate(a.value, both.variance, both.freedom)
