"""The writer: every segment once, whatever the store says in between."""

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_attrib.collector.counters import Counters
from otel_attrib.collector.quarantine import Quarantine
from otel_attrib.collector.segment import OpenSegment, Record, Segment, digest
from otel_attrib.collector.writer import Writer
from otel_attrib.errors import StoreError

DOWN = StoreError("store cannot be reached")
BAD = StoreError("Code: 33. Cannot read all data", 33)
POISON = ExportTraceServiceRequest.FromString(b"\x0a\x00\xfa\x07\x03bad").SerializeToString()
STUBBORN = b"\x0a\x00\x0a\x00"


class FakeStore:
    """Remembers tokens and payloads like deduplicating tables; says what `fault` says first."""

    def __init__(self, fault: Callable[[Sequence[bytes]], StoreError | None] = lambda payloads: None) -> None:
        """Start empty."""
        self.fault = fault
        self.blocks: dict[str, list[bytes]] = {}
        self.calls: list[str] = []

    def insert(self, payloads: Sequence[bytes], token: str) -> None:
        """One insert."""
        self.calls.append(token)
        found = self.fault(payloads)
        if found:
            raise found
        self.blocks.setdefault(token, list(payloads))

    @property
    def payloads(self) -> list[bytes]:
        """Everything stored, without the writer's empty probes."""
        return sorted(payload for block in self.blocks.values() for payload in block if payload)


class Bench:
    """A writer over a fake store and a directory of segments."""

    def __init__(self, directory: Path, store: FakeStore) -> None:
        """Start the writer."""
        self.directory = directory
        self.counters = Counters()
        self.done: list[str] = []
        self.all_done = threading.Condition()
        quarantine = Quarantine(directory / "quarantine", self.counters, limit=1000)
        inserts = {"traces": store.insert, "logs": store.insert}
        self.writer = Writer(inserts, self._done, quarantine, self.counters, pauses=(0.01,))
        self.writer.start()

    def _done(self, segment: Segment) -> None:
        with self.all_done:
            self.done.append(segment.token)
            self.all_done.notify_all()

    def submit(self, *payloads: bytes, signal: str = "traces") -> str:
        """Write one segment and hand it over."""
        segment = OpenSegment(self.directory, signal)
        segment.append([Record(payload, 1, digest(payload)) for payload in payloads])
        closed = segment.close()
        self.writer.submit(closed)
        return closed.token

    def wait(self, number: int) -> list[str]:
        """Until so many segments are done."""
        with self.all_done:
            assert self.all_done.wait_for(lambda: len(self.done) >= number, timeout=10)
        return self.done

    def total(self, name: str) -> float:
        """One counter of traces."""
        return self.counters.totals().get(f'{name}{{signal="traces"}}', 0.0)


def test_one_segment_is_one_insert(tmp_path: Path) -> None:
    """The token is the segment's name, the payloads come in order."""
    store = FakeStore()
    bench = Bench(tmp_path, store)
    token = bench.submit(b"a", b"b")

    assert [token] == bench.wait(1)
    assert {token: [b"a", b"b"]} == store.blocks
    assert (2.0, 1.0) == (bench.total("written_items_total"), bench.total("written_blocks_total"))


def test_small_inserts_are_spaced(tmp_path: Path) -> None:
    """A signal is busy during an insert and for three times as long after it; another signal is not."""
    store = FakeStore()
    bench = Bench(tmp_path, store)
    assert not bench.writer.is_busy("traces")
    store.fault = lambda payloads: time.sleep(0.2)
    began = time.monotonic()
    bench.submit(b"a")
    bench.wait(1)
    took = time.monotonic() - began

    assert (True, False) == (bench.writer.is_busy("traces"), bench.writer.is_busy("logs"))
    time.sleep(3 * took)
    assert not bench.writer.is_busy("traces")


def test_store_down(tmp_path: Path) -> None:
    """Inserts are tried again under the same token until the store is back; nothing is halved."""
    attempts = iter([DOWN, DOWN, StoreError("Code: 252. Too many parts", 252), None])
    store = FakeStore(lambda payloads: next(attempts))
    bench = Bench(tmp_path, store)
    token = bench.submit(b"a", b"b")

    assert [token] == bench.wait(1)
    assert [token] * 4 == store.calls
    assert 3.0 == bench.total("write_failures_total")


def test_one_bad_request_is_found(tmp_path: Path) -> None:
    """Seven of eight requests are stored; the eighth lies in quarantine with the reason."""
    store = FakeStore(lambda payloads: BAD if STUBBORN in payloads else None)
    bench = Bench(tmp_path, store)
    good = [b"\x0a\x00" * number for number in range(3, 10)]
    token = bench.submit(*good[:5], STUBBORN, *good[5:])
    bench.wait(1)

    assert sorted(good) == store.payloads
    (body,) = (tmp_path / "quarantine").glob("*.pb")
    assert STUBBORN == body.read_bytes()
    assert "Cannot read all data" in body.with_suffix(".txt").read_text()
    assert body.name.startswith(token)
    assert (7.0, 1.0) == (bench.total("written_items_total"), bench.total("quarantined_items_total"))


