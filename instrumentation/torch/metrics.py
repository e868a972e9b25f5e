"""What a process found out, as OTLP metrics: bytes and time of collectives and copies, and profiles' shares.

Made on the background thread once there is something to tell, sent once a second with the exporter that
the `OTEL_*` variables name. What a device did carries its `hw.id`. A share stands once, at the time when
its window was read. Totals are of this process's own calls and say so (`slatag.source` = torch).
"""

import os
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any, Final, NamedTuple

from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader

from otel_attrib.instrumentation import background
from otel_attrib.instrumentation.metric_reader import metric_reader
from otel_attrib.instrumentation.provider import resource
from otel_attrib.instrumentation.torch.parts import StepParts
from otel_attrib.instrumentation.torch.shares import Shares
from otel_attrib.instrumentation.torch.window import ProfileWindows
from otel_attrib.schema.attributes import ACTIVITY, HW_ID, PROCESS_PID, PROFILE_OUTCOME, RANK, SOURCE

__all__ = ["METRICS", "TorchMetrics"]

METRICS: Final = {
    "collective_bytes": ("slatag.engine.collective_bytes", "By"),
    "collective_time": ("slatag.engine.collective_time", "s"),
    "copy_bytes": ("slatag.engine.copy_bytes", "By"),
    "copy_time": ("slatag.engine.copy_time", "s"),
    "profile_share": ("slatag.profile.share", "1"),
    "profile_windows": ("slatag.profile.windows", "{window}"),
    "profile_time": ("slatag.profile.time", "s"),
}
"""Counter of the registry → its metric and unit."""

SCOPE = "otel_attrib.torch"
EVERY_S = 1.0
AGAIN_S = 30.0
"""After an export that took a second, which is one that failed, the next one waits for this long."""


class _Total(NamedTuple):
    """A part's sum in `Totals`, and what divides it into the metric's unit."""

    field: str
    scale: float


_TOTALS = {
    "collective_bytes": _Total("collective_bytes", 1),
    "collective_time": _Total("collective", 1e9),
    "copy_bytes": _Total("copy_bytes", 1),
    "copy_time": _Total("copy", 1e9),
}


class TorchMetrics:
    """Tells what a process's parts and windows found; `tick` is for the background thread."""

    def __init__(
        self,
        parts: StepParts,
        windows: ProfileWindows | None,
        service: str,
        device: str = "",
        rank: int | None = None,
        reader: Callable[[], MetricReader | None] | None = None,
    ) -> None:
        """Report as `service`; `device` is the card's `hw.id`, empty where the host computes."""
        self.parts = parts
        self.windows = windows
        self.service = service
        self.reader = reader or metric_reader
        self.collect: Callable[[], Any] | None = None
        self.every_s = EVERY_S
        self._shares: list[Shares] = []
        self._labels: dict[str, Any] = {PROCESS_PID: os.getpid(), SOURCE: "torch"}
        if rank is not None:
            self._labels[RANK] = rank
        if device:
            self._labels[HW_ID] = device

    def tick(self) -> None:
        """Read what is new, and send it once a second."""
        totals = self.parts.settle()
        if self.windows is not None:
            self._shares += self.windows.take()
        something = totals.collective_bytes or totals.copy_bytes or self._shares
        if not something or not background.due(self, self.every_s):
            return
        if self.collect is None:
            self.collect = self._begin()
        before = monotonic()
        self.collect()
        self.every_s = AGAIN_S if monotonic() - before > EVERY_S else EVERY_S

    def _begin(self) -> Callable[[], Any]:
        from otel_attrib import __version__

        reader = self.reader()
        if reader is None:
            return lambda: self._shares.clear()
        provider = MeterProvider([reader], resource=resource(self.service), shutdown_on_exit=False)
        background.at_exit(provider.shutdown)
        meter = provider.get_meter(SCOPE, __version__)
        for key, total in _TOTALS.items():
            name, unit = METRICS[key]
            meter.create_observable_counter(name, [self._observe(total)], unit)
        if self.windows is not None:
            self._profiles(meter, self.windows)
        return reader.collect

    def _observe(self, total: _Total) -> Callable[[CallbackOptions], Iterator[Observation]]:
        def observe(_options: CallbackOptions) -> Iterator[Observation]:
            value = getattr(self.parts.totals, total.field)
            if value:  # what has never been seen is absent, not zero
                yield Observation(value / total.scale, self._labels)

        return observe

    def _profiles(self, meter: Any, windows: ProfileWindows) -> None:
        def outcomes(_options: CallbackOptions) -> Iterator[Observation]:
            for outcome, count in dict(windows.outcomes).items():
                yield Observation(count, self._labels | {PROFILE_OUTCOME: outcome})

        def spent(_options: CallbackOptions) -> Iterator[Observation]:
            yield Observation(windows.spent_ns / 1e9, self._labels)

        name, unit = METRICS["profile_share"]
        meter.create_observable_gauge(name, [self._take_shares], unit)
        name, unit = METRICS["profile_windows"]
        meter.create_observable_counter(name, [outcomes], unit)
        name, unit = METRICS["profile_time"]
        meter.create_observable_counter(name, [spent], unit)

    def _take_shares(self, _options: CallbackOptions) -> Iterator[Observation]:
        """Give each window's shares once; of several since the last time the mean over their lengths."""
        shares, self._shares = self._shares, []
        length = sum(found.ns for found in shares)
        for activity in shares[0].shares if shares else ():
            mean = sum(found.shares[activity] * found.ns for found in shares) / length
            yield Observation(mean, self._labels | {ACTIVITY: activity})
