"""The scheduler's source over maps that are fakes in memory: no kernel, no root, every machine."""

import logging
import os
import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from otel_attrib.collector.agent.processes import EngineProcess, EngineProcesses
from otel_attrib.collector.sources.claims import claimed
from otel_attrib.collector.sources.ebpf import sched
from otel_attrib.collector.sources.ebpf.sched_maps import MAPS
from otel_attrib.collector.sources.ebpf.wait_slots import SLOTS, slot_of

POLL = 73 if os.uname().machine != "x86_64" else 7
FUTEX = 98 if os.uname().machine != "x86_64" else 202
ENGINE = EngineProcess(70_000_001, "engine_core", "svc", 11, "vllm", 70_000_000)


class FakeMap:
    """A fake of `BpfMap`: a dictionary of so many entries."""

    def __init__(self, name: str, most: int = 10) -> None:
        """Make it empty."""
        self.value = struct.Struct(f"={MAPS[name][1]}")
        self.rows: dict[tuple[int, ...], tuple[int, ...]] = {}
        self.most = most

    def items(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Every entry."""
        return list(self.rows.items())

    def raw(self) -> tuple[bytes, bytes]:
        """Values as they lie in memory."""
        return b"", b"".join(self.value.pack(*value) for value in self.rows.values())

    def put(self, key: tuple[int, ...], value: tuple[int, ...]) -> None:
        """Write, or refuse as the kernel does."""
        if key not in self.rows and len(self.rows) >= self.most:
            raise OSError(7, "Argument list too long")
        self.rows[key] = value

    def put_new(self, key: tuple[int, ...], value: tuple[int, ...]) -> bool:
        """Write unless it is there."""
        if key in self.rows:
            return False
        self.put(key, value)
        return True

    def drop(self, *key: int) -> None:
        """Remove."""
        self.rows.pop(key, None)


class FakeProgram:
    """A fake of `Program`."""

    def __init__(self) -> None:
        """Make its maps."""
        self.maps = {name: FakeMap(name) for name in MAPS}
        self.maps["lost"].rows = {(0,): (0,), (1,): (0,), (2,): (0,)}
        self.open = True

    def close(self) -> None:
        """Remember that it was closed."""
        self.open = False


class FakeProcesses(EngineProcesses):
    """A fake finder: what the test says is there."""

    def __init__(self, *found: EngineProcess) -> None:
        """These are there."""
        self.found = found

    def current(self) -> tuple[EngineProcess, ...]:
        """They."""
        return self.found


class Machine:
    """The source over fakes, with a clock that stands still."""

    def __init__(self) -> None:
        """One engine core."""
        self.program = FakeProgram()
        self.processes = FakeProcesses(ENGINE)
        self.now_ns = 10**12
        self.source = sched.Sched(processes=self.processes, clock_ns=lambda: self.now_ns)

    def set(self, name: str, key: tuple[int, ...], value: tuple[int, ...]) -> None:
        """Do what the kernel does."""
        self.program.maps[name].rows[key] = value

    def queued(self, *waits_ns: int) -> None:
        """Let the process have waited so."""
        slots = [0] * SLOTS
        for ns in waits_ns:
            slots[slot_of(ns)] += 1
        self.set("queued", (ENGINE.pid,), (len(waits_ns), sum(waits_ns), *slots))

    def read(self) -> dict[tuple[str, str], float]:
        """Counter and reason → value."""
        return {
            (series.counter.key, dict(series.attributes).get("slatag.off_cpu.reason", "")): value
            for series, value in self.source.read()
        }


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """A source whose program is a fake."""
    program: list[Any] = []

    def load_fake(by_registers: bool | None = None) -> tuple[Any, bool]:
        program.append(FakeProgram())
        return program[-1], True

    monkeypatch.setattr(sched, "load_sched", load_fake)
    made = Machine()
    made.program = program[-1]
    yield made
    made.source.close()


def test_waits_and_spells_are_told_with_what_goes_on(machine: Machine) -> None:
    """Ended time and time up to now add up; a count is of what has ended; poll is idle, a futex may be."""
    machine.read()
    machine.queued(1000, 2_000_000)
    machine.set("blocked", (ENGINE.pid, FUTEX), (3, 5_000_000))
    machine.set("blocked", (ENGINE.pid, POLL), (7, 9_000_000))
    machine.set("threads", (1,), (ENGINE.pid, FUTEX, machine.now_ns - 1_000_000, 0, 0))
    machine.set("threads", (2,), (ENGINE.pid, -1, 0, machine.now_ns - 500_000, 0))

    found = machine.read()

    assert found == {
        ("run_queue_wait", ""): pytest.approx(0.002501),
        ("run_queue_waits", ""): 2.0,
        ("blocked_wait", "futex"): pytest.approx(0.006),
        ("off_cpu_spells", "futex"): 3.0,
        ("idle_wait", "poll"): pytest.approx(0.009),
        ("off_cpu_spells", "poll"): 7.0,
    }


def test_series_say_whose_they_are_and_stay_the_same(machine: Machine) -> None:
    """Every series carries process, role, engine and source, and is the same object at every read."""
    machine.set("blocked", (ENGINE.pid, FUTEX), (1, 1))
    first = [series for series, _ in machine.source.read()]
    second = [series for series, _ in machine.source.read()]

    expected = {
        "process.pid": "70000001",
        "slatag.process.role": "engine_core",
        "slatag.engine.pid": "70000000",
        "slatag.source": "ebpf",
    }
    for each in first:
        assert expected.items() <= dict(each.attributes).items()
    assert len(first) > 2
    assert all(one is two for one, two in zip(first, second, strict=True))


def test_a_total_stands_still_where_a_spell_slipped_between_two_maps(machine: Machine) -> None:
    """A spell that is seen going on, then in neither map for one read, does not make the total fall."""
    machine.set("threads", (1,), (ENGINE.pid, FUTEX, machine.now_ns - 4_000_000, 0, 0))
    before = machine.read()["blocked_wait", "futex"]
    machine.program.maps["threads"].rows[(1,)] = (ENGINE.pid, FUTEX, 0, 0, 1)
    machine.set("blocked", (ENGINE.pid, FUTEX), (0, 0))

    assert machine.read()["blocked_wait", "futex"] == before == pytest.approx(0.004)
    machine.set("blocked", (ENGINE.pid, FUTEX), (1, 5_000_000))
    assert machine.read()["blocked_wait", "futex"] == pytest.approx(0.005)


def test_p99_is_of_the_waits_of_the_last_second(machine: Machine) -> None:
    """Once a second the quantile of the waits that ended in it is told; without waits it is left out."""
    machine.read()
    machine.queued(*[1000] * 100)
    machine.now_ns += 10**9
    assert machine.read()["run_queue_wait_p99", ""] == pytest.approx(1e-6, rel=0.125)
    machine.queued(*[1000] * 100, *[5_000_000] * 10)
    machine.now_ns += 10**8
    assert ("run_queue_wait_p99", "") not in machine.read()
    machine.now_ns += 10**9
    assert machine.read()["run_queue_wait_p99", ""] == pytest.approx(5e-3, rel=0.125)
    machine.now_ns += 10**9
    assert ("run_queue_wait_p99", "") not in machine.read()


def test_an_ended_process_is_told_once_more_and_its_pid_begins_anew(machine: Machine) -> None:
    """What it did last is told, then its entries are gone; a later process of its pid starts from 0."""
    machine.read()
    machine.queued(3_000_000)
    machine.processes.found = ()

    assert machine.read()["run_queue_wait", ""] == pytest.approx(0.003)
    assert machine.read() == {}
    assert [] == machine.program.maps["watched"].items() == machine.program.maps["queued"].items()

    machine.processes.found = (replace(ENGINE, started_ticks=99),)
    assert machine.read()["run_queue_wait", ""] == 0.0


def test_a_pid_that_is_used_again_between_two_reads_begins_anew(machine: Machine) -> None:
    """The old process's totals are not the new one's."""
    machine.read()
    machine.queued(3_000_000)
    machine.read()
    machine.processes.found = (replace(ENGINE, started_ticks=99),)

    assert machine.read()["run_queue_wait", ""] == 0.0


def test_a_role_that_is_known_later_is_told_from_then_on(machine: Machine) -> None:
    """A process that turns out to be the API server keeps its totals under its new role."""
    machine.read()
    machine.queued(3_000_000)
    machine.processes.found = (replace(ENGINE, role="api_server"),)

    ((series, value), *_) = machine.source.read()

    assert ("api_server", 0.003) == (dict(series.attributes)["slatag.process.role"], value)


def test_what_has_no_room_is_said_once(machine: Machine, caplog: pytest.LogCaptureFixture) -> None:
    """With more processes than entries the first are watched, and one line says that others are not."""
    machine.processes.found = tuple(replace(ENGINE, pid=ENGINE.pid + i) for i in range(13))
    with caplog.at_level(logging.WARNING):
        pids = {dict(series.attributes)["process.pid"] for series, _ in machine.source.read()}
        list(machine.source.read())

    assert len(pids) == 10
    assert 1 == len([line for line in caplog.messages if "256 processes" in line])


def test_run_queue_wait_is_claimed_until_the_end(machine: Machine) -> None:
    """While it runs `schedstat` leaves the counter to it; closing takes the program out and gives it back."""
    assert claimed("run_queue_wait")
    machine.source.close()

    assert not claimed("run_queue_wait")
    assert not machine.program.open
