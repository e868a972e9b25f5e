"""Gaps of a device split by what held it up."""

from dataclasses import replace

from otel_attrib.analytics.profiles.growing import Growing
from otel_attrib.analytics.profiles.idle import KERNEL_WAIT_NS, Idle, came_late, idle_time
from otel_attrib.analytics.profiles.pairs import pairs
from otel_attrib.analytics.profiles.queued import queue_lengths
from otel_attrib.analytics.profiles.timeline import UNKNOWN, Activities, Kind, Launches

LONG = KERNEL_WAIT_NS


def ran(*rows: tuple[int, int, int], stream: int = 7) -> Activities:
    """Kernels: (start, duration, correlation) a row."""
    growing = Growing(Activities)
    for start, duration, correlation in rows:
        growing.add(start, duration, Kind.KERNEL, 0, stream, 0, 0, correlation, *[UNKNOWN] * 7)
    return growing.table()


def called(*rows: tuple[int, int, int]) -> Launches:
    """Calls: (start, duration, correlation) a row."""
    growing = Growing(Launches)
    for start, duration, correlation in rows:
        growing.add(start, duration, 0, 1, 0, correlation)
    return growing.table()


def test_host_wait() -> None:
    """A gap whose next kernel was launched after the gap began is waiting for the host, however short."""
    found = idle_time(ran((0, 100, 1), (150, 10, 2)), called((0, 5, 1), (101, 5, 2)))

    assert Idle(50, 0, 0, 0) == found


def test_kernel_wait_and_other() -> None:
    """A gap before a queued kernel is kernel wait below 30 µs, and other from there on."""
    calls = called((0, 5, 1), (6, 5, 2), (12, 5, 3))
    found = idle_time(ran((20, 80, 1), (100 + LONG - 1, 1, 2), (100 + 2 * LONG, 1, 3)), calls)

    assert Idle(0, LONG - 1, LONG, 0) == found


def test_a_launch_at_the_end_of_the_kernel_before_was_in_time() -> None:
    """A call that begins in the nanosecond in which the device runs dry is not waited for."""
    found = idle_time(ran((0, 100, 1), (150, 10, 2)), called((0, 5, 1), (100, 5, 2)))

    assert Idle(0, 50, 0, 0) == found


def test_without_any_call_every_gap_is_unknown() -> None:
    """Where no call was recorded, nothing was seen to be queued: no gap has a reason."""
    rows = ran((0, 10, UNKNOWN), (10 + LONG, 5, UNKNOWN), (20 + LONG, 1, 99))

    assert Idle(0, 0, 0, LONG + 5) == idle_time(rows, called())
    assert Idle(0, 0, 0, LONG + 5) == idle_time(rows, called((0, 1, 7)))  # of another activity


def test_where_some_calls_were_recorded_length_tells() -> None:
    """Among activities with calls, one without is told by its gap's length: kernel wait, or unknown."""
    rows = ran((0, 10, 1), (15, 5, UNKNOWN), (20 + LONG, 1, UNKNOWN), (22 + LONG, 1, 2))

    assert Idle(0, 6, 0, LONG) == idle_time(rows, called((0, 1, 1), (2, 1, 2)))


def test_what_came_late() -> None:
    """An activity came late when its call began after all before it had ended, wherever they ran."""
    rows = ran((0, 100, 1), (10, 20, 2), (150, 10, 3), (170, 10, 4))
    late = came_late(rows, called((0, 1, 1), (2, 1, 2), (101, 5, 3), (110, 5, 4)))

    assert [False, False, True, False] == late.tolist()


def test_parallel_kernels_leave_no_gap() -> None:
    """While an earlier kernel still runs there is no gap, and none below zero."""
    found = idle_time(ran((0, 100, 1), (10, 20, 2), (60, 20, 3), (120, 5, 4)), called((110, 1, 4)))

    assert Idle(20, 0, 0, 0) == found


def test_delay_and_short() -> None:
    """The delay runs from the return of the call, never below zero; short is below the call's own time."""
    paired = pairs(ran((0, 30, 1), (2, 9, 2), (50, 4, 3)), called((0, 10, 1), (20, 5, 3)))

    assert [0, 25] == paired.delay_ns.tolist()
    assert [False, True] == paired.short.tolist()


def test_queue_of_a_graph_is_one() -> None:
    """A graph of three kernels waits as one launch, from its call to its first kernel."""
    (queue,) = queue_lengths(pairs(ran((10, 5, 1), (20, 5, 1), (30, 5, 1)), called((0, 4, 1))))

    assert ([0, 10], [1, 0]) == (queue.time_ns.tolist(), queue.length.tolist())
    assert (1, 1.0) == (queue.longest, queue.mean)


def test_calls_of_other_processes_are_not_taken() -> None:
    """Correlation 5 of one process is not correlation 5 of another."""
    calls = called((0, 1, 5))
    elsewhere = replace(calls, process=calls.process + 1)

    assert 1 == len(pairs(ran((9, 1, 5)), calls).calls)
    assert 0 == len(pairs(ran((9, 1, 5)), elsewhere).calls)
