"""What tail sampling kept and dropped, as OTLP totals, so that the store can be held against what came in.

`slatag.requests.kept` by reason and `slatag.requests.dropped` by reason add up to every request that ended;
the kept with reason `rest`, times their weight, stand for themselves and for what was dropped as `sampled`.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader

from otel_attrib.instrumentation import background
from otel_attrib.instrumentation.metric_reader import metric_reader
from otel_attrib.instrumentation.provider import resource
from otel_attrib.instrumentation.sampling.tail import TailSampler
from otel_attrib.schema.attributes import PROCESS_PID, SAMPLE_REASON

__all__ = ["DROPPED", "KEPT", "TailMetrics"]

KEPT: Final = "slatag.requests.kept"
DROPPED: Final = "slatag.requests.dropped"
SCOPE = "otel_attrib.sampling"
EVERY_S = 5.0


class TailMetrics:
    """Tells a sampler's counts; `tick` is for the background thread."""

    def __init__(
        self, sampler: TailSampler, service: str, reader: Callable[[], MetricReader | None] | None = None
    ) -> None:
        """Report as `service`."""
        self.sampler = sampler
        self.service = service
        self.reader = reader or metric_reader
        self.collect: Callable[[], Any] | None = None

    def tick(self) -> None:
        """Send the counts every five seconds, and once more at the end."""
        if not (self.sampler.kept or self.sampler.dropped) or not background.due(self, EVERY_S):
            return
        if self.collect is None:
            self.collect = self._begin()
        self.collect()

    def _begin(self) -> Callable[[], Any]:
        from otel_attrib import __version__

        reader = self.reader()
        if reader is None:
            return lambda: None
        provider = MeterProvider([reader], resource=resource(self.service), shutdown_on_exit=False)
        background.at_exit(provider.shutdown)
        meter = provider.get_meter(SCOPE, __version__)
        for name, counts in ((KEPT, self.sampler.kept), (DROPPED, self.sampler.dropped)):
            meter.create_observable_counter(name, [_observe(counts)], "{request}")
        return reader.collect


def _observe(counts: Mapping[str, int]) -> Callable[[CallbackOptions], Iterator[Observation]]:
    def observe(_options: CallbackOptions) -> Iterator[Observation]:
        for reason, count in sorted(counts.items()):
            yield Observation(count, {SAMPLE_REASON: reason, PROCESS_PID: os.getpid()})

    return observe
