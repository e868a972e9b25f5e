"""How far a number may be off, in the words that panels repeat."""

from typing import Final

__all__ = ["COUNTED", "MEASURED", "ONE_REQUEST", "READ", "SKETCHED"]

SKETCHED: Final = (
    "within 1 % of the value at its rank, merged from 10 s states; with few requests in an interval "
    "the gap to "
    "the next value is larger than that"
)
"""Quantiles of `requests_10s`."""

MEASURED: Final = "quantiles within 1 % of the value at their rank, from the requests themselves"
"""Quantiles of `requests`."""

COUNTED: Final = "exact; a sampled request counts as many times as it stands for"
"""Counts and sums."""

READ: Final = "as exact as the sensor; between two readings nothing is known, and what was not read is absent"
"""Counters of devices and hosts."""

ONE_REQUEST: Final = "as measured on the request's host, on one monotonic clock"
"""Stamps of one request."""
