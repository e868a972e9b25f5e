"""From a C file to a running program, and what is said when that fails."""

import ctypes
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from otel_attrib.collector.agent.source import Unavailable
from otel_attrib.collector.sources.ebpf.compile import import_from
from otel_attrib.collector.sources.ebpf.loader import Program, Tool, load

TOOL = Tool(
    Path(__file__).with_name("calls.c"),
    {"calls": ("I", "Q"), "switches": ("I", "Q")},
    {"sched:sched_switch": "on_switch"},
    uprobes=("on_call",),
)
CALLED = Path(__file__).parents[2] / "native/ebpf/called.c"


@pytest.fixture(scope="module")
def program(kernel: None) -> Iterator[Program]:
    """The counting program, loaded."""
    try:
        loaded = load(TOOL, {"ENTRIES": 64})
    except Unavailable as fault:
        pytest.skip(str(fault))
    yield loaded
    loaded.close()


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A library of one function."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is missing")
    path = tmp_path / "libcalled.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", path, CALLED], check=True)
    return path


def calls_of(program: Program) -> int:
    """How many calls of this process were counted."""
    return int((program.maps["calls"].get(os.getpid()) or (0,))[0])


def test_calls_of_a_function_are_counted_exactly_while_it_is_attached(
    program: Program, library: Path
) -> None:
    """2003 calls are 2003 at entry, and none once it is detached; returns are counted by the same program."""
    called = ctypes.CDLL(str(library)).called
    before = calls_of(program)

    attached = program.attach_uprobe(library, "called", "on_call")
    assert attached is not None
    for _ in range(2003):
        called(1)
    during = calls_of(program)
    program.detach(attached)
    called(1)

    assert 2003 == during - before == calls_of(program) - before
    at_return = program.attach_uprobe(library, "called", "on_call", at_return=True)
    assert at_return is not None
    for _ in range(101):
        called(1)
    program.detach(at_return)
    assert 2003 + 101 == calls_of(program) - before


def test_only_the_named_process_is_seen(program: Program, library: Path) -> None:
    """A function attached for another process counts nothing of this one."""
    called = ctypes.CDLL(str(library)).called
    before = calls_of(program)
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        attached = program.attach_uprobe(library, "called", "on_call", pid=other.pid)
        assert attached is not None
        called(1)
        program.detach(attached)
    finally:
        other.communicate(b"\n")

    assert before == calls_of(program)


def test_a_function_that_the_library_lacks_is_not_attached(program: Program, library: Path) -> None:
    """An older library without the function is no fault."""
    assert program.attach_uprobe(library, "not_there", "on_call") is None


def test_tracepoints_run_from_the_start(program: Program) -> None:
    """The tool's tracepoint counts without being attached by hand: a sleeping process switches."""
    ((_, (before,)),) = program.maps["switches"].items()
    subprocess.run(["sleep", "0.01"], check=True)
    ((_, (after,)),) = program.maps["switches"].items()

    assert after > before


def test_a_fault_in_the_c_file_is_one_line(kernel: None, tmp_path: Path) -> None:
    """What the compiler says is in the line, nothing is left open, and asking again costs nothing."""
    source = tmp_path / "wrong.c"
    source.write_text("int on_call(struct pt_regs *context) { return not_declared; }\n")
    files = len(os.listdir("/proc/self/fd"))

    with pytest.raises(Unavailable, match=r"no eBPF: wrong\.c cannot be loaded: .*not_declared") as refusal:
        load(Tool(source, {}, uprobes=("on_call",)))

    assert "\n" not in str(refusal.value)
    assert files == len(os.listdir("/proc/self/fd"))
    began = time.process_time()
    with pytest.raises(Unavailable) as again:
        load(Tool(source, {}, uprobes=("on_call",)))
    assert str(again.value) == str(refusal.value)
    assert time.process_time() - began < 0.1  # the compiler was not asked again


def test_a_map_of_another_size_is_refused(kernel: None) -> None:
    """A format that does not fit what was compiled is a mistake of ours, found at once."""
    with pytest.raises(ValueError, match=r"map calls of calls\.c has \(4, 8\) bytes, not \(4, 4\)"):
        load(replace(TOOL, maps={"calls": ("I", "I"), "switches": ("I", "Q")}), {"ENTRIES": 64})


def test_bcc_is_taken_from_its_own_folder_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another `bcc` on the path is passed by, and what lies beside the right one cannot be imported."""
    for folder, text in (("right", "WHICH = 'right'"), ("path", "WHICH = 'wrong'")):
        (tmp_path / folder / "bcc").mkdir(parents=True)
        (tmp_path / folder / "bcc/__init__.py").write_text(text)
    (tmp_path / "right/numpy_of_the_system.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path / "path")
    monkeypatch.delitem(sys.modules, "bcc", raising=False)

    found = import_from(str(tmp_path / "right/bcc"))
    monkeypatch.delitem(sys.modules, "bcc")

    assert found.WHICH == "right"
    with pytest.raises(ModuleNotFoundError):
        __import__("numpy_of_the_system")
