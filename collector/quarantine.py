"""Requests that parse and that the store still refuses: set aside on disk, counted, and never in the way."""

import logging
import os
from pathlib import Path

from otel_attrib.collector.counters import Counters
from otel_attrib.collector.segment import Record
from otel_attrib.collector.signals import SIGNALS

__all__ = ["Quarantine"]

_log = logging.getLogger(__name__)
_DECODE = {signal.name: signal.decode for signal in SIGNALS}


class Quarantine:
    """A bounded directory of request bodies, each with the store's reason beside it."""

    def __init__(self, directory: Path, counters: Counters, limit: int = 256 << 20) -> None:
        """`limit` bytes are kept; what comes after is counted as lost."""
        self._directory = directory
        self._counters = counters
        self._limit = limit

    def clean(self, signal: str, payload: bytes) -> bytes:
        """The same request without fields of a wrong wire type or of no known number."""
        request = _DECODE[signal](payload)
        request.DiscardUnknownFields()
        cleaned: bytes = request.SerializeToString()
        return cleaned

    def put(self, signal: str, record: Record, token: str, reason: str) -> None:
        """Set one request aside; the same one again (after a crash) replaces itself."""
        self._counters.quarantined.labels(signal).inc(record.items)
        path = self._directory / f"{token}.pb"
        _log.error("%d items of %s are refused by the store (%s): see %s", record.items, signal, reason, path)
        try:
            self._directory.mkdir(exist_ok=True)
            if self._held() + len(record.payload) > self._limit:
                raise OSError(0, f"quarantine is full ({self._limit} bytes)")
            path.write_bytes(record.payload)
            path.with_suffix(".txt").write_text(reason + "\n")
        except OSError as fault:
            self._counters.lost.labels(signal).inc()
            _log.error("%s is lost: %s", token, fault.strerror)

    def _held(self) -> int:
        return sum(entry.stat().st_size for entry in os.scandir(self._directory))
