"""Files that stay open."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.collector.sources.held_file import HeldFile


@pytest.fixture
def numbers(tmp_path: Path) -> Iterator[Path]:
    """A file."""
    path = tmp_path / "numbers"
    path.write_text("1")
    yield path


def test_reads_what_is_there_now(numbers: Path) -> None:
    """Each reading begins at the start."""
    file = HeldFile(numbers)
    first = file.read()
    numbers.write_text("22")

    assert (b"1", b"22") == (first, file.read())
    file.close()
    file.close()


def test_large(numbers: Path) -> None:
    """A file of many pages is read whole."""
    text = b"".join(b"line %d\n" % n for n in range(40_000))
    numbers.write_bytes(text)
    file = HeldFile(numbers, small=False)

    assert text == file.read() == file.read()
    file.close()


def test_kernel_table_of_many_pages() -> None:
    """A file that the kernel gives a page at a time is read whole, as cat does."""
    path = Path("/proc/kallsyms")
    if not path.exists():
        pytest.skip("no /proc/kallsyms here")
    file = HeldFile(path, small=False)
    mine = file.read()
    file.close()

    assert subprocess.run(["cat", path], capture_output=True, check=True).stdout == mine


def test_beyond_the_limit(numbers: Path, monkeypatch: Any) -> None:
    """When enough descriptors are held, further files are opened for each reading, and nothing is lost."""
    monkeypatch.setattr(HeldFile, "most_held", HeldFile.held)
    before = len(os.listdir("/proc/self/fd"))
    file = HeldFile(numbers)

    assert before == len(os.listdir("/proc/self/fd"))
    assert b"1" == file.read()
    file.close()


def test_missing(tmp_path: Path) -> None:
    """What is not there raises at once."""
    with pytest.raises(FileNotFoundError):
        HeldFile(tmp_path / "none")


def test_process_that_ended() -> None:
    """A file of a process that has ended says so."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        file = HeldFile(f"/proc/{child.pid}/schedstat")
        assert child.stdin is not None
        child.stdin.close()
    with pytest.raises(ProcessLookupError):
        file.read()
    file.close()
