"""The series of one process that `sched` gives, made once, and its waits since the reading before."""

import numpy as np

from otel_attrib.collector.agent.processes import EngineProcess
from otel_attrib.collector.agent.source import Reading, Series
from otel_attrib.collector.sources.ebpf.reasons import counter_of
from otel_attrib.collector.sources.ebpf.wait_slots import SLOTS, Counts, quantile_ns
from otel_attrib.collector.sources.per_process import process_series

__all__ = ["ProcessTotals"]

_P99_EVERY_NS = 1_000_000_000


class ProcessTotals:
    """Turns the sums of one process into readings."""

    def __init__(self, process: EngineProcess) -> None:
        """Make the series that every process has."""
        self.process = process
        self._wait = self._series("run_queue_wait")
        self._count = self._series("run_queue_waits")
        self._p99 = self._series("run_queue_wait_p99")
        self._reasons: dict[str, tuple[Series, Series]] = {}
        self._slots = np.zeros(SLOTS, np.uint64)
        self._slots_ns = 0

    def waits(self, now_ns: int, count: int, ns: int, slots: Counts) -> list[Reading]:
        """Return run-queue wait so far, and once a second the P99 of the waits that ended in it, if any."""
        p99 = None
        if now_ns - self._slots_ns >= _P99_EVERY_NS:
            p99 = quantile_ns(slots - self._slots, 0.99)
            self._slots, self._slots_ns = slots, now_ns
        readings = [(self._wait, ns / 1e9), (self._count, float(count))]
        return readings if p99 is None else [*readings, (self._p99, p99 / 1e9)]

    def spells(self, reason: str, count: int, ns: int) -> list[Reading]:
        """Return blocked time and ended spells so far, for one reason."""
        if reason not in self._reasons:
            both = (
                self._series(key, slatag__off_cpu__reason=reason)
                for key in (counter_of(reason), "off_cpu_spells")
            )
            self._reasons[reason] = (next(both), next(both))
        time_series, count_series = self._reasons[reason]
        return [(time_series, ns / 1e9), (count_series, float(count))]

    def _series(self, key: str, **attributes: str) -> Series:
        return process_series(key, self.process, slatag__source="ebpf", **attributes)
