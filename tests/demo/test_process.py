"""A child is heard when it is ready, complained of when it is not, and never left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from otel_attrib.demo.process import Child
from otel_attrib.errors import OtelAttribError

READY = """
import json, time
print(json.dumps({"ready": True}), flush=True)
time.sleep(60)
"""
FAILS = """
import sys
print("no such model")
sys.exit(7)
"""
LEAVES_A_CHILD = """
import json, os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(json.dumps({"pid": child.pid}), flush=True)
os.kill(os.getpid(), 9)
"""
PARENT = """
import sys, time
from pathlib import Path
from otel_attrib.demo.process import Child
child = Child([sys.executable, "-c", "import time; time.sleep(60)"], Path(sys.argv[1]))
print(child.pid, flush=True)
time.sleep(60)
"""


def gone(pid: int) -> bool:
    """Whether a process has ended, within a few seconds."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_ready_line_and_end(tmp_path: Path) -> None:
    """The first line of JSON is handed back, and leaving the context ends the process."""
    with Child([sys.executable, "-c", READY], tmp_path / "log") as child:
        said = child.wait_for_line(20)

    assert {"ready": True} == said
    assert gone(child.pid)


def test_early_end_is_told(tmp_path: Path) -> None:
    """A program that ends before it is ready is named with its exit code and its last words."""
    with Child([sys.executable, "-c", FAILS], tmp_path / "log") as child:
        with pytest.raises(OtelAttribError, match=r"ended with 7 before it was ready(.|\n)*no such model"):
            child.wait_for_line(20)


def test_grandchildren_end_too(tmp_path: Path) -> None:
    """What a server left behind when it was killed is ended with it."""
    with Child([sys.executable, "-c", LEAVES_A_CHILD], tmp_path / "log") as child:
        child.process.wait(20)
        left = child._object()

    assert left is not None
    assert gone(left["pid"])


def test_killed_parent_takes_its_child_along(tmp_path: Path) -> None:
    """When the program that started a child is killed outright, the child ends as well."""
    command = [sys.executable, "-c", PARENT, str(tmp_path / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        os.kill(pid, 0)
        parent.send_signal(signal.SIGKILL)

    assert gone(pid)