def test_unknown_fields_are_taken_out(tmp_path: Path) -> None:
    """A request at fault only for a field that no schema knows is stored without it."""
    store = FakeStore(lambda payloads: BAD if POISON in payloads else None)
    bench = Bench(tmp_path, store)
    bench.submit(b"\x0a\x00" * 3, POISON)
    bench.wait(1)

    assert [b"\x0a\x00", b"\x0a\x00" * 3] == store.payloads
    assert (2.0, 0.0) == (bench.total("written_items_total"), bench.total("quarantined_items_total"))


def test_others_pass(tmp_path: Path) -> None:
    """A segment that the store will not take now does not hold up the next ones, nor another signal's."""
    store = FakeStore(lambda payloads: DOWN if b"stuck" in payloads else None)
    bench = Bench(tmp_path, store)
    bench.submit(b"stuck")
    others = [bench.submit(b"a"), bench.submit(b"b"), bench.submit(b"log", signal="logs")]

    assert sorted(others) == sorted(bench.wait(3))
    store.fault = lambda payloads: None
    assert 4 == len(bench.wait(4))


def test_unwell_store_is_no_reason_for_quarantine(tmp_path: Path) -> None:
    """While even an empty request is refused, nothing is set aside."""
    sick = threading.Event()
    sick.set()
    store = FakeStore(lambda payloads: BAD if sick.is_set() else None)
    bench = Bench(tmp_path, store)
    bench.submit(b"a", b"b")
    time.sleep(0.1)
    sick.clear()
    bench.wait(1)

    assert [b"a", b"b"] == store.payloads
    assert not (tmp_path / "quarantine").exists()


def test_unknown_code(tmp_path: Path) -> None:
    """A code of which it is not known whose fault it means is tried ten times before it is the content's."""
    store = FakeStore(lambda payloads: StoreError("Code: 1. New", 1) if STUBBORN in payloads else None)
    bench = Bench(tmp_path, store)
    token = bench.submit(b"\x0a\x00" * 3, STUBBORN)
    bench.wait(1)

    assert 11 == store.calls.count(token)
    assert [b"\x0a\x00" * 3] == store.payloads
    assert 1.0 == bench.total("quarantined_items_total")


def test_block_too_large_for_the_stores_memory(tmp_path: Path) -> None:
    """Tried ten times as it is, for memory comes and goes, and then by halves; nothing is set aside."""
    full = StoreError("Code: 241. Memory limit exceeded", 241)
    store = FakeStore(lambda payloads: full if len(payloads) > 2 else None)
    bench = Bench(tmp_path, store)
    token = bench.submit(b"a", b"b", b"c", b"d")
    bench.wait(1)

    assert {f"{token}.0": [b"a", b"b"], f"{token}.1": [b"c", b"d"]} == store.blocks
    assert (11, 4.0) == (store.calls.count(token), bench.total("written_items_total"))


def test_quarantine_is_bounded(tmp_path: Path) -> None:
    """Past its limit a refused request is counted as lost."""
    large = b"\x0a\x00" * 400
    store = FakeStore(lambda payloads: BAD if any(len(p) > 700 for p in payloads) else None)
    bench = Bench(tmp_path, store)
    bench.submit(large)
    bench.submit(large + b"\x0a\x00")
    bench.wait(2)

    assert (2.0, 1.0) == (bench.total("quarantined_items_total"), bench.total("lost_requests_total"))


def test_stop_leaves_the_rest(tmp_path: Path) -> None:
    """With the store down, stopping ends in time and leaves the segment for the next start."""
    store = FakeStore(lambda payloads: DOWN)
    bench = Bench(tmp_path, store)
    token = bench.submit(b"a")

    assert bench.writer.stop(0.2) is False
    assert [f"{token}.seg"] == [path.name for path in tmp_path.glob("*.seg")]


def test_stop_drains(tmp_path: Path) -> None:
    """With the store up, everything submitted is stored when `stop` returns."""
    store = FakeStore()
    bench = Bench(tmp_path, store)
    for number in range(20):
        bench.submit(b"%d" % number)

    assert bench.writer.stop(10) is True
    assert 20 == len(store.payloads)


def test_vanished_segment(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A file removed by hand is counted as lost and holds nobody up."""
    bench = Bench(tmp_path, FakeStore())
    bench.writer.submit(Segment(tmp_path / "traces-1-a.seg", 3, 100, (b"x" * 16,)))
    bench.wait(1)

    assert 1.0 == bench.total("lost_requests_total")
    assert "vanished" in caplog.text
