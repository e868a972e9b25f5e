"""The gaps between successive tokens: exact statistics, a mergeable sketch, the packed series.

The sketch keeps counts in logarithmic buckets (as DDSketch does): bucket i holds gaps in
(g**(i-1), g**i] µs and stands for 2*g**i/(g+1), so a value read back is within (g-1)/(g+1) < 1 %.
"""

import base64
import math
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from otel_attrib.schema.attributes import SKETCH_GROWTH

__all__ = ["GapStatistics", "bucket", "bucket_value", "gaps_of", "packed", "sketch", "stalls", "statistics"]

_LOG_GROWTH = math.log(SKETCH_GROWTH)
_LONGEST = 2**32 - 1


@dataclass(frozen=True, slots=True)
class GapStatistics:
    """Exact statistics of the gaps, in µs; quantiles interpolate between order statistics."""

    count: int
    mean: float
    p50: float
    p99: float
    max: float


def gaps_of(stamps: Sequence[int]) -> list[float]:
    """Gaps in µs between successive nanosecond stamps."""
    return [(later - earlier) / 1e3 for earlier, later in zip(stamps, stamps[1:], strict=False)]


def statistics(gaps: Sequence[float]) -> GapStatistics | None:
    """Summarise the gaps; None when there are none."""
    if not gaps:
        return None
    ordered = sorted(gaps)
    mean = math.fsum(ordered) / len(ordered)
    return GapStatistics(len(ordered), mean, _quantile(ordered, 0.5), _quantile(ordered, 0.99), ordered[-1])


def _quantile(ordered: Sequence[float], q: float) -> float:
    position = q * (len(ordered) - 1)
    low = math.floor(position)
    high = math.ceil(position)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def bucket(gap_us: float) -> int:
    """Index of the bucket that holds a gap; anything of 1 µs or less is in bucket 0."""
    return max(0, math.ceil(math.log(gap_us) / _LOG_GROWTH)) if gap_us > 1 else 0


def bucket_value(index: int) -> float:
    """Gap in µs that a bucket stands for."""
    return float(2 * SKETCH_GROWTH**index / (SKETCH_GROWTH + 1))


def sketch(gaps: Iterable[float]) -> str:
    """Pack the gaps' buckets as `index:count index:count …`, by index."""
    counts = Counter(bucket(gap) for gap in gaps)
    return " ".join(f"{index}:{count}" for index, count in sorted(counts.items()))


def packed(gaps: Sequence[float]) -> str:
    """Pack every gap, rounded to whole µs, as base64 of little-endian uint32."""
    whole = [min(round(gap), _LONGEST) for gap in gaps]
    return base64.b64encode(struct.pack(f"<{len(whole)}I", *whole)).decode("ascii")


def stalls(gaps: Sequence[float], median: float, most: int = 5) -> list[tuple[int, float]]:
    """The worst gaps of at least five medians and 1 ms: (index of the late token, gap µs), longest first."""
    limit = max(5 * median, 1000.0)
    late = [(index + 1, gap) for index, gap in enumerate(gaps) if gap >= limit]
    return sorted(late, key=lambda stall: -stall[1])[:most]
