"""What a Prometheus server scrapes: latencies of requests as histograms, with requests to look at."""

from otel_attrib.analytics.exposition.bounds import HISTOGRAMS, Histogram
from otel_attrib.analytics.exposition.latencies import Latencies
from otel_attrib.analytics.exposition.text import Collects, encoded

__all__ = ["HISTOGRAMS", "Collects", "Histogram", "Latencies", "encoded"]
