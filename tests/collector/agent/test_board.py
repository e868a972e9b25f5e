"""The board's sink: what engines find on it is what the sources read."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from otel_attrib.collector.agent.board import Board
from otel_attrib.collector.agent.readings import Layouts
from otel_attrib.collector.agent.source import Reading, Unavailable, series
from otel_attrib.schema.board import Reader

WALL, MONOTONIC = 10**18, 5 * 10**9
SECOND = 10**9


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    """A board on clocks that stand still."""
    made = Board(tmp_path / "board", wall=lambda: WALL, monotonic=lambda: MONOTONIC)
    yield made
    made.close()


class Feed:
    """Gives batches to a board as the agent does."""

    def __init__(self, board: Board) -> None:
        """Give to `board`."""
        self.board = board
        self.layouts = Layouts()

    def __call__(self, seconds: float, *readings: Reading) -> None:
        """One batch, read so many seconds after the clocks stood still."""
        taken, refused = self.layouts.taken(readings)
        assert [] == refused
        self.board.take(WALL + round(seconds * SECOND), taken)


def between(board: Board, place: str, start: float, end: float) -> dict[str, float]:
    """Means over the time read, of all rings of a place."""
    reader = Reader(board.path)
    bounds = MONOTONIC + round(start * SECOND), MONOTONIC + round(end * SECOND)
    return {
        name: grown / found.known
        for found in reader.between(place, *bounds)
        for name, grown in found.grown.items()
    }


def test_gauges_and_totals(board: Board) -> None:
    """A gauge stands for the time before its reading; a total's increase counts, so does a restart."""
    feed = Feed(board)
    clock, activity = series("gpu_clock", "0"), series("sm_activity", "0")
    waits = [series("run_queue_wait", process__pid=str(pid)) for pid in (7, 8)]
    for second, (mhz, busy) in enumerate([(1, 0.1), (1980, 0.5), (1410, 0.9)]):
        feed(second, (clock, mhz), (activity, busy))
    for second, pair in enumerate([(100.0, 5.0), (100.2, 5.1), (100.2, 0.3)]):
        feed(second, *zip(waits, pair, strict=True))

    assert {"gpu_clock": 1980, "sm_activity": 0.5} == between(board, "0", 0, 1)
    assert pytest.approx({"gpu_clock": 1695, "sm_activity": 0.7}) == between(board, "0", 0, 2)
    assert pytest.approx({"run_queue_wait": 0.3}) == between(board, "", 0, 1)
    assert pytest.approx({"run_queue_wait": 0.3}) == between(board, "", 1, 2)


def test_throttling_by_reason(board: Board) -> None:
    """Reasons are added, to no more than the time that passed; a card's own share beats their times."""
    feed = Feed(board)
    names = ("power", "thermal")
    shares = [series("gpu_throttled", "0", hw__gpu__throttle_reasons=name) for name in names]
    times = [series("gpu_throttle_time", "1", hw__gpu__throttle_reasons=name) for name in names]
    both = [series("gpu_throttle_time", "2"), series("gpu_throttled", "2")]
    for second in range(3):
        readings = [(one, 0.25) for one in shares] + [(one, 9 + 0.8 * second) for one in times]
        feed(second, *readings, (both[0], 0.9 * second), (both[1], 0.6))

    assert [pytest.approx({"gpu_throttled": share}) for share in (0.5, 1.0, 0.6)] == [
        between(board, card, 0, 2) for card in ("0", "1", "2")
    ]


def test_two_sources_count_once(board: Board) -> None:
    """A counter that eBPF and /proc both give is not added up."""
    feed = Feed(board)
    proc = series("run_queue_wait", process__pid="7")
    ebpf = series("run_queue_wait", process__pid="7", slatag__source="ebpf")
    for second in range(4):
        feed(second, (proc, 0.1 * second))
        feed(second + 0.01, (ebpf, 0.11 * second))

    assert pytest.approx({"run_queue_wait": 0.1}) == between(board, "", 0, 3)


def test_a_source_that_falls_silent_is_followed_by_another(board: Board) -> None:
    """When eBPF takes over from /proc, or gives it back, its own total goes on from where it is: no jump."""
    feed = Feed(board)
    proc = series("run_queue_wait", process__pid="7")
    ebpf = series("run_queue_wait", process__pid="7", slatag__source="ebpf")
    for second in range(3):
        feed(second, (proc, 500 + 0.1 * second))
    for second in range(3, 20):
        feed(second, (ebpf, 0.2 * second))
    for second in range(20, 30):
        feed(second, (proc, 700 + 0.1 * second))

    assert pytest.approx({"run_queue_wait": 0.1}) == between(board, "", 0, 2)
    assert pytest.approx({"run_queue_wait": 0.2}) == between(board, "", 8, 18)
    assert pytest.approx({"run_queue_wait": 0.1}) == between(board, "", 25, 29)


