"""One line of /proc/<pid>/stat."""

import os
import resource
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from otel_attrib.collector.agent.process_stat import TICKS_PER_SECOND, parse_stat

NUMBERS = (
    "1 2 3 4 5 4194304 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36"
)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=15))
def test_any_name_is_read(name: str) -> None:
    """A process may call itself anything, brackets, spaces and line ends included."""
    found = parse_stat(f"7 ({name}) S {NUMBERS}\n".encode())

    assert (name, 1, 19, 36) == (found.name, found.parent, found.started_ticks, found.processor)


def test_own_line() -> None:
    """Of this process it says what the C library and getrusage say."""
    found = parse_stat(Path("/proc/self/stat").read_bytes())
    use = resource.getrusage(resource.RUSAGE_SELF)

    assert found.parent == os.getppid()
    assert not found.kernel_thread
    assert found.major_faults <= use.ru_majflt
    assert found.minor_faults <= use.ru_minflt
    assert abs((found.user_ticks + found.system_ticks) / TICKS_PER_SECOND - use.ru_utime - use.ru_stime) < 0.5
    assert found.processor in os.sched_getaffinity(0)


def test_kernel_thread() -> None:
    """A kernel thread is told by its flags."""
    line = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 1 " + "0 " * 30

    assert parse_stat(line.encode()).kernel_thread
