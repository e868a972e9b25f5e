"""Closed segments into the store: one segment, one insert, one deduplication token.

A segment is removed from the spool only after its insert returned. While the store is down or unwell,
inserts are tried again with growing pauses and requests wait in the spool. A segment that the store
refuses for its content does not hold up the others: it is halved until the request at fault stands
alone (quarantine.py). Halves have tokens of their own, made from the segment's, so that a repetition
after a crash is still stored once.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, Queue
from threading import Event, Thread

from otel_attrib.collector.counters import Counters
from otel_attrib.collector.quarantine import Quarantine
from otel_attrib.collector.segment import Record, Segment, read
from otel_attrib.errors import StoreError

__all__ = ["Insert", "Writer"]

Insert = Callable[[Sequence[bytes], str], None]

_log = logging.getLogger(__name__)
_PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)

# ClickHouse's codes for bytes that it cannot read or values that it cannot hold.
_CONTENT = frozenset(
    (
        6,  # CANNOT_PARSE_TEXT
        26,  # CANNOT_PARSE_QUOTED_STRING
        27,  # CANNOT_PARSE_INPUT_ASSERTION_FAILED
        32,  # ATTEMPT_TO_READ_AFTER_EOF
        33,  # CANNOT_READ_ALL_DATA
        38,  # CANNOT_PARSE_DATE
        41,  # CANNOT_PARSE_DATETIME
        53,  # TYPE_MISMATCH
        69,  # ARGUMENT_OUT_OF_BOUND
        70,  # CANNOT_CONVERT_TYPE
        72,  # CANNOT_PARSE_NUMBER
        117,  # INCORRECT_DATA
        128,  # TOO_LARGE_ARRAY_SIZE
        131,  # TOO_LARGE_STRING_SIZE
        190,  # SIZES_OF_ARRAYS_DONT_MATCH
        349,  # CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN
        407,  # DECIMAL_OVERFLOW
        436,  # PROTOBUF_BAD_CAST
        444,  # UNKNOWN_PROTOBUF_FORMAT, said of bytes that do not match the schema
    )
)
# Codes for the state of the store, which passes; such a segment waits for as long as it takes.
_STATE = frozenset(
    (
        60,  # UNKNOWN_TABLE
        81,  # UNKNOWN_DATABASE
        159,  # TIMEOUT_EXCEEDED
        160,  # TOO_SLOW
        202,  # TOO_MANY_SIMULTANEOUS_QUERIES
        209,  # SOCKET_TIMEOUT
        210,  # NETWORK_ERROR
        241,  # MEMORY_LIMIT_EXCEEDED
        242,  # TABLE_IS_READ_ONLY
        243,  # NOT_ENOUGH_SPACE
        252,  # TOO_MANY_PARTS
        279,  # ALL_CONNECTION_TRIES_FAILED
        319,  # UNKNOWN_STATUS_OF_INSERT
        394,  # QUERY_WAS_CANCELLED
        497,  # ACCESS_DENIED
        516,  # AUTHENTICATION_FAILED
        999,  # KEEPER_EXCEPTION
    )
)
# A block that still needs more memory than there is after so many tries is halved, and a code of
# neither kind is then taken for the content's.
_PATIENCE = 10
_MEMORY = 241
# Times an insert's duration before the next one that is not full.
_REST = 3.0


class Writer:
    """Threads that insert segments; `inserts` holds one function a signal."""

    def __init__(
        self,
        inserts: Mapping[str, Insert],
        done: Callable[[Segment], None],
        quarantine: Quarantine,
        counters: Counters,
        threads: int = 1,
        pauses: Sequence[float] = _PAUSES,
    ) -> None:
        """`done` is called with every segment that needs no more work."""
        self._inserts = inserts
        self._done = done
        self._quarantine = quarantine
        self._counters = counters
        self._pauses = pauses
        self._threads_each = threads
        self._tries: Counter[str] = Counter()
        self._unwell: set[str] = set()
        self._rests_until = dict.fromkeys(inserts, 0.0)
        self._stopping = Event()
        self._drained = Event()
        self._queues: dict[str, Queue[Segment]] = {signal: Queue() for signal in inserts}
        self._threads = [
            Thread(target=self._run, args=(signal,), name=f"writer-{signal}-{number}", daemon=True)
            for signal in inserts
            for number in range(threads)
        ]

    def start(self) -> None:
        """Begin to insert."""
        for thread in self._threads:
            thread.start()

    def submit(self, segment: Segment) -> None:
        """Insert this segment when its turn comes."""
        self._queues[segment.signal].put(segment)

    def is_busy(self, signal: str) -> bool:
        """Whether one more segment of this signal would have to wait, or would come too soon.

        An insert costs tens of milliseconds whatever is in it: under light load, small inserts are spaced
        so that they take no more than a quarter of one core.
        """
        waiting = self._queues[signal].unfinished_tasks
        return waiting >= self._threads_each or time.monotonic() < self._rests_until[signal]

    def stop(self, seconds: float) -> bool:
        """Insert what is waiting, for so long at most; False when segments are left for the next start."""
        self._drained.set()
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        return all(queue.empty() for queue in self._queues.values())

    def _run(self, signal: str) -> None:
        queue, failures = self._queues[signal], 0
        while not self._stopping.is_set():
            try:
                segment = queue.get(timeout=0.1)
            except Empty:
                if self._drained.is_set():
                    return
                continue
            written = self._write(segment)
            if not written:
                # To the back: should only this one be at fault, the others pass it.
                queue.put(segment)
            queue.task_done()
            if written:
                failures = 0
                continue
            self._stopping.wait(self._pauses[min(failures, len(self._pauses) - 1)])
            failures += 1

    def _write(self, segment: Segment) -> bool:
        try:
            records = read(segment.path)
            written = self._insert(segment.signal, records, segment.token)
        except FileNotFoundError:
            _log.error("%s has vanished from the spool", segment.token)
            self._counters.lost.labels(segment.signal).inc(len(segment.digests))
            written = 0
        except StoreError as fault:
            self._counters.failures.labels(segment.signal).inc()
            self._tries[segment.token] += 1
            if segment.signal not in self._unwell:
                self._unwell.add(segment.signal)
                _log.warning("the store does not take %s, they wait in the spool: %s", segment.signal, fault)
            return False
        except Exception:
            self._counters.failures.labels(segment.signal).inc()
            _log.exception("%s waits", segment.token)
            return False
        if segment.signal in self._unwell:
            self._unwell.discard(segment.signal)
            _log.warning("the store takes %s again", segment.signal)
        self._counters.written.labels(segment.signal).inc(written)
        self._tries.pop(segment.token, None)
        self._done(segment)
        return True

    def _insert(self, signal: str, records: Sequence[Record], token: str) -> int:
        """Insert, halving what the store cannot take; return the number of items inserted."""
        try:
            self._send(signal, [record.payload for record in records], token)
        except StoreError as fault:
            tries = self._tries[token.partition(".")[0]]
            if fault.code == _MEMORY and len(records) > 1 and tries >= _PATIENCE:
                return self._halves(signal, records, token)
            if not _is_content(fault, tries):
                raise
            # A store that refuses even an empty request is unwell; the requests are not at fault.
            self._inserts[signal]([b""], f"{token}.probe")
            if len(records) == 1:
                return self._single(signal, records[0], token, fault)
            return self._halves(signal, records, token)
        return sum(record.items for record in records)

    def _halves(self, signal: str, records: Sequence[Record], token: str) -> int:
        half = len(records) // 2
        first = self._insert(signal, records[:half], f"{token}.0")
        return first + self._insert(signal, records[half:], f"{token}.1")

    def _single(self, signal: str, record: Record, token: str, fault: StoreError) -> int:
        """Try one request once more without what no schema knows; else set it aside."""
        try:
            self._send(signal, [self._quarantine.clean(signal, record.payload)], f"{token}.clean")
        except StoreError as again:
            if not _is_content(again, self._tries[token.partition(".")[0]]):
                raise
            self._quarantine.put(signal, record, token, str(fault))
            return 0
        return record.items

    def _send(self, signal: str, payloads: Sequence[bytes], token: str) -> None:
        began = time.monotonic()
        with self._counters.write_seconds.time():
            self._inserts[signal](payloads, token)
        ended = time.monotonic()
        self._rests_until[signal] = ended + _REST * (ended - began)
        self._counters.blocks.labels(signal).inc()


def _is_content(fault: StoreError, tries: int) -> bool:
    """Whether the requests are at fault, and not the store's state."""
    if fault.code is None or fault.code in _STATE:
        return False
    return fault.code in _CONTENT or tries >= _PATIENCE
