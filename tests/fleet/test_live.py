"""A simulation in real time: every item once, none before it happened."""

from collections.abc import Iterable
from datetime import datetime

import pytest

from otel_attrib.collector.signals import METRICS, TRACES, Signal
from otel_attrib.collector.validate import item_lists
from otel_attrib.errors import DataError
from otel_attrib.fleet import Simulation, load_scenario, simulate
from otel_attrib.fleet.live import by_second, later, send_live
from otel_attrib.fleet.otlp import metric_exports, request_exports, step_exports

SECOND_NS = 1_000_000_000


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    """A few requests."""
    return simulate(load_scenario("clock-throttle", ("windows.requests=80", "windows.warmup=1")), 2)


def items(signal: Signal, bodies: Iterable[bytes]) -> list[bytes]:
    """Every item, sorted."""
    found = [signal.decode(body) for body in bodies]
    return sorted(
        item.SerializeToString(deterministic=True)
        for request in found
        for each in item_lists(signal, request)
        for item in each
    )


class Kept:
    """A stand-in for a delivery: keeps what it is given and when, by a clock that only sleep moves."""

    shown = "a test"

    def __init__(self, now: float, refuses: int = 0) -> None:
        """Start the clock; `refuses` items of each request are refused."""
        self.now, self.refuses = now, refuses
        self.sent: list[tuple[float, Signal, bytes]] = []

    def send(self, signal: Signal, body: bytes) -> int:
        """Keep it."""
        self.sent.append((self.now, signal, body))
        return self.refuses

    def finish(self) -> None:
        """Nothing is under way."""

    def sleep(self, seconds: float) -> None:
        """Move the clock."""
        self.now += seconds


def test_cutting_keeps_every_item(simulation: Simulation) -> None:
    """Spans of requests and steps and readings are the same before and after, whatever the second."""
    for signal, exports in (
        (TRACES, request_exports),
        (TRACES, step_exports),
        (METRICS, metric_exports),
    ):
        bodies = [body for _, body in exports(simulation)]
        cut = by_second(signal, bodies)

        assert items(signal, bodies) == items(signal, cut.values())
        assert list(cut) == sorted(cut) and len(cut) > 1


def test_a_request_is_cut_by_its_end(simulation: Simulation) -> None:
    """No span of a second ends after it or more than a second before it, and a resource stands once."""
    for second, body in by_second(TRACES, (body for _, body in request_exports(simulation))).items():
        request = TRACES.decode(body)
        ends = [span.end_time_unix_nano for each in item_lists(TRACES, request) for span in each]
        resources = [group.resource.SerializeToString(deterministic=True) for group in request.resource_spans]

        assert (second - 1) * SECOND_NS < min(ends) and max(ends) <= second * SECOND_NS
        assert len(set(resources)) == len(resources)


def test_nothing_is_sent_before_it_happened(simulation: Simulation) -> None:
    """The baseline goes at once, the current window in its own time, moved to now; together they are all."""
    now = 1_900_000_000.4
    kept, told = Kept(now), list[datetime]()
    sent = send_live(simulation, kept, told.append, lambda: kept.now, kept.sleep)  # type: ignore[arg-type]
    shift = round((sent.began - simulation.windows[1].start).total_seconds())
    early = [
        span.end_time_unix_nano / SECOND_NS - at
        for at, signal, body in kept.sent
        if signal is TRACES
        for each in item_lists(TRACES, TRACES.decode(body))
        for span in each
    ]
    spans = [body for exports in (request_exports, step_exports) for _, body in exports(simulation)]
    back = [later(TRACES, body, -shift) for _, signal, body in kept.sent if signal is TRACES]

    assert [sent.began] == told and 0 <= sent.began.timestamp() - now < 1
    assert max(early) <= 0
    assert items(TRACES, spans) == items(TRACES, back)
    assert sent.live_s == pytest.approx(simulation.windows[1].length.total_seconds(), abs=40)
    assert sent.past_s > 0 and sent.latest_s == 0


def test_refused_items_are_an_error(simulation: Simulation) -> None:
    """What a receiver refuses is said, not dropped."""
    kept = Kept(1_900_000_000.0, refuses=3)
    with pytest.raises(DataError, match="a test refused"):
        send_live(simulation, kept, lambda began: None, lambda: kept.now, kept.sleep)  # type: ignore[arg-type]
