"""Ways to name the slices that stalled. All but the first are written here from their definitions.

The product's scan was changed twice with these cases and simulated fleets in sight (no slice rises because
the others fell; the scan ends when a tenth of the excess is left), so they are no unseen test of it. It runs
as it does on latencies, with sessions for requests and bad ones for exceedances, but without its permutation
test: that there is an anomaly is given, and a single anomalous minute has too few blocks to deal out.
"""

from collections.abc import Callable

import numpy as np

from benchmarks.attribution.riskloc_cases import Case, Causes
from otel_attrib.analytics.columns import Floats
from otel_attrib.analytics.slices import Leaves, scan

__all__ = ["WAYS"]

ELEMENT_EXPLAINS, SET_EXPLAINS = 0.10, 0.67  # TEEP and TEP of the Adtributor paper
SHARE_NAMED = 0.5


def ours(case: Case) -> Causes:
    """The product's slice scan."""
    early = int(np.unique(case.minute[~case.now]).size)
    leaves = Leaves(case.dims, case.minute, case.sessions, case.bad, early, early + 1)
    before = ~case.now
    rate = case.bad[before].sum() / case.sessions[before].sum()
    found = scan(leaves, 1 - float(rate), significant=1.0)
    return frozenset(frozenset(one.where.items()) for one in found.slices)


def adtributor(case: Case) -> Causes:
    """Bhagwan et al. (2014), "Adtributor: revenue debugging in advertising systems", NSDI: derived measure.

    Of each attribute, the fewest most surprising values that explain 67 % of the change, none below 10 %;
    the attribute whose set is the most surprising.
    """
    best: tuple[float, Causes] = (-1.0, frozenset())
    for name in case.dims:
        explained, surprise = _scores(case, name)
        chosen: list[int] = []
        for value in np.argsort(-surprise, kind="stable").tolist():
            if explained[value] >= ELEMENT_EXPLAINS:
                chosen.append(value)
            if explained[chosen].sum() >= SET_EXPLAINS:
                labels = case.dims[name].labels
                causes = frozenset(frozenset([(name, labels[one])]) for one in chosen)
                best = max(best, (float(surprise[chosen].sum()), causes), key=lambda pair: pair[0])
                break
    return best[1]


def _scores(case: Case, name: str) -> tuple[Floats, Floats]:
    """Return explanatory power (sums to 1) and surprise of each value, of bad sessions over sessions."""
    bad, sessions = (_expected_and_seen(case, name, weight) for weight in (case.bad, case.sessions))
    total_bad, total = bad[0].sum(), sessions[0].sum()
    change = (bad[1] - bad[0]) * total - (sessions[1] - sessions[0]) * total_bad
    power = change / (total * (total + sessions[1] - sessions[0]))
    return power / power.sum(), _surprise(*bad) + _surprise(*sessions)


def _expected_and_seen(case: Case, name: str, weight: np.ndarray) -> tuple[Floats, Floats]:
    column = case.dims[name]
    minutes = max(1, np.unique(case.minute[~case.now]).size)
    before, now = (
        np.bincount(column.codes[rows], weight[rows], minlength=len(column.labels))
        for rows in (~case.now, case.now)
    )
    return before / minutes, now.astype(np.float64)


def _surprise(expected: Floats, seen: Floats) -> Floats:
    """Return each value's part of the Jensen–Shannon divergence of the two distributions."""
    p, q = expected / max(1e-12, expected.sum()), seen / max(1e-12, seen.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = p * np.log(2 * p / (p + q)), q * np.log(2 * q / (p + q))
    surprise: Floats = 0.5 * sum(np.nan_to_num(part) for part in parts)
    return surprise


def largest_excess(case: Case) -> Causes:
    """What a table of one attribute at a time shows: the value with the most bad sessions beyond before."""
    best, causes = -1.0, frozenset[frozenset[tuple[str, str]]]()
    for name, column in case.dims.items():
        bad, sessions = (_expected_and_seen(case, name, weight) for weight in (case.bad, case.sessions))
        excess = bad[1] - bad[0] * sessions[1] / np.maximum(1e-9, sessions[0])
        top = int(np.argmax(np.where(sessions[0] > 0, excess, -np.inf)))
        share = float(sessions[1][top] / sessions[1].sum())
        if share <= SHARE_NAMED and excess[top] > best:  # a value that nearly everybody has explains nothing
            best, causes = float(excess[top]), frozenset([frozenset([(name, column.labels[top])])])
    return causes


WAYS: dict[str, Callable[[Case], Causes]] = {
    "otel-attrib slice scan": ours,
    "Adtributor (ours, from the paper)": adtributor,
    "largest excess": largest_excess,
}
