"""The spool: acknowledged means on disk, full means refused, and a crash loses and doubles nothing."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.collector.counters import Counters
from otel_attrib.collector.segment import Segment, read, recover
from otel_attrib.collector.spool import Spool, SpoolFull
from otel_attrib.config import Settings

Make = Callable[..., Spool]


class Sink(list[Segment]):
    """Closed segments in the order in which they came."""

    def __init__(self) -> None:
        """Nothing has come."""
        self.came = threading.Condition()

    def __call__(self, segment: Segment) -> None:
        """Take one."""
        with self.came:
            self.append(segment)
            self.came.notify_all()

    def wait(self, number: int) -> list[Segment]:
        """Until so many have come."""
        with self.came:
            assert self.came.wait_for(lambda: len(self) >= number, timeout=10)
        return list(self)

    def payloads(self) -> list[bytes]:
        """Every payload on disk."""
        return [record.payload for segment in self for record in read(segment.path)]


@pytest.fixture
def sink() -> Sink:
    """Where closed segments go."""
    return Sink()


@pytest.fixture
def counters() -> Counters:
    """Fresh counters."""
    return Counters()


@pytest.fixture
def make(tmp_path: Path, sink: Sink, counters: Counters) -> Iterator[Make]:
    """Make a started spool in the test's directory; all are stopped at the end."""
    made: list[Spool] = []

    def spool(busy: Callable[[str], bool] = lambda signal: False, **values: Any) -> Spool:
        new = Spool(tmp_path, Settings(**{"block_seconds": 0.02, **values}), counters, sink, busy)
        new.start()
        made.append(new)
        return new

    yield spool
    for each in made:
        if each._thread.is_alive():
            each.stop()


def test_acknowledged_is_on_disk(make: Make, tmp_path: Path) -> None:
    """When the future is done the record can be read from the file, before the file is closed."""
    spool = make(block_seconds=60)

    assert spool.append("traces", b"one", 7).result(5) is True
    (path,) = tmp_path.glob("traces-*.seg")
    records, damaged, _ = recover(path)
    assert ([b"one"], [7], 0) == ([r.payload for r in records], [r.items for r in records], damaged)


def test_segment_is_closed_by_age(make: Make, sink: Sink) -> None:
    """One small request does not wait for others."""
    make().append("logs", b"x", 1)

    (segment,) = sink.wait(1)
    assert ("logs", 1) == (segment.signal, segment.items)


def test_segment_is_closed_by_items(make: Make, sink: Sink) -> None:
    """Ten requests of 4 items in blocks of 10 become segments of 12, 12, 12 and the rest."""
    spool = make(block_seconds=60, block_items=10)
    for number in range(10):
        spool.append("traces", b"%d" % number, 4).result(5)
    spool.stop()

    assert [12, 12, 12, 4] == [segment.items for segment in sink]


def test_segment_is_closed_by_bytes(make: Make, sink: Sink) -> None:
    """No segment grows by more than one request beyond its size."""
    spool = make(block_seconds=60, block_bytes=1000)
    futures = [spool.append("traces", bytes([number]) * 400, 1) for number in range(9)]
    assert [True] * 9 == [future.result(5) for future in futures]
    spool.stop()

    assert [3, 3, 3] == [segment.items for segment in sink]


def test_segment_grows_while_the_store_is_busy(make: Make, sink: Sink) -> None:
    """A busy store gets fewer and larger inserts; eight times the wait is the longest."""
    busy = threading.Event()
    busy.set()
    spool = make(busy=lambda signal: busy.is_set(), block_seconds=0.1)
    for number in range(3):
        spool.append("traces", b"%d" % number, 1).result(5)
    time.sleep(0.2)
    assert [] == list(sink)
    busy.clear()
    assert [3] == [segment.items for segment in sink.wait(1)]

    busy.set()
    began = time.monotonic()
    spool.append("traces", b"last", 1).result(5)
    assert [3, 1] == [segment.items for segment in sink.wait(2)]
    assert 0.8 <= time.monotonic() - began


def test_signals_do_not_mix(make: Make, sink: Sink) -> None:
    """Every signal has files of its own, though bytes are the same."""
    spool = make(block_seconds=60)
    for signal in ("traces", "metrics", "logs"):
        assert spool.append(signal, signal.encode(), 1).result(5)
    spool.stop()

    assert ["logs", "metrics", "traces"] == sorted(segment.signal for segment in sink)


def test_repeated_request(make: Make, sink: Sink) -> None:
    """The same bytes are stored once: in one batch, later, and after the store has them."""
    spool = make()
    first, second = spool.append("traces", b"same", 1), spool.append("traces", b"same", 1)
    assert [True, False] == [first.result(5), second.result(5)]
    assert spool.append("traces", b"same", 1).result(5) is False
    (segment,) = sink.wait(1)
    spool.done(segment)

    assert spool.append("traces", b"same", 1).result(5) is False
    assert spool.append("traces", b"other", 1).result(5) is True


def test_repeated_after_restart(make: Make, sink: Sink) -> None:
    """A retry that reaches the next process is known, be its first copy in the spool or in the store."""
    first = make()
    first.append("traces", b"stored", 1).result(5)
    first.done(sink.wait(1)[0])
    first.append("traces", b"waiting", 1).result(5)
    first.stop()
    second = make()

    assert [False, False, True] == [
        second.append("traces", word, 1).result(5) for word in (b"stored", b"waiting", b"new")
    ]


