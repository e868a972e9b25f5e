"""From readings to requests: nothing is lost without being counted, whatever the collector does."""

import random
from collections.abc import Callable

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from otel_attrib.collector.agent import export as module
from otel_attrib.collector.agent.export import Export
from otel_attrib.collector.agent.readings import Layouts
from otel_attrib.collector.agent.source import series
from otel_attrib.collector.agent.transport import Answer
from otel_attrib.testing_agent import StillClock

CARDS = [series("gpu_clock", str(n)) for n in range(8)]
AWAY = Answer(again=True, kept=False, why="connection refused")


class Way:
    """A transport that answers as told and keeps what was kept; a stand-in for a collector."""

    where = "http://collector:4318/v1/metrics"

    def __init__(self, answer: Callable[[], Answer] = Answer) -> None:
        """Ask `answer` each time."""
        self.answer = answer
        self.tries = 0
        self.kept: list[bytes] = []
        self.closed = False

    def send(self, body: bytes) -> Answer:
        """Keep the body where the answer says so."""
        self.tries += 1
        answer = self.answer()
        if answer.kept:
            self.kept.append(body)
        return answer

    def close(self) -> None:
        """Note it."""
        self.closed = True

    @property
    def values(self) -> list[float]:
        """Every value that was kept, in order of arrival."""
        metrics = [
            metric
            for body in self.kept
            for metric in ExportMetricsServiceRequest.FromString(body)
            .resource_metrics[0]
            .scope_metrics[0]
            .metrics
        ]
        return [point.as_double for metric in metrics for point in metric.gauge.data_points]


class Bench:
    """An export over a still clock, fed with numbered readings."""

    def __init__(self, way: Way, **more: int) -> None:
        """Send every five seconds."""
        self.still = StillClock()
        self.way = way
        self.export = Export(way, {"host.name": "n"}, 5.0, clock=self.still.clock, **more)
        self.layouts = Layouts()
        self.taken = 0

    def take(self, count: int = 1) -> None:
        """Read eight cards so many times."""
        for _ in range(count):
            pairs = [(card, float((self.taken + n) % 5000)) for n, card in enumerate(CARDS)]
            self.export.take(self.still.ns, self.layouts.taken(pairs)[0])
            self.taken += len(CARDS)

    def round(self) -> float:
        """Three reads, five seconds, a flush; the wait that it asks for."""
        self.take(3)
        self.still.pass_s(5)
        return self.export.flush()

    @property
    def accounted(self) -> int:
        """Readings of which the export says where they are."""
        counts = self.export.counts
        return counts.sent + counts.lost.total() + self.export.waiting


def test_everything_arrives_in_one_request_a_round() -> None:
    """Three rounds of 24 readings are three requests with all of them."""
    bench = Bench(Way())
    waits = [bench.round() for _ in range(3)]

    assert [5.0, 5.0, 5.0] == waits
    assert (72, 72, 3) == (bench.taken, bench.export.counts.sent, bench.way.tries)
    assert [float(n) for n in range(72)] == sorted(bench.way.values)


def test_nothing_read_sends_nothing() -> None:
    """A round without readings makes no request."""
    bench = Bench(Way())
    bench.export.flush()

    assert 0 == bench.way.tries


def test_an_outage_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """While the collector is away readings wait, with ever rarer tries; then all arrive, and that is said."""
    away = True
    bench = Bench(Way(lambda: AWAY if away else Answer()))
    for _ in range(24):
        bench.round()
    tries, said = bench.way.tries, len(caplog.records)
    away = False
    bench.still.pass_s(120)
    bench.round()

    assert 3 <= tries <= 10
    assert 1 == said
    assert (600, 600, 0) == (bench.taken, bench.export.counts.sent, bench.export.counts.lost.total())
    assert [float(n) for n in range(600)] == sorted(bench.way.values)
    assert "takes readings again" in caplog.text


def test_what_a_collector_asks_for_is_waited() -> None:
    """With Retry-After of 30 s nothing is tried before, and the next try is right after."""
    bench = Bench(Way(lambda: Answer(True, 30.0, False, why="HTTP 503")))
    bench.round()
    for _ in range(5):
        bench.round()
    before = bench.way.tries
    bench.round()

    assert (1, 2) == (before, bench.way.tries)


