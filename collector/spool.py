"""Requests are safe here before they are acknowledged, and stay until the store has them.

`append` returns a future that is done once the request is on disk (`fdatasync`). Requests that arrive
while one sync runs share the next one. A file is closed at `block_items`, `block_bytes` or
`block_seconds`, does not change afterwards, and becomes one insert (see writer.py). What was written is
written whole or taken back, so a full disk or a full spool refuses requests without harming the others,
and ends by itself as soon as there is room. After `kill -9` a file is cut at its last whole record.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread

from otel_attrib.collector.counters import Counters
from otel_attrib.collector.digests import Digests
from otel_attrib.collector.segment import SUFFIX, OpenSegment, Record, Segment, digest, recover
from otel_attrib.config import Settings
from otel_attrib.errors import OtelAttribError

__all__ = ["Spool", "SpoolFull"]

_log = logging.getLogger(__name__)

# How much older a segment may get while the store is busy, and how often it is looked at then.
_BUSY_TIMES = 8
_LOOK_AGAIN = 0.01


class SpoolFull(OtelAttribError):
    """The spool cannot keep a request now: its limit or the disk is reached."""


@dataclass(slots=True)
class _Waiting:
    signal: str
    payload: bytes
    items: int
    # True once stored, False when the same request was already stored.
    stored: "Future[bool]" = field(default_factory=Future)


class Spool:
    """A bounded directory of segments, written by one thread of its own."""

    def __init__(
        self,
        directory: Path,
        settings: Settings,
        counters: Counters,
        closed: Callable[[Segment], None],
        busy: Callable[[str], bool] = lambda signal: False,
    ) -> None:
        """`closed` is called with every segment that is ready for the store.

        While the store is `busy` with a signal, its open segment may grow older: it would only wait, and
        larger inserts cost less.
        """
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._settings = settings
        self._counters = counters
        self._closed = closed
        self._busy = busy
        self._digests = Digests(directory, settings.dedup_seconds)
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._open: dict[str, OpenSegment] = {}
        self._stuck: list[OpenSegment] = []
        self._lock = Lock()
        self._size = 0
        self._full = False
        self._thread = Thread(target=self._run, name="spool", daemon=True)
        counters.spool_limit.set(settings.spool_limit)

    def start(self) -> None:
        """Hand over what an earlier process left, then accept requests."""
        for path in sorted(self._directory.glob(f"*{SUFFIX}"), key=lambda path: path.stem.split("-")[1:]):
            self._replay(path)
        self._thread.start()

    def append(self, signal: str, payload: bytes, items: int) -> "Future[bool]":
        """A future: True once stored, False when it already was; `SpoolFull` when it cannot be now."""
        waiting = _Waiting(signal, payload, items)
        self._queue.put(waiting)
        return waiting.stored

    def done(self, segment: Segment) -> None:
        """The store has this segment: forget it, but not its digests."""
        try:
            self._digests.keep(segment.digests)
            segment.path.unlink(missing_ok=True)
        except OSError:
            # On a full disk the segment's own room is what the digests need.
            segment.path.unlink(missing_ok=True)
            self._keep_late(segment)
        self._account(segment.signal, -segment.size, -segment.items)

    def stop(self) -> None:
        """Finish what was appended and close every segment."""
        self._queue.put(None)
        self._thread.join()

    def _keep_late(self, segment: Segment) -> None:
        try:
            self._digests.keep(segment.digests)
        except OSError as fault:
            _log.warning("digests of %d requests are not on disk: %s", len(segment.digests), fault.strerror)

    def _replay(self, path: Path) -> None:
        records, damaged, whole = recover(path)
        torn = path.stat().st_size - whole
        signal = path.stem.partition("-")[0]
        if torn:
            self._counters.cut_bytes.inc(torn)
            with path.open("r+b") as file:
                file.truncate(whole)
        if damaged:
            self._counters.lost.labels(signal).inc(damaged)
            _log.error("%s: %d damaged requests cannot be read back", path, damaged)
        if not records:
            path.unlink()
            return
        digests = tuple(record.digest for record in records)
        segment = Segment(path, sum(record.items for record in records), whole, digests)
        self._digests.add(digests)
        self._account(signal, segment.size, segment.items)
        self._counters.replayed.labels(signal).inc(segment.items)
        self._closed(segment)

    def _run(self) -> None:
        running = True
        while running:
            batch = self._batch()
            running = None not in batch
            waiting = [each for each in batch if each and each.stored.set_running_or_notify_cancel()]
            try:
                self._heal()
                for signal, group in _by_signal(waiting):
                    self._store(signal, group)
                self._close_aged(everything=not running)
            except Exception as fault:
                _log.exception("the spool's thread goes on after a fault")
                _fail(waiting, fault)

    def _batch(self) -> list[_Waiting | None]:
        """Everything that waits; waits itself no longer than the oldest open segment may."""
        try:
            batch = [self._queue.get(timeout=self._patience())]
        except Empty:
            return []
        while True:
            try:
                batch.append(self._queue.get_nowait())
            except Empty:
                return batch

    def _patience(self) -> float | None:
        if not self._open:
            return 1.0 if self._stuck else None
        oldest = min(segment.since for segment in self._open.values())
        left = oldest + self._settings.block_seconds - time.monotonic()
        return left if left > 0 else _LOOK_AGAIN

    def _store(self, signal: str, batch: list[_Waiting]) -> None:
        fresh: dict[bytes, tuple[_Waiting, Record]] = {}
        repeated: list[tuple[_Waiting, bytes]] = []
        for waiting in batch:
            key = digest(waiting.payload)
            if key in fresh or key in self._digests:
                repeated.append((waiting, key))
            else:
                fresh[key] = waiting, Record(waiting.payload, waiting.items, key)
        refused: dict[bytes, SpoolFull] = {}
        for chunk in self._chunks(signal, list(fresh.values())):
            fault = self._commit(signal, [record for _, record in chunk])
            for waiting, record in chunk:
                if fault:
                    refused[record.digest] = fault
                    waiting.stored.set_exception(fault)
                else:
                    waiting.stored.set_result(True)
        for waiting, key in repeated:
            if key in refused:
                waiting.stored.set_exception(refused[key])
            else:
                waiting.stored.set_result(False)

    def _chunks(
        self, signal: str, fresh: list[tuple[_Waiting, Record]]
    ) -> Iterator[list[tuple[_Waiting, Record]]]:
        """Cut a batch where a segment becomes full."""
        chunk: list[tuple[_Waiting, Record]] = []
        items = size = 0
        for waiting, record in fresh:
            chunk.append((waiting, record))
            held = self._open.get(signal)
            items, size = items + record.items, size + record.size
            if self._is_full(items + (held.items if held else 0), size + (held.size if held else 0)):
                yield chunk
                chunk, items, size = [], 0, 0
        if chunk:
            yield chunk

    def _is_full(self, items: int, size: int) -> bool:
        return items >= self._settings.block_items or size >= self._settings.block_bytes

    def _commit(self, signal: str, records: list[Record]) -> SpoolFull | None:
        size = sum(record.size for record in records)
        if self._stuck or self._size + size > self._settings.spool_limit:
            return self._refuse(f"the spool holds {self._size} of {self._settings.spool_limit} bytes")
        before = self._open[signal].size if signal in self._open else 0
        try:
            with self._counters.sync_seconds.time():
                segment = self._open.get(signal) or OpenSegment(self._directory, signal)
                self._append(signal, segment, records)
        except OSError as fault:
            return self._refuse(f"the spool cannot be written: {fault.strerror}")
        self._accept(signal, segment.size - before, records)
        if self._is_full(segment.items, segment.size):
            self._closed(self._open.pop(signal).close())
        return None

    def _append(self, signal: str, segment: OpenSegment, records: list[Record]) -> None:
        try:
            segment.append(records)
        except OSError:
            self._open.pop(signal, None)
            self._retire(segment)
            raise
        self._open[signal] = segment

    def _retire(self, segment: OpenSegment) -> None:
        """End a segment whose last write failed, keeping what it held before."""
        try:
            segment.cut()
        except OSError:
            self._stuck.append(segment)
            return
        if segment.items:
            self._closed(segment.close())
        else:
            segment.discard()

    def _heal(self) -> None:
        """Nothing is accepted while a refused request could still be found on disk."""
        stuck, self._stuck = self._stuck, []
        for segment in stuck:
            self._retire(segment)

    def _refuse(self, why: str) -> SpoolFull:
        if not self._full:
            _log.warning("%s: requests are refused until there is room", why)
        self._full = True
        return SpoolFull(why)

    def _accept(self, signal: str, size: int, records: Iterable[Record]) -> None:
        if self._full:
            _log.warning("the spool has room again")
        self._full = False
        self._digests.add(record.digest for record in records)
        self._account(signal, size, sum(record.items for record in records))

    def _close_aged(self, everything: bool) -> None:
        now, seconds = time.monotonic(), self._settings.block_seconds
        for signal, segment in list(self._open.items()):
            age = now - segment.since
            is_due = age >= seconds and (age >= _BUSY_TIMES * seconds or not self._busy(signal))
            if everything or is_due:
                self._closed(self._open.pop(signal).close())

    def _account(self, signal: str, size: int, items: int) -> None:
        with self._lock:
            self._size += size
            self._counters.spool_bytes.set(self._size)
            self._counters.spool_items.labels(signal).inc(items)


def _by_signal(batch: list[_Waiting]) -> Iterator[tuple[str, list[_Waiting]]]:
    groups: dict[str, list[_Waiting]] = {}
    for waiting in batch:
        groups.setdefault(waiting.signal, []).append(waiting)
    yield from groups.items()


def _fail(batch: list[_Waiting], fault: Exception) -> None:
    for waiting in batch:
        if not waiting.stored.done():
            waiting.stored.set_exception(SpoolFull(f"the spool failed: {fault}"))
