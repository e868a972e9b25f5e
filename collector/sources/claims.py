"""Counters that two sources could read: the better one claims it, and the other leaves it out meanwhile.

Run-queue wait comes from eBPF or from `schedstat`, a card's clock from NVML or from an exporter. Totals of
both would be added up as if they were two processes' waits, so only one of them is ever written.
"""

from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_attrib.collector.agent.readings import Layout

__all__ = ["Claims", "claim", "claimed", "release"]

_MOST_LAYOUTS = 64

_lock = Lock()
_claims: dict[str, int] = {}


def claim(key: str) -> None:
    """From now on the caller gives this counter, until it says `release`."""
    with _lock:
        _claims[key] = _claims.get(key, 0) + 1


def release(key: str) -> None:
    """The caller no longer gives it."""
    with _lock:
        _claims[key] = _claims.get(key, 0) - 1


def claimed(key: str) -> bool:
    """Return whether a better source gives this counter now."""
    return _claims.get(key, 0) > 0


class Claims:
    """The counters that one source gives, claimed as they first come and until `release`."""

    def __init__(self) -> None:
        """Nothing came yet."""
        self._keys: set[str] = set()
        self._layouts: dict[int, Layout] = {}

    def given(self, layout: "Layout") -> None:
        """Claim what is in this read; a layout that came before costs one look."""
        if id(layout) in self._layouts:
            return
        if len(self._layouts) >= _MOST_LAYOUTS:
            self._layouts.clear()
        self._layouts[id(layout)] = layout
        for key in {series.counter.key for series in layout.series} - self._keys:
            self._keys.add(key)
            claim(key)

    def release(self) -> None:
        """Give all of them back."""
        for key in self._keys:
            release(key)
        self._keys.clear()
        self._layouts.clear()
