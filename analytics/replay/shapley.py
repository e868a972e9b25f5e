"""Shapley values of up to six players from a value for each coalition.

Source: Shapley (1953), Contributions to the Theory of Games II, 307–317.
"""

from itertools import combinations
from math import factorial

import numpy as np
from numpy.typing import NDArray

__all__ = ["coalitions", "shapley"]

Floats = NDArray[np.float64]
Coalition = frozenset[str]


def coalitions(players: tuple[str, ...]) -> list[Coalition]:
    """Return every set of players, the smallest first."""
    return [frozenset(some) for size in range(len(players) + 1) for some in combinations(players, size)]


def shapley(players: tuple[str, ...], worth: dict[Coalition, Floats]) -> dict[str, Floats]:
    """Return each player's value; they add up to worth(all) − worth(none). Worths may be vectors."""
    n = len(players)
    values = {}
    for player in players:
        total = np.zeros_like(worth[frozenset()])
        for without in coalitions(tuple(p for p in players if p != player)):
            weight = factorial(len(without)) * factorial(n - len(without) - 1) / factorial(n)
            total = total + weight * (worth[without | {player}] - worth[without])
        values[player] = total
    return values
