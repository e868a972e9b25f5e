"""A sample of a window in time: short stretches, spread evenly, in which every request is taken.

Stretches rather than single rows, because the store keeps requests in order of time, so that few granules
are read; and because a queue can only be replayed where all its arrivals are known. Deterministic: which
requests are taken depends on the window and on their arrival alone.
"""

from dataclasses import dataclass

from otel_attrib.analytics.blocks import SLICES
from otel_attrib.analytics.windows import Window

__all__ = ["EVERY_ROW", "Stretches", "spread"]

SHORTEST_US = 2_000_000  # below it a queue has no time to fill, and a granule of the store no rows to skip
A_SLICE_AT_MOST = 10


@dataclass(frozen=True, slots=True)
class Stretches:
    """The first `width_us` of every `stride_us` of a window; all of it when they are equal."""

    stride_us: int
    width_us: int

    @property
    def share(self) -> float:
        """Return the share of the window's time that is taken."""
        return self.width_us / self.stride_us

    def sql(self) -> str:
        """Return a condition over a table with `time`, beside `from_us` as bound by the window."""
        if self.width_us >= self.stride_us:
            return "1"
        return "(toUnixTimestamp64Micro(time) - {from_us:Int64}) % {stride_us:Int64} < {width_us:Int64}"

    def parameters(self) -> dict[str, int]:
        """Return the values that `sql` binds."""
        return {"stride_us": self.stride_us, "width_us": self.width_us}


EVERY_ROW = Stretches(1, 1)
"""No sample."""


def spread(window: Window, share: float) -> Stretches:
    """Return stretches that take `share` of the window's time, in each of its slices at least one.

    There are as many as fit while each is two seconds long, up to ten a slice.
    """
    bounds = window.bounds_us()
    length = bounds["to_us"] - bounds["from_us"]
    fitting = int(length * share / SLICES / SHORTEST_US)
    stride = length // (SLICES * min(max(1, fitting), A_SLICE_AT_MOST))
    return Stretches(max(1, stride), max(1, int(stride * share)))
