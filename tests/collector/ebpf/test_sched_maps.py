"""What the scheduler's maps say, without a kernel."""

import struct

from otel_attrib.collector.sources.ebpf.sched_maps import MAPS, THREAD, Highest, blocked_sums, ongoing


def thread(pid: int, call: int = -1, blocked: int = 0, runnable: int = 0, running: int = 0) -> bytes:
    """One value of the map."""
    return struct.pack("=IiQQQ", pid, call, blocked, runnable, running)


def test_a_thread_is_read_as_it_is_written() -> None:
    """The columns for numpy and the format for `struct` describe the same bytes."""
    assert THREAD.itemsize == struct.calcsize(f"={MAPS['threads'][1]}")


def test_calls_of_one_reason_are_one_sum() -> None:
    """poll and epoll_wait (7, 232 on x86_64; 73, 22 elsewhere) of a process add up, not another's."""
    polls = [call for call in (7, 232, 73, 22) if _is_poll(call)]
    rows = [((10, call), (3, 500)) for call in polls] + [((11, polls[0]), (1, 7))]

    found = blocked_sums(rows)

    assert {(10, "poll"): (3 * len(polls), 500 * len(polls)), (11, "poll"): (1, 7)} == {
        key: (sums.count, sums.ns) for key, sums in found.items()
    }
    assert len(polls) >= 2


def _is_poll(call: int) -> bool:
    from otel_attrib.collector.sources.ebpf.reasons import reason_of

    return reason_of(call) == "poll"


def test_what_goes_on_is_summed_by_process_and_reason() -> None:
    """Blocked and waiting threads count up to now; running ones, and what is later than now, do not."""
    threads = b"".join(
        [
            thread(10, -1, blocked=900),
            thread(10, -1, blocked=800),
            thread(10, -2, blocked=999),
            thread(10, runnable=400),
            thread(11, runnable=990),
            thread(11, running=1),
            thread(11, -1, blocked=1001),
        ]
    )

    blocked, waiting = ongoing(threads, 1000)

    assert {(10, "memory"): 300, (10, "stopped"): 1} == blocked
    assert {10: 600, 11: 10} == waiting


def test_no_threads_are_no_sums() -> None:
    """An empty map gives nothing."""
    assert ({}, {}) == ongoing(b"", 1000)


def test_a_total_does_not_fall_until_it_is_forgotten() -> None:
    """What ended between two looks is missing for one reading: the total stands still for it."""
    highest = Highest()

    assert [5, 5, 7] == [highest.of((10, "io"), value) for value in (5, 3, 7)]
    assert highest.of((11, "io"), 1) == 1
    highest.forget(10)
    assert highest.of((10, "io"), 2) == 2
    assert highest.of((11, "io"), 0) == 1