def test_sources_at_different_rates(board: Board) -> None:
    """Fields that are read seldom are not smeared by those that are read often."""
    feed = Feed(board)
    clock, activity = series("gpu_clock", "0"), series("sm_activity", "0")
    for tenth in range(31):
        feed(tenth / 10, (clock, 1000.0 + tenth))
        if tenth % 10 == 0:
            feed(tenth / 10, (activity, tenth / 100))

    assert pytest.approx({"gpu_clock": 1015.5, "sm_activity": 0.2}) == between(board, "0", 1, 2)


def test_a_pause_is_not_filled(board: Board) -> None:
    """After a pause a gauge stands for five seconds at most: the rest was not seen."""
    feed = Feed(board)
    clock = series("gpu_clock", "0")
    for second in (0, 1, 21, 22):
        feed(second, (clock, 1000.0))

    (found,) = Reader(board.path).between("0", MONOTONIC, MONOTONIC + 22 * SECOND)

    assert pytest.approx((7.0, 7 / 22)) == (found.known, found.coverage)


def test_uuids(board: Board) -> None:
    """A slow counter's UUID names its card, once."""
    feed = Feed(board)
    limit = series("gpu_memory_limit", "3", slatag__gpu__uuid="GPU-5ab1")
    for second in range(3):
        feed(second, (limit, 8e10))

    assert {"GPU-5ab1": "3"} == Reader(board.path).devices()


def test_many_layouts_do_not_pile_up(board: Board) -> None:
    """Processes that come and go for ever leave nothing behind."""
    feed = Feed(board)
    for number in range(20_000):
        feed(number / 10, (series("run_queue_wait", process__pid=str(number)), 1.0))

    assert len(board._rules) + len(board._plans) <= 4200


def test_no_place(tmp_path: Path) -> None:
    """Where nothing can be written the sink is unavailable, and says which variable helps."""
    (tmp_path / "file").write_text("")

    with pytest.raises(Unavailable, match="OTEL_ATTRIB_BOARD"):
        Board(tmp_path / "file/board")


@pytest.mark.parametrize("end", ["closed", "killed"])
def test_an_agent_that_came_and_went(tmp_path: Path, end: str) -> None:
    """A second agent takes the place over; when it has ended, however, engines read the first one's again."""
    clock = count(MONOTONIC, 11 * SECOND)
    first = Board(tmp_path / "board", wall=lambda: WALL, monotonic=lambda: next(clock))
    feed = Feed(first)
    feed(0, (series("gpu_clock", "0"), 1980.0))
    code = "import sys, pathlib, otel_attrib.schema.board as b; w = b.Writer(pathlib.Path(sys.argv[1]));"
    code += "print(w.path.stat().st_ino, flush=True); sys.stdin.readline(); w.close()"
    second = subprocess.Popen(
        [sys.executable, "-c", code, str(first.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ,
    )
    assert second.stdout and second.stdin
    taken = int(second.stdout.readline())
    feed(1, (series("gpu_clock", "0"), 1980.0))
    meanwhile = first.path.stat().st_ino
    if end == "killed":
        second.send_signal(signal.SIGKILL)
    second.communicate(b"")
    for number in range(2, 5):
        feed(number, (series("gpu_clock", "0"), 1410.0))
    cards = Reader(first.path).cards()
    first.close()

    assert taken == meanwhile
    assert {"0"} == cards
    assert not first.path.exists()


def test_lanes_put_at_once(tmp_path: Path) -> None:
    """Sources of several threads that appear at once get a ring each: no card's readings mix."""
    for turn in range(5):
        board = Board(tmp_path / f"board{turn}", wall=lambda: WALL, monotonic=lambda: MONOTONIC)

        def lane(card: int, feed: Feed) -> None:
            for second in range(3):
                feed(second, (series("gpu_clock", str(card)), 100.0 * card))

        lanes = [Thread(target=lane, args=(card, Feed(board))) for card in range(24)]
        for thread in lanes:
            thread.start()
        for thread in lanes:
            thread.join()
        seen = [between(board, str(card), 0, 2).get("gpu_clock") for card in range(24)]
        board.close()

        assert pytest.approx([100.0 * card for card in range(24)]) == seen


def test_readings_are_an_array() -> None:
    """The sink reads the batch's array, as the agent hands it over."""
    taken, _ = Layouts().taken([(series("gpu_clock", "0"), 5.0)])

    assert np.array_equal(np.array([5.0]), taken.values)
