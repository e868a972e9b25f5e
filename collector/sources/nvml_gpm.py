"""GPU performance monitoring (GPM): what SMs, tensor cores, memory and links did between two samples.

Hopper and newer, and some cards besides. Two samples lie at least 100 ms apart (the card refreshes them that
slowly); each read is compared with the one before, so the shares cover all of the time. SM activity comes
from the card's cumulative cycles where it counts them, which also go out as totals: their difference over a
request's own interval is exact however short it was.
"""

import ctypes
from typing import Any, Final

import numpy as np

from otel_attrib.collector.sources.nvml_block import Block, Gone
from otel_attrib.collector.sources.nvml_library import GONE, Library

__all__ = ["APART_S", "CYCLES", "CYCLES_ACTIVE", "METRICS", "GpmBlock", "gpm_supported"]

APART_S: Final = 0.1
"""The least time between two samples, in seconds."""

GRAPHICS, SM, OCCUPANCY, TENSOR, DRAM = 1, 2, 3, 5, 10
PCIE_OUT, PCIE_IN, NVLINK_IN, NVLINK_OUT = 20, 21, 60, 61
CYCLES: Final = 248
CYCLES_ACTIVE: Final = 249
METRICS: Final = (
    GRAPHICS,
    SM,
    OCCUPANCY,
    TENSOR,
    DRAM,
    PCIE_OUT,
    PCIE_IN,
    NVLINK_IN,
    NVLINK_OUT,
    CYCLES,
    CYCLES_ACTIVE,
)
"""Metric numbers asked for: percentages, MiB/s, and the last two cycles since boot."""

_METRIC: Final = np.dtype(
    [("metric", "<u4"), ("code", "<u4"), ("value", "<f8"), ("short", "<u8"), ("long", "<u8"), ("unit", "<u8")]
)
"""`nvmlGpmMetric_t`, 40 bytes on a 64-bit machine."""


def gpm_supported(library: Library, handle: Any) -> bool:
    """Whether this card has GPM."""
    support = library.ask("nvmlGpmQueryDeviceSupport", handle)
    return bool(support is not None and support.isSupportedDevice)


class GpmBlock(Block):
    """The metrics of several cards or MIG instances; one column for each of `METRICS` each."""

    def __init__(self, library: Library) -> None:
        """Start without cards."""
        super().__init__()
        self._library = library
        self._places: list[_Place] = []
        self.columns = 0

    def add(self, card: int, handle: Any, instance: int | None = None) -> slice | None:
        """Take samples of a card, or of one of its GPU instances; None where it gives none."""
        place = _Place(self._library, card, handle, instance, self.columns)
        if place.sample() != 0:
            place.close()
            return None
        self._places.append(place)
        start, self.columns = self.columns, self.columns + len(METRICS)
        return slice(start, self.columns)

    def seal(self) -> None:
        """Fix the columns; nothing may be added after."""
        self.values = np.zeros(self.columns)
        self.good = np.zeros(self.columns, dtype=np.bool_)
        self.whole = False

    def read(self) -> None:
        """Sample every card and compare with the sample before."""
        for place in list(self._places):
            columns = slice(place.start, place.start + len(METRICS))
            code = place.sample() or place.compare()
            if code:
                self.good[columns] = False
            else:
                self.values[columns] = place.values
                self.good[columns] = place.codes == 0
            if code in GONE:
                self.gone.append(Gone(place.card, code))
                self._places.remove(place)
        self.whole = bool(self.good.all())

    def close(self) -> None:
        """Free the samples."""
        for place in self._places:
            place.close()
        self._places.clear()


class _Place:
    """Two samples of one card, taken in turns, and for each turn the request that compares them."""

    def __init__(self, library: Library, card: int, handle: Any, instance: int | None, start: int) -> None:
        nv = library.nv
        self.card, self.start = card, start
        self._free = library.function("nvmlGpmSampleFree")
        self._compare = library.function("nvmlGpmMetricsGet")
        self._samples = [
            sample for _ in range(2) if (sample := library.ask("nvmlGpmSampleAlloc")) is not None
        ]
        name = "nvmlGpmSampleGet" if instance is None else "nvmlGpmMigSampleGet"
        self._get = library.function(name)
        before = (handle,) if instance is None else (handle, ctypes.c_uint(instance))
        self._arguments = [(*before, sample) for sample in self._samples]
        self._turn = 0
        self._requests = (
            [self._request(nv, older, newer) for older, newer in ((1, 0), (0, 1))] if self._whole else []
        )

    @property
    def _whole(self) -> bool:
        return len(self._samples) == 2 and self._get is not None and self._compare is not None

    def _request(self, nv: Any, older: int, newer: int) -> tuple[Any, Any, Any]:
        asked = nv.c_nvmlGpmMetricsGet_t()
        asked.version, asked.numMetrics = nv.NVML_GPM_METRICS_GET_VERSION, len(METRICS)
        asked.sample1, asked.sample2 = self._samples[older], self._samples[newer]
        at = nv.c_nvmlGpmMetricsGet_t.metrics.offset
        metrics = np.frombuffer(asked, dtype=_METRIC, count=len(METRICS), offset=at)
        metrics["metric"] = METRICS
        return ctypes.byref(asked), metrics["value"], metrics["code"]

    def sample(self) -> int:
        """Read a sample into the older of the two buffers."""
        if not self._whole or self._get is None:
            return 3  # NVML_ERROR_NOT_SUPPORTED
        self._turn = 1 - self._turn
        return self._get(*self._arguments[self._turn])

    def compare(self) -> int:
        """Ask for the metrics between the last two samples."""
        asked, self.values, self.codes = self._requests[self._turn]
        return 3 if self._compare is None else self._compare(asked)

    def close(self) -> None:
        """Free both samples."""
        for sample in self._samples if self._free is not None else ():
            self._free(sample)  # type: ignore[misc] # not None: the line above
        self._samples = []
