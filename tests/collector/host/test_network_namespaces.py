"""Network namespaces told apart."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.sources.network_namespaces import namespaces_of


def test_this_process() -> None:
    """This process's namespace is its own, named by the inode that its link shows."""
    processes = EngineProcesses(pids=[os.getpid()], only=True, own=0).current()
    (found,) = namespaces_of(processes, Path("/proc"))

    assert f"net:[{found.name}]" == os.readlink("/proc/self/ns/net")
    assert found.own
    assert os.getpid() in [process.pid for process in found.processes]


def test_without_the_link(monkeypatch: Any) -> None:
    """Where links may not be read, namespaces are told apart all the same, and one's own is known."""
    made = subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("no network namespace can be made here: needs root")
    with subprocess.Popen(["unshare", "-n", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as away:
        assert away.stdin is not None
        assert away.stdout is not None
        away.stdin.write(b"x")
        away.stdin.flush()
        away.stdout.read(1)
        own = os.getpid()
        real: Callable[[Any], str] = os.readlink

        def refuse(path: Any) -> str:
            if "/self/" not in str(path):
                raise PermissionError(13, "Permission denied", str(path))
            return real(path)

        monkeypatch.setattr("otel_attrib.collector.sources.network_namespaces.os.readlink", refuse)
        processes = EngineProcesses(pids=[own, away.pid], only=True, own=0).current()
        found = namespaces_of(processes, Path("/proc"))
        away.stdin.close()

    assert 2 == len(found)
    assert {True: own, False: away.pid} == {
        one.own: next(p.pid for p in one.processes if p.pid in (own, away.pid)) for one in found
    }


def test_nobody_there(tmp_path: Path) -> None:
    """Without engines and without a /proc there is nothing."""
    assert () == namespaces_of((), tmp_path)
