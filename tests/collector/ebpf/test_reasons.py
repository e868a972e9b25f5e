"""System calls and the reasons they stand for."""

import csv
import re
from pathlib import Path

import pytest

from otel_attrib.collector.sources.ebpf import reasons

TABLE = Path(reasons.__file__).with_name("system_calls.csv")
HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", r"#define __NR_(\w+)\s+(\d+)"),
    "generic": ("/usr/include/asm-generic/unistd.h", r"#define __NR(?:3264)?_(\w+)\s+(\d+)"),
}
# The generic header's names of the same calls.
ALSO = {"newfstatat": "fstatat"}


@pytest.mark.parametrize("column", HEADERS)
def test_numbers_are_the_kernels(column: str) -> None:
    """Every number that this machine's C headers know is the one of the table."""
    path, line = HEADERS[column]
    if not Path(path).exists():
        pytest.skip(f"{path} is missing")
    known = {name: int(number) for name, number in re.findall(line, Path(path).read_text())}
    rows = [row for row in csv.DictReader(TABLE.read_text().splitlines()) if row[column]]

    told = {row["name"]: int(row[column]) for row in rows}

    assert len(told) > 70
    named = {name: known.get(name, known.get(ALSO.get(name, ""))) for name in told}
    assert {name: number for name, number in named.items() if number is not None} == {
        name: told[name] for name, number in named.items() if number is not None
    }
    assert {"futex_wait"} >= {
        name for name, number in named.items() if number is None
    }  # newer than Debian 12


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_a_number_has_one_reason(machine: str) -> None:
    """No call stands twice in the table, and every reason is a known one."""
    column = "x86_64" if machine == "x86_64" else "generic"
    numbers = [row[column] for row in csv.DictReader(TABLE.read_text().splitlines()) if row[column]]

    found = reasons.call_reasons(machine)

    assert len(numbers) == len(set(numbers)) == len(found)
    assert set(found.values()) <= set(reasons.REASONS)


def test_what_is_no_system_call_has_a_reason() -> None:
    """A page fault waits for memory, a stopped thread is stopped, and what is not known is other."""
    expected = ["memory", "stopped", "other", "other"]

    calls = (reasons.OUTSIDE, reasons.STOPPED, reasons.UNKNOWN, 9999)
    assert expected == [reasons.reason_of(call) for call in calls]


def test_waiting_for_work_is_told_from_being_kept_waiting() -> None:
    """epoll_wait, nanosleep and accept are idle; futex, read and ioctl are not."""
    names = {
        number: row["name"]
        for row in csv.DictReader(TABLE.read_text().splitlines())
        if (number := row["x86_64"])
    }
    idle = {
        names[str(number)]
        for number, reason in reasons.call_reasons("x86_64").items()
        if reason in reasons.IDLE
    }

    assert {"epoll_wait", "poll", "select", "nanosleep", "clock_nanosleep", "accept4"} <= idle
    assert not {"futex", "read", "ioctl", "recvfrom", "mmap"} & idle


def test_what_the_card_or_a_reader_may_do_is_no_evidence_of_the_host() -> None:
    """Only disks and memory are weighed as off-CPU; a lock, a socket or the card's driver is shown alone."""
    counters = {reason: reasons.counter_of(reason) for reason in reasons.REASONS}

    assert {"io", "memory"} == {reason for reason, counter in counters.items() if counter == "off_cpu"}
    assert "blocked_wait" == counters["futex"] == counters["ioctl"] == counters["network"]
    assert "idle_wait" == counters["poll"] == counters["sleep"]
