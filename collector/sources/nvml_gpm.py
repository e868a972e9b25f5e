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
        self._compare = library.function("nvmlGpmMetricsGet")
        self._places: list[_Samples] = []
        self._turn = 0

    @property
    def columns(self) -> int:
        """How many columns there are."""
        return len(self._places) * len(METRICS)

    def add(self, card: int, handle: Any, instance: int | None = None) -> slice | None:
        """Take samples of a card, or of one of its GPU instances; None where it gives none."""
        place = _Samples(self._library, card, handle, instance)
        if self._compare is None or place.take(0) != 0:
            place.close()
            return None
        start = self.columns
        self._places.append(place)
        return slice(start, self.columns)

    def seal(self) -> None:
        """Make the requests, two of each card: which sample is the older changes from read to read."""
        nv = self._library.nv
        kind, places = nv.c_nvmlGpmMetricsGet_t, self._places
        self._requests = (kind * (2 * max(1, len(places))))()
        self._asked = [
            [ctypes.byref(self._requests[2 * n + turn]) for n in range(len(places))] for turn in (0, 1)
        ]
        for n, place in enumerate(places):
            for turn in (0, 1):
                asked = self._requests[2 * n + turn]
                asked.version, asked.numMetrics = nv.NVML_GPM_METRICS_GET_VERSION, len(METRICS)
                asked.sample1, asked.sample2 = place.samples[1 - turn], place.samples[turn]
        whole = np.frombuffer(self._requests, dtype=np.uint8).reshape(-1, ctypes.sizeof(kind))
        start = kind.metrics.offset
        metrics = whole[:, start : start + len(METRICS) * _METRIC.itemsize].view(_METRIC)
        metrics["metric"] = METRICS
        metrics = metrics[: 2 * len(places)]
        self._values = [metrics["value"][turn::2] for turn in (0, 1)]
        self._codes = [metrics["code"][turn::2] for turn in (0, 1)]
        self.good = np.zeros(self.columns, dtype=np.bool_)
        self.values = np.zeros(self.columns)
        self.whole = False

    def read(self) -> None:
        """Sample every card and compare with the sample before."""
        if self._compare is None:
            return
        self._turn = 1 - self._turn
        taken = [place.take(self._turn) for place in self._places]
        compare = self._compare
        codes = [code or compare(asked) for code, asked in zip(taken, self._asked[self._turn], strict=True)]
        self.values = self._values[self._turn].ravel()
        good = self._codes[self._turn] == 0
        if any(codes):
            good[np.array(codes) != 0] = False
            self._lose(codes)
        self.good = good.ravel()
        self.whole = bool(self.good.all())

    def _lose(self, codes: list[int]) -> None:
        for place, code in zip(self._places, codes, strict=True):
            if code in GONE and not place.lost:
                place.lost = code
                self.gone.append(Gone(place.card, code))

    def close(self) -> None:
        """Free the samples."""
        for place in self._places:
            place.close()


class _Samples:
    """Two samples of one card, taken in turns."""

    def __init__(self, library: Library, card: int, handle: Any, instance: int | None) -> None:
        self.card, self.lost = card, 0
        self._free = library.function("nvmlGpmSampleFree")
        self.samples = [sample for _ in (0, 1) if (sample := library.ask("nvmlGpmSampleAlloc")) is not None]
        self._get = library.function("nvmlGpmSampleGet" if instance is None else "nvmlGpmMigSampleGet")
        before = (handle,) if instance is None else (handle, ctypes.c_uint(instance))
        self._arguments = [(*before, sample) for sample in self.samples]

    def take(self, turn: int) -> int:
        """Read a sample into one of the two; NVML's code, that of a lost card again and again."""
        if self.lost or self._get is None or len(self.samples) < 2:
            return self.lost or 3  # NVML_ERROR_NOT_SUPPORTED
        return self._get(*self._arguments[turn])

    def close(self) -> None:
        """Free both."""
        free, samples, self.samples = self._free, self.samples, []
        if free is not None:
            for sample in samples:
                free(sample)
