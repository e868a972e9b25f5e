"""The bins of the heat maps: twenty to a decade of time, each 12.2 % wide.

Bin k holds values in [10^(k/20), 10^((k+1)/20)) µs, so that every power of ten is an edge (the edges are
the R20 series of preferred numbers, ISO 3). Bin 0 holds what is below 1 µs too, the last what is above 11
days. The same rule stands in SQL in schema/fragments/minute_bins.sql; a test holds the two together.
"""

__all__ = ["BINS", "PER_DECADE", "edge_ms", "grouped"]

PER_DECADE = 20
BINS = 240


def edge_ms(k: int) -> float:
    """The lower edge of bin `k` in ms."""
    return float(10.0 ** (k / PER_DECADE)) / 1000


def grouped(lowest: int, highest: int, most: int) -> tuple[int, range]:
    """How many neighbouring bins make one so that at most `most` hold `lowest` to `highest`; and which.

    Groups begin at multiples of their size, whatever is shown, so that two pictures of one size have the
    same edges: group j holds the bins j·size to (j+1)·size − 1.
    """
    size = 1
    while highest // size - lowest // size + 1 > most:
        size += 1
    return size, range(lowest // size, highest // size + 1)
