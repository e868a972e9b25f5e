"""The engine's processes: found, told apart, followed."""

import os
import signal
import subprocess
from collections import Counter
from typing import Any

import pytest

from otel_attrib.collector.agent.processes import EngineProcesses

ON = {"OTEL_ATTRIB_ENABLED": "1", "OTEL_SERVICE_NAME": "chat"}


def roles(processes: EngineProcesses) -> dict[int, str]:
    """Pid → role."""
    return {process.pid: process.role for process in processes.current()}


def test_recorded_vllm(machine: Any) -> None:
    """Of the recorded machine exactly the engine's tree is found, each part by the title that ps shows."""
    found = machine.processes().current()
    names = {int(row[0]): row[6] for row in machine.rows("ps")}

    assert names.keys() == {process.pid for process in found}
    titled = {"VLLM::EngineCor": "engine_core", "VLLM::Worker_TP": "worker", "vllm": "api_server"}
    assert {pid: titled.get(name, "other") for pid, name in names.items()} == {p.pid: p.role for p in found}
    assert Counter({"api_server": 1, "engine_core": 1, "worker": 2}) <= Counter(p.role for p in found)


def test_recorded_service(machine: Any) -> None:
    """Titles lie over the environment of core and workers: their service is that of the server above them."""
    found = machine.processes().current()
    core = next(process for process in found if process.role == "engine_core")

    assert "OTEL_SERVICE_NAME" not in (machine.proc / str(core.pid) / "environ").read_text()
    assert {"recorded-vllm"} == {process.service for process in found}
    assert {machine.engine} == {process.engine for process in found}


def test_commands_show_no_options(tree: Any) -> None:
    """A key on the command line is not repeated."""
    tree.put(1, 0, "/sbin/init")
    tree.put(5, 1, "python3 /opt/bin/vllm serve /models/m --api-key=sk-123")
    tree.put(6, 1, "python3 --check-hash-based-pycs always /opt/own.py --api-key=sk-123", ON)

    assert ["vllm serve", "own.py"] == [process.command for process in tree.processes().current()]


def test_environment_marks(tree: Any) -> None:
    """OTEL_ATTRIB_ENABLED or auto-instrumentation marks a Python program and its children; tools not."""
    auto = "/x/opentelemetry/instrumentation/auto_instrumentation:/y"
    tree.put(1, 0, "/sbin/init")
    tree.put(10, 1, "python own.py", ON)
    tree.put(11, 10, "/opt/rank")
    tree.put(
        20, 1, "python3 other.py", {"PYTHONPATH": auto, "OTEL_RESOURCE_ATTRIBUTES": "a=b, service.name=x"}
    )
    tree.put(30, 1, "python off.py", {"OTEL_ATTRIB_ENABLED": "0"})
    tree.put(31, 1, "bash", ON)
    tree.put(32, 31, "python /opt/bin/vllm bench serve", ON)
    tree.put(33, 31, "python -m otel_attrib watch", ON)
    found = tree.processes().current()

    assert [(10, "chat", 10), (11, "chat", 10), (20, "x", 20)] == [
        (p.pid, p.service, p.engine) for p in found
    ]


def test_engine_inside_a_program(tree: Any) -> None:
    """A Python program that holds an engine core serves its requests; a shell or init does not."""
    tree.put(1, 0, "/sbin/init")
    tree.put(4, 1, "bash")
    tree.put(5, 4, "python serve_my_model.py")
    tree.put(6, 5, "VLLM::EngineCore")
    tree.put(7, 6, "VLLM::Worker_TP0")
    tree.put(8, 4, "VLLM::EngineCore")

    assert {5: "api_server", 6: "engine_core", 7: "worker", 8: "engine_core"} == roles(tree.processes())
    assert [5, 5, 5, 8] == [process.engine for process in tree.processes().current()]


def test_title_that_comes_later(tree: Any) -> None:
    """A process that takes its title after it was first seen changes its role and keeps its service."""
    spawned = "python -c from multiprocessing.spawn import spawn_main"
    tree.put(1, 0, "/sbin/init")
    tree.put(5, 1, "python vllm serve m", ON)
    tree.put(6, 5, spawned, {"OTEL_SERVICE_NAME": "own"})
    processes = tree.processes()
    before = roles(processes)
    tree.put(6, 5, "VLLM::EngineCore", {})

    assert {5: "api_server", 6: "other"} == before
    assert {5: "api_server", 6: "engine_core"} == roles(processes)
    assert "own" == processes.current()[1].service


def test_pid_used_again(tree: Any) -> None:
    """Another process under the pid of an engine's is another one."""
    tree.put(1, 0, "/sbin/init")
    tree.put(5, 1, "vllm serve m", ON, started=100)
    tree.put(6, 5, "VLLM::EngineCore", started=110)
    processes = tree.processes()
    first = processes.current()
    tree.put(5, 1, "cron", started=900)
    tree.put(6, 1, "vllm serve other", started=901)

    assert [5, 6] == [process.pid for process in first]
    assert [(6, "api_server", 901, "", 6)] == [
        (p.pid, p.role, p.started_ticks, p.service, p.engine) for p in processes.current()
    ]


