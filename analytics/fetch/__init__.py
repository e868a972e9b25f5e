"""From the store to typed columns: all of a small window, and of a large one what can matter."""

from otel_attrib.analytics.fetch.pair import fetch_pair
from otel_attrib.analytics.fetch.period import CAP, fetch_period

__all__ = ["CAP", "fetch_pair", "fetch_period"]