def test_replay(make: Make, sink: Sink, counters: Counters) -> None:
    """What a process left is handed over by the next one, in order, under the same tokens."""
    first = make(block_items=1)
    for word in (b"a", b"b", b"c"):
        first.append("traces", word, 2).result(5)
    first.stop()
    left, sink[:] = [segment.token for segment in sink], []
    make()

    assert left == [segment.token for segment in sink]
    assert [b"a", b"b", b"c"] == sink.payloads()
    assert 6.0 == counters.totals()['replayed_items_total{signal="traces"}']


def test_replay_cuts_a_torn_tail(make: Make, sink: Sink, tmp_path: Path, counters: Counters) -> None:
    """A file torn by a crash is cut at its last whole record, and a file without any is removed."""
    first = make(block_seconds=60)
    first.append("traces", b"whole", 1).result(5)
    first.append("traces", b"torn" * 100, 1).result(5)
    first.stop()
    os.truncate(sink[0].path, sink[0].size - 7)
    (tmp_path / "logs-00000000000000000001-aaaa.seg").write_bytes(b"OASP")
    del sink[:]
    make()

    assert [b"whole"] == sink.payloads()
    assert sink[0].size == sink[0].path.stat().st_size
    assert [] == list(tmp_path.glob("logs-*.seg"))
    assert 28 + 400 - 7 + 4 == counters.totals()["spool_cut_bytes_total"]


def test_limit_refuses_and_recovers(make: Make, sink: Sink) -> None:
    """Over the limit requests are refused; once the store took a segment they are accepted again."""
    spool = make(spool_limit=1000)
    assert spool.append("traces", bytes(800), 1).result(5)
    with pytest.raises(SpoolFull, match="of 1000 bytes"):
        spool.append("traces", bytes(801), 1).result(5)
    spool.done(sink.wait(1)[0])

    assert spool.append("traces", bytes(801), 1).result(5) is True


def test_refused_is_not_remembered(make: Make, sink: Sink) -> None:
    """A refused request is stored when it comes again: it must not pass for a repetition."""
    spool = make(spool_limit=1000)
    spool.append("traces", b"a" * 900, 1).result(5)
    for _ in range(2):
        with pytest.raises(SpoolFull):
            spool.append("traces", b"b" * 900, 1).result(5)
    spool.done(sink.wait(1)[0])

    assert spool.append("traces", b"b" * 900, 1).result(5) is True
    assert b"b" * 900 == read(sink.wait(2)[1].path)[0].payload


@pytest.mark.parametrize("call", ["write", "fdatasync"])
def test_failing_disk(make: Make, sink: Sink, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """A failed write or sync refuses its own requests only; those before and after it are kept."""
    spool = make(block_seconds=60)
    spool.append("traces", b"before", 1).result(5)

    def broken(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, broken)
        with pytest.raises(SpoolFull, match="No space left"):
            spool.append("traces", b"during", 1).result(5)
    assert spool.append("traces", b"after", 1).result(5)
    spool.stop()

    assert [b"before", b"after"] == sink.payloads()


def test_nothing_is_accepted_while_a_refused_record_lies_on_disk(
    make: Make, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a refused record cannot even be taken back, everything is refused until it can."""
    spool = make(block_seconds=60)
    spool.append("traces", b"before", 1).result(5)

    def broken(*_: object) -> int:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", broken)
        patch.setattr(os, "ftruncate", broken)
        with pytest.raises(SpoolFull):
            spool.append("traces", b"during", 1).result(5)
        patch.undo()
        patch.setattr(os, "ftruncate", broken)
        with pytest.raises(SpoolFull):
            spool.append("traces", b"still", 1).result(5)
    assert spool.append("traces", b"after", 1).result(5)
    spool.stop()

    assert [b"before", b"after"] == sink.payloads()


def test_cancelled_request_harms_nobody(make: Make) -> None:
    """A client that went away before its turn leaves the thread working."""
    spool = make()
    spool.append("traces", b"gone", 1).cancel()

    assert spool.append("traces", b"here", 1).result(5) is True


def test_account(make: Make, sink: Sink, counters: Counters, tmp_path: Path) -> None:
    """The gauge is the bytes on disk, and 0 when the store has everything."""
    spool = make(block_items=2)
    for number in range(5):
        spool.append("traces", b"%d" % number * 100, 1).result(5)
    spool.stop()
    on_disk = sum(path.stat().st_size for path in tmp_path.glob("*.seg"))

    assert on_disk == counters.totals()["spool_bytes"]
    for segment in list(sink):
        spool.done(segment)
    assert [] == list(tmp_path.glob("*.seg"))
    assert "spool_bytes" not in counters.totals()
    assert 'spool_items{signal="traces"}' not in counters.totals()


def test_many_threads(make: Make, sink: Sink) -> None:
    """Two hundred requests from eight threads: each stored exactly once."""
    spool = make(block_items=17)

    def send(first: int) -> None:
        for number in range(first, first + 25):
            assert spool.append("traces", b"%d" % number, 1).result(10)

    threads = [threading.Thread(target=send, args=(100 * k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spool.stop()

    assert sorted(b"%d" % (100 * k + n) for k in range(8) for n in range(25)) == sorted(sink.payloads())
