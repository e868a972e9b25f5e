"""Where to cut rows in ascending order into bins: evenly below, and ever finer towards the largest."""

__all__ = ["bin_starts"]


def bin_starts(n: int, body: int, least: int) -> list[int]:
    """Return the first row of each bin of n ordered rows, from 0.

    A bin holds 1/body of the rows, or a quarter of the rows above it where that is less, and at least
    `least` rows (all of them when there are fewer).
    """
    starts = [n]
    while starts[-1] > 0:
        above = n - starts[-1]
        size = max(least, min(n // body, above // 4))
        starts.append(starts[-1] - size if starts[-1] - size >= least else 0)
    return starts[:0:-1]
