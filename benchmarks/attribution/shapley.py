"""The exact Shapley values of stages for the change of a quantile between paired rows: 2^K quantiles.

A subset of the stages takes its times after the change, the rest theirs before it; a stage's value is its
mean contribution over all orders. Nothing here is approximated, so it is what a faster split is held to.
Source: Shapley (1953), A Value for n-Person Games.
"""

from math import factorial

import numpy as np

from otel_attrib.analytics.columns import Floats
from otel_attrib.analytics.harrell_davis import rank_window, weights

__all__ = ["shapley"]


def shapley(before: Floats, after: Floats, level: float) -> Floats:
    """Return (K,) ms from two (n, K) tables of the same rows; they add up to the quantile's change."""
    n, players = before.shape
    first, last = rank_window(n, level)
    weight = weights(n, level, first, last)
    worth = np.empty(1 << players)
    for members in range(1 << players):
        inside = (members >> np.arange(players)) & 1 == 1
        totals = np.where(inside, after, before).sum(axis=1)
        worth[members] = weight @ np.sort(np.partition(totals, first - 1)[first - 1 :])[: last - first + 1]
    values = np.zeros(players)
    for members in range(1 << players):
        size = members.bit_count()
        for player in range(players):
            if not members >> player & 1:
                share = factorial(size) * factorial(players - size - 1) / factorial(players)
                values[player] += share * (worth[members | 1 << player] - worth[members])
    return values
