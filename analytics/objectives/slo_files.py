"""The objectives of the setting `slo`, read again when a file of it has changed.

What was read last stays in force while a file is broken: an objective that vanishes because of a typing error
would go unnoticed. The fault is logged once, and GET /api/v1/slo tells it.
"""

import logging
import threading
from pathlib import Path

from otel_attrib.analytics.objectives.objective import Objective
from otel_attrib.analytics.objectives.openslo import load_objectives
from otel_attrib.errors import DataError

__all__ = ["SloFiles"]

_log = logging.getLogger(__name__)

State = tuple[tuple[str, int, int], ...]


class SloFiles:
    """The objectives of one file or folder; safe to share between threads."""

    def __init__(self, path: str) -> None:
        """Read nothing yet; an empty path holds no objectives."""
        self._path = Path(path) if path else None
        self._lock = threading.Lock()
        self._seen: State | None = None
        self._held: tuple[Objective, ...] | None = None
        self.fault = ""

    def objectives(self) -> tuple[Objective, ...]:
        """Return the objectives as they stand in the files; `DataError` if they never could be read."""
        if self._path is None:
            return ()
        with self._lock:
            seen = _state(self._path)
            if seen != self._seen or self._held is None:
                self._read(self._path)
                self._seen = seen
            return self._held or ()

    def _read(self, path: Path) -> None:
        try:
            self._held, self.fault = load_objectives(path), ""
        except DataError as fault:
            if self._held is None:
                raise
            if str(fault) != self.fault:
                _log.warning("the objectives read before stay in force: %s", fault)
            self.fault = str(fault)


def _state(path: Path) -> State:
    """Return what changes when a file does."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    found = []
    for file in files:
        try:
            stat = file.stat()
        except OSError:
            continue  # gone between two looks; reading it tells
        found.append((str(file), stat.st_mtime_ns, stat.st_size))
    return tuple(found)