def test_orphan(tree: Any) -> None:
    """What loses its server goes on to belong to it, by title or not."""
    tree.put(1, 0, "/sbin/init")
    tree.put(5, 1, "vllm serve m", ON)
    tree.put(6, 5, "VLLM::EngineCore")
    tree.put(7, 5, "/opt/helper")
    processes = tree.processes()
    processes.current()
    tree.remove(5)
    tree.put(6, 1, "VLLM::EngineCore")
    tree.put(7, 1, "/opt/helper")

    assert [(6, "chat", 5), (7, "chat", 5)] == [(p.pid, p.service, p.engine) for p in processes.current()]


def test_given_pids(tree: Any) -> None:
    """Given pids belong with their children whatever they are; with `only` nothing else does."""
    tree.put(1, 0, "/sbin/init")
    tree.put(5, 1, "vllm serve m")
    tree.put(8, 1, "/opt/own-engine")
    tree.put(9, 8, "/opt/own-engine --rank 1")
    processes = tree.processes(pids=[8])

    assert {5: "api_server", 8: "other", 9: "other"} == roles(processes)
    processes.watch([8], only=True)
    assert {8: "other", 9: "other"} == roles(processes)


def test_nested_engines_are_one(tree: Any) -> None:
    """A launcher above a server is where the engine starts, though neither's child is named."""
    tree.put(1, 0, "/sbin/init")
    tree.put(9, 1, "text-generation-launcher --model-id m", {"OTEL_SERVICE_NAME": "tgi"})
    tree.put(4, 9, "sh -c x")
    tree.put(5, 4, "/usr/bin/python3 text-generation-server serve m")
    tree.put(6, 9, "text-generation-router")

    assert {4: "other", 5: "worker", 6: "api_server", 9: "other"} == roles(tree.processes())
    assert {(9, "tgi")} == {(process.engine, process.service) for process in tree.processes().current()}


def test_looks_only_when_due(tree: Any) -> None:
    """Between two looks the same tuple is given; a new process is seen at the next one."""
    clock = [0.0]
    tree.put(5, 1, "vllm serve m")
    processes = EngineProcesses(tree.proc, every_s=5.0, own=0, now=lambda: clock[0])
    first = processes.current()
    tree.put(6, 5, "VLLM::EngineCore")
    clock[0] = 4.9

    assert first is processes.current()
    clock[0] = 5.0
    assert [5, 6] == [process.pid for process in processes.current()]


def test_old_process_that_becomes_an_engine(tree: Any) -> None:
    """A process that has been there for long and executes an engine is seen within twelve looks."""
    clock = [0.0]
    tree.put(5, 1, "bash")
    processes = EngineProcesses(tree.proc, every_s=0.0, own=0, now=lambda: clock[0])
    processes.current()
    tree.put(5, 1, "vllm serve m")
    clock[0] = 100.0
    looks = [bool(processes.current()) for _ in range(12)]

    assert 1 == sum(one != two for one, two in zip([False, *looks], looks, strict=False))
    assert looks[-1]


def test_unreadable_environment(tree: Any) -> None:
    """An environment that may not be read costs the service alone."""
    folder = tree.put(5, 1, "vllm serve m")
    (folder / "environ").unlink()

    assert [("api_server", "")] == [(process.role, process.service) for process in tree.processes().current()]


def test_real_titles() -> None:
    """Real processes with an engine's titles are found here, with their parent's pid as engine."""
    script = "(exec -a VLLM::EngineCore sleep 60) & (exec -a VLLM::Worker_TP0 sleep 60) & echo ready; wait"
    with subprocess.Popen(
        ["bash", "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as shell:
        try:
            assert shell.stdout is not None
            assert "ready\n" == shell.stdout.readline()
            only = EngineProcesses(pids=[shell.pid], only=True)
            waited = 0
            while len(only.current()) < 3 or {p.role for p in only.current()} == {"other"}:
                only.watch([shell.pid], only=True)
                assert (waited := waited + 1) < 1000
            found = {process.role: process.engine for process in only.current()}
        finally:
            os.killpg(shell.pid, signal.SIGKILL)

    assert {"other": shell.pid, "engine_core": shell.pid, "worker": shell.pid} == found


@pytest.mark.parametrize("command", ["", "vllm serve m"])
def test_kernel_thread_is_no_engine(tree: Any, command: str) -> None:
    """A kernel thread never is an engine, whatever stands in its command line."""
    tree.put(5, 2, command, flags=0x200000)

    assert () == tree.processes().current()
