"""The collector of latencies: what /metrics shows of the requests in the store.

Read from counters that the store keeps (migration 0019), a few rows whatever the number of requests, and at
most once in `FRESH_S` however many scrape. All of the store's requests are in them, so of several services
over one store one is scraped. When the store does not answer, the histograms are absent, which Prometheus
takes for what it is, and `otel_attrib_store_up` is 0.
"""

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.samples import Exemplar

from otel_attrib.analytics.exposition.bounds import HISTOGRAMS, Histogram
from otel_attrib.analytics.exposition.exemplars import Exemplars, fetch_exemplars
from otel_attrib.analytics.exposition.folding import Folding
from otel_attrib.analytics.objectives.objective import Objective
from otel_attrib.analytics.statement import statement
from otel_attrib.errors import ConfigError, StoreError
from otel_attrib.schema.store import Store

__all__ = ["LABELS", "OPTIONAL", "OUTCOME", "Latencies"]

FRESH_S = 2.0
LABELS = {
    "service_name": "service",
    "gen_ai_request_model": "model",
    "gen_ai_operation_name": "operation",
    "gen_ai_provider_name": "engine",
}
"""Label → column, on every series; the names are OpenTelemetry's attributes as Prometheus writes them."""
OPTIONAL = {"tenant": ("slatag_tenant", "tenant"), "sla_class": ("slatag_sla_class", "sla_class")}
"""Setting's word → label and column: off unless asked for, because each value makes series of its own."""
OUTCOME = {"slatag_status": "status", "error_type": "error_type"}
"""Label → column of what counts every request, also those that did not succeed."""

Row = Mapping[str, Any]


class Latencies:
    """Collects from the store that `store` gives."""

    def __init__(
        self,
        store: Callable[[], Store],
        more: Sequence[str] = (),
        objectives: Callable[[], Sequence[Objective]] = tuple,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep the way to the store; `more` are words of `OPTIONAL`, limits of `objectives` get buckets."""
        self._store = store
        self._optional = dict(_optional(word) for word in more)
        self._objectives = objectives
        self._clock = clock
        self._folding = Folding()
        self._lock = threading.Lock()
        self._families: list[Metric] = []
        self._made = float("-inf")

    def collect(self) -> Iterator[Metric]:
        """Yield the metric families, made anew when the last are older than `FRESH_S`."""
        with self._lock:
            if self._clock() - self._made >= FRESH_S:
                self._families = list(self._read())
                self._made = self._clock()
            families = self._families
        yield from families

    def describe(self) -> list[Metric]:
        """Name nothing: a registry that asks must not wait for the store."""
        return []

    def _read(self) -> Iterator[Metric]:
        columns = "".join(f"{column}, " for column in self._optional.values())
        up = GaugeMetricFamily("otel_attrib_store_up", "whether the store answered this scrape")
        try:
            store = self._store()
            found = store.rows(statement("latency_histogram", more=columns))
            exemplars = fetch_exemplars(store, columns)
        except StoreError:
            up.add_metric([], 0)
            yield up
            return
        rows = self._folding.folded(found, tuple(self._labels("requests").values()))
        up.add_metric([], 1)
        yield up
        yield self._requests(rows)
        limits = [limit for objective in self._objectives() for limit in objective.limits]
        for histogram in HISTOGRAMS.values():
            own = [limit.ms for limit in limits if limit.metric == histogram.metric]
            bounds_ms = histogram.bounds_ms(own)
            yield self._family(histogram, bounds_ms, rows, exemplars)

    def _labels(self, metric: str) -> dict[str, str]:
        named = {**LABELS, **self._optional}
        return {**named, **OUTCOME} if metric in ("requests", "e2e") else named

    def _requests(self, rows: Sequence[Row]) -> Metric:
        labels = self._labels("requests")
        family = CounterMetricFamily(
            "otel_attrib_requests", "requests by what came of them", labels=list(labels)
        )
        for row in rows:
            family.add_metric([row[column] for column in labels.values()], row["requests"])
        return family

    def _family(
        self, histogram: Histogram, bounds_ms: Sequence[float], rows: Sequence[Row], exemplars: Exemplars
    ) -> Metric:
        labels = self._labels(histogram.metric)
        family = HistogramMetricFamily(histogram.name, histogram.meaning, labels=list(labels), unit="seconds")
        summed: dict[tuple[str, ...], tuple[list[int], list[float]]] = {}
        for row in rows:
            if row[histogram.metric]:
                key = tuple(row[column] for column in labels.values())
                counts, total = summed.setdefault(key, ([0] * (len(bounds_ms) + 1), [0.0]))
                _add(counts, row[histogram.metric], bounds_ms)
                total[0] += row[f"{histogram.metric}_us"]
        shown = exemplars.by(histogram.metric, labels.values(), bounds_ms)
        for key, (counts, total) in summed.items():
            family.add_metric(list(key), _buckets(bounds_ms, counts, shown.get(key, {})), total[0] / 1e6)
        return family


def _optional(word: str) -> tuple[str, str]:
    if word not in OPTIONAL:
        raise ConfigError("metrics_labels", word, f"give one of {', '.join(OPTIONAL)}")
    return OPTIONAL[word]


def _add(counts: list[int], stored: Mapping[int, int], bounds_ms: Sequence[float]) -> None:
    """Add what is stored at finer bounds to the buckets that hold it."""
    for bound_us, n in stored.items():
        counts[bisect_left(bounds_ms, bound_us / 1000)] += n


def _buckets(
    bounds_ms: Sequence[float], counts: Sequence[int], exemplars: Mapping[int, Exemplar]
) -> list[tuple[str, float] | tuple[str, float, Exemplar]]:
    names = [*(repr(bound / 1000) for bound in bounds_ms), "+Inf"]
    buckets: list[tuple[str, float] | tuple[str, float, Exemplar]] = []
    for i, (name, n) in enumerate(zip(names, accumulate(counts), strict=True)):
        buckets.append((name, n, exemplars[i]) if i in exemplars else (name, n))
    return buckets
