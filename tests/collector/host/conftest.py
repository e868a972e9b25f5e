"""A recorded machine, a made one, and real processes to look at."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.agent.source import Reading

RECORDED = Path(__file__).parents[2] / "fixtures" / "proc" / "vllm.json"
PYTHON = 0x400000  # flags of an ordinary process


@dataclass(frozen=True)
class Machine:
    """A recorded /proc on disk, the pid of its engine, and what other tools said of it."""

    proc: Path
    engine: int
    oracle: dict[str, str]

    def processes(self) -> EngineProcesses:
        """Look at it once."""
        return EngineProcesses(self.proc, own=0)

    def rows(self, name: str) -> list[list[str]]:
        """The words of each line that a tool printed."""
        return [line.split() for line in self.oracle[name].splitlines()]


class Tree:
    """A /proc that a test makes: processes come, change and go."""

    def __init__(self, proc: Path) -> None:
        """Begin with nothing."""
        self.proc = proc
        proc.mkdir(exist_ok=True)

    def put(
        self,
        pid: int,
        parent: int,
        command: str,
        environ: Mapping[str, str] | None = None,
        started: int = 100,
        flags: int = PYTHON,
        cpu: int = 0,
    ) -> Path:
        """Write one process; the words of `command` are split at spaces, a title (`::`) is one word."""
        folder = self.proc / str(pid)
        folder.mkdir(exist_ok=True)
        words = [command] if "::" in command else command.split()
        name = words[0].rpartition("/")[2][:15] if words else "kworker"
        numbers = [0] * 50
        numbers[0], numbers[5], numbers[16], numbers[18] = parent, flags, 1, started
        numbers[35] = cpu
        (folder / "stat").write_text(f"{pid} ({name}) S {' '.join(map(str, numbers))}\n")
        (folder / "cmdline").write_text("".join(f"{word}\0" for word in words))
        (folder / "environ").write_text("".join(f"{k}={v}\0" for k, v in (environ or {}).items()))
        return folder

    def threads(self, pid: int, name: str, texts: Mapping[int, str]) -> None:
        """Write a file of each thread, and take away those that are not named."""
        tasks = self.proc / str(pid) / "task"
        for tid, text in texts.items():
            (tasks / str(tid)).mkdir(parents=True, exist_ok=True)
            (tasks / str(tid) / name).write_text(text)
        for folder in tasks.iterdir():
            if int(folder.name) not in texts:
                (folder / name).unlink()
                folder.rmdir()

    def remove(self, pid: int) -> None:
        """Let a process end."""
        subprocess.run(["rm", "-r", str(self.proc / str(pid))], check=True)

    def processes(self, **more: Any) -> EngineProcesses:
        """Look at every call."""
        return EngineProcesses(self.proc, every_s=0.0, own=0, **more)


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """The recorded machine, laid out as files."""
    recorded = json.loads(RECORDED.read_text())
    proc = tmp_path_factory.mktemp("recorded") / "proc"
    for name, text in recorded["files"].items():
        path = proc / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("->"):
            path.symlink_to(text[2:])
        else:
            path.write_text(text)
    return Machine(proc, recorded["engine"], recorded["oracle"])


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """An empty /proc."""
    return Tree(tmp_path / "proc")


@pytest.fixture
def values() -> Callable[[Iterable[Reading]], dict[tuple[str, ...], float]]:
    """Readings as (key, values of the attributes in the order of their names) → value."""

    def named(readings: Iterable[Reading]) -> dict[tuple[str, ...], float]:
        return {(made.counter.key, *(text for _, text in made.attributes)): value for made, value in readings}

    return named


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a Python program given as text, waits for its first line, and ends it after the test."""
    with ExitStack() as ending:

        def begin(program: str, *arguments: str, before: Iterable[str] = ()) -> subprocess.Popen[str]:
            child = subprocess.Popen(
                [*before, sys.executable, "-c", program, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={"PATH": os.environ.get("PATH", os.defpath)},
            )
            ending.callback(_end, child)
            assert child.stdout is not None
            assert child.stdout.readline().strip() == "ready"
            return child

        yield begin


def _end(child: subprocess.Popen[str]) -> None:
    child.kill()
    child.communicate()
