"""What waits is bounded, oldest out first, and every point is accounted for."""

import os
import random

from otel_attrib.collector.agent.backlog import Backlog


def test_first_in_first_out() -> None:
    """Bodies come out as they went in, packed or not."""
    backlog, bodies = Backlog(1 << 20), [bytes([n]) * 100 for n in range(5)]
    for body in bodies:
        backlog.add(body, 3)
    backlog.pack()
    backlog.add(b"last", 3)

    assert 18 == backlog.points
    assert [*bodies, b"last"] == [backlog.pop().body() for _ in range(len(backlog))]


def test_the_oldest_are_dropped_and_counted() -> None:
    """At any moment added = waiting + taken + dropped, within the limit of compressed bytes."""
    rng = random.Random(3)
    backlog, added, taken, dropped = Backlog(10_000), 0, 0, 0
    for _ in range(500):
        points = rng.randrange(1, 50)
        backlog.add(os.urandom(rng.randrange(10, 2000)), points)
        added += points
        if rng.random() < 0.2 and len(backlog):
            taken += backlog.pop().points
        dropped += backlog.pack()

        assert added == backlog.points + taken + dropped
        assert sum(len(each.data) for each in backlog._waiting) <= 10_000
    assert dropped > 0


def test_one_request_beyond_the_limit() -> None:
    """What can never fit is dropped, and counted like the rest."""
    backlog = Backlog(1000)
    backlog.add(os.urandom(5000), 7)

    assert (7, 0) == (backlog.pack(), len(backlog))


def test_waiting_requests_are_compressed() -> None:
    """Repeated points shrink to less than a twentieth."""
    backlog = Backlog(1 << 20)
    backlog.add(b"hw.gpu.clock.graphics" * 10_000, 1)
    backlog.pack()

    assert len(backlog.first().data) < 210_000 / 20
