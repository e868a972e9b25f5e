"""Two processes of one boot have one monotonic clock; another boot or time namespace has another."""

import subprocess
import sys
from pathlib import Path

from otel_attrib.instrumentation.clock import clock_id, wall_offset_ns


def proc(root: Path, boot: str, namespace: str) -> str:
    """A /proc with a boot id and a time namespace."""
    (root / "sys/kernel/random").mkdir(parents=True)
    (root / "sys/kernel/random/boot_id").write_text(boot + "\n")
    (root / "self/ns").mkdir(parents=True)
    (root / "self/ns/time").symlink_to(namespace)
    return str(root)


def test_two_processes_of_this_host() -> None:
    """A child process names the same clock."""
    code = "from otel_attrib.instrumentation.clock import clock_id; print(clock_id())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert clock_id() == int(done.stdout)


def test_another_boot_or_namespace(tmp_path: Path) -> None:
    """Either makes another clock; the same of both makes the same."""
    one, again, boot, namespace = (
        clock_id(proc(tmp_path / name, boot, namespace))
        for name, boot, namespace in (
            ("1", "b1", "time:[1]"),
            ("2", "b1", "time:[1]"),
            ("3", "b2", "time:[1]"),
            ("4", "b1", "time:[2]"),
        )
    )

    assert one == again
    assert 3 == len({one, boot, namespace})


def test_without_a_proc(tmp_path: Path) -> None:
    """Where nothing can be read there is still an answer."""
    assert clock_id(str(tmp_path)) == clock_id(str(tmp_path))


def test_a_pause_between_two_clock_calls_moves_nothing() -> None:
    """One undisturbed reading of five gives the offset, though the thread lost its core in the others."""
    monotonic = iter([0, 9_000_000, 9_000_010, 19_000_000, 20_000_000, 20_000_002, 20_000_010, 30_000_000])
    wall = iter([5_000 + 8_999_999, 5_000 + 9_000_011, 5_000 + 20_000_001, 5_000 + 29_999_999])

    assert 5_000 == wall_offset_ns(lambda: next(wall), lambda: next(monotonic), readings=4)
