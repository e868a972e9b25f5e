"""A sample of a window in time: short stretches, spread evenly, in which every request is taken.

Stretches rather than single rows, because the store keeps requests in order of time, so that few granules
are read; and because a queue can only be replayed where all its arrivals are known. Single rows, by a hash of
their ids, where arrivals come in such bursts that no stretch holds a fair part of them. Deterministic: which
requests are taken depends on the window, their arrival and their ids alone.
"""

from dataclasses import dataclass

from otel_attrib.analytics.blocks import SLICES
from otel_attrib.analytics.windows import Window

__all__ = ["EVERY_ROW", "Sample", "Scattered", "Stretches", "spread"]

SHORTEST_US = 2_000_000  # below it a queue has no time to fill, and a granule of the store no rows to skip
A_SLICE_AT_MOST = 10
FINE = 1 << 30


@dataclass(frozen=True, slots=True)
class Stretches:
    """The first `width_us` of each of `count` strides of a window; all of it when both are equal."""

    stride_us: int
    width_us: int
    count: int

    def sql(self) -> str:
        """Return a condition over a table with `time`, beside `from_us` as bound by the window.

        The hint is true of every row; with it the index finds the stretches, so the rest is not read.
        """
        if self.width_us >= self.stride_us:
            return "1"
        inside = "(toUnixTimestamp64Micro(time) - {from_us:Int64}) % {stride_us:Int64} < {width_us:Int64}"
        start = "{{from_us:Int64}} + {number} * {{stride_us:Int64}}"
        ranges = (
            f"time >= fromUnixTimestamp64Micro({first}, 'UTC')"
            f" AND time < fromUnixTimestamp64Micro({first} + {{width_us:Int64}}, 'UTC')"
            for first in (start.format(number=number) for number in range(self.count))
        )
        return f"{inside} AND indexHint({' OR '.join(ranges)})"

    def parameters(self) -> dict[str, int]:
        """Return the values that `sql` binds."""
        return {"stride_us": self.stride_us, "width_us": self.width_us}


@dataclass(frozen=True, slots=True)
class Scattered:
    """About `share` of the rows, by a hash of their ids."""

    share: float

    def sql(self) -> str:
        """Return a condition over `requests`."""
        return "cityHash64(trace_id, span_id) % {of:UInt64} < {kept:UInt64}"

    def parameters(self) -> dict[str, int]:
        """Return the values that `sql` binds."""
        return {"of": FINE, "kept": max(1, int(self.share * FINE))}


Sample = Stretches | Scattered
"""Which rows of a window are taken."""

EVERY_ROW = Stretches(1, 1, 1)
"""No sample."""


def spread(window: Window, share: float) -> Stretches:
    """Return stretches that take `share` of the window's time, in each of its slices at least one.

    There are as many as fit while each is two seconds long, up to ten a slice.
    """
    bounds = window.bounds_us()
    length = bounds["to_us"] - bounds["from_us"]
    fitting = int(length * share / SLICES / SHORTEST_US)
    count = SLICES * min(max(1, fitting), A_SLICE_AT_MOST)
    stride = max(1, -(-length // count))
    return Stretches(stride, max(1, int(stride * share)), count)