def test_a_collector_that_asks_for_no_wait_is_not_stormed() -> None:
    """Retry-After of nought is half a second, and of a week an hour."""
    asked = 0.0
    bench = Bench(Way(lambda: Answer(True, asked, False, why="HTTP 503")))
    bench.round()
    bench.still.pass_s(0.4)
    bench.export.flush()
    tries = [bench.way.tries]
    asked = 7 * 86_400.0
    bench.still.pass_s(0.2)
    bench.export.flush()
    bench.still.pass_s(3599.0)
    bench.export.flush()
    tries.append(bench.way.tries)
    bench.still.pass_s(2.0)
    bench.export.flush()

    assert [1, 2, 3] == [*tries, bench.way.tries]


def test_a_full_buffer_drops_the_oldest_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    """Of a long outage the last readings are kept; each dropped one is counted."""
    away = True
    bench = Bench(Way(lambda: AWAY if away else Answer()), limit=3000)
    for _ in range(200):
        bench.round()

        assert bench.taken == bench.accounted
    away = False
    bench.still.pass_s(120)
    bench.round()
    lost = bench.export.counts.lost["buffer_full"]

    assert lost > 0
    assert bench.taken == bench.export.counts.sent + lost
    assert [float(n % 5000) for n in range(lost, bench.taken)] == sorted(bench.way.values)
    assert 1 == sum("the oldest are dropped" in record.getMessage() for record in caplog.records)


def test_refused_requests_are_counted_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """A collector that never takes anything costs every reading, one line, and no retry."""
    bench = Bench(Way(lambda: Answer(kept=False, why="HTTP 401 Unauthorized")))
    for _ in range(4):
        bench.round()

    assert {"refused": 96} == {reason: n for reason, n in bench.export.counts.lost.items() if n}
    assert 4 == bench.way.tries
    assert 1 == len(caplog.records)
    assert "401" in caplog.text


def test_rejected_points_are_counted() -> None:
    """A partial success splits a request into sent and lost."""
    bench = Bench(Way(lambda: Answer(rejected=5, why="too old")))
    bench.round()

    assert (19, 5) == (bench.export.counts.sent, bench.export.counts.lost["rejected"])


def test_readings_beyond_all_bounds_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one request takes very long, what is gathered is bounded."""
    monkeypatch.setattr(module, "_MOST_GATHERED", 100)
    bench = Bench(Way())
    bench.take(20)
    bench.export.flush()

    assert (96, 64) == (bench.export.counts.sent, bench.export.counts.lost["busy"])


def test_stopping_sends_the_rest() -> None:
    """The last readings leave although their round was not over, and the connection is closed."""
    bench = Bench(Way())
    bench.take(2)
    bench.export.stop(1.0)

    assert (16, True) == (bench.export.counts.sent, bench.way.closed)


def test_stopping_while_the_collector_is_away(caplog: pytest.LogCaptureFixture) -> None:
    """One try, then the rest is counted as lost and said."""
    bench = Bench(Way(lambda: AWAY))
    bench.take(2)
    bench.export.stop(1.0)

    assert (1, 16) == (bench.way.tries, bench.export.counts.lost["stopped"])
    assert "16 readings were not sent" in caplog.text


def test_a_flaky_collector_and_every_reading() -> None:
    """Whatever answers come, in any order: taken = sent + lost + waiting, after every round."""
    rng = random.Random(11)
    answers = [
        Answer(),
        AWAY,
        Answer(True, 9.0, False, why="503"),
        Answer(kept=False, why="400"),
        Answer(rejected=2),
    ]
    bench = Bench(Way(lambda: rng.choice(answers)), limit=2500)
    for _ in range(300):
        bench.round()

        assert bench.taken == bench.accounted


def test_the_thread_sends_by_itself() -> None:
    """Started, it sends within its interval."""
    from otel_attrib.testing_agent import wait_until

    way = Way()
    export = Export(way, {"host.name": "n"}, 0.05)
    export.start()
    export.take(1, Layouts().taken([(CARDS[0], 1.0)])[0])

    assert wait_until(lambda: export.counts.sent == 1)
    export.stop(2.0)
