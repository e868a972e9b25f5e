"""Which files of a kind of library a process has loaded, as paths that open from here.

Wheels carry their own copies under names of their own (`libcudart-d0da41ae.so.11.0`), and a process may hold
two versions at once. A process in a container sees other paths: every path goes through `/proc/<pid>/root`.
"""

import re
from pathlib import Path

__all__ = ["library_name", "mapped_libraries"]

_LINE = re.compile(r"^\S+ r\S+ \S+ \S+ (?!0\s)\d+\s+(/.*)$")
_DELETED = " (deleted)"


def library_name(stem: str) -> re.Pattern[str]:
    """Match the file names of one library: `libcudart` → libcudart.so.12, libcudart-d0da41ae.so.11.0."""
    return re.compile(rf"{re.escape(stem)}(-[0-9a-f]+)?\.so(\.[0-9]+)*")


def mapped_libraries(pid: int, name: re.Pattern[str], proc: Path = Path("/proc")) -> tuple[Path, ...]:
    """Return the mapped files whose name matches; none when the process is gone or not ours to see."""
    try:
        lines = (proc / str(pid) / "maps").read_text(errors="replace").splitlines()
    except OSError:
        return ()
    mapped = {found.group(1) for line in lines if (found := _LINE.match(line))}
    ours = sorted(path for path in mapped if name.fullmatch(path.rpartition("/")[2]))
    return tuple(proc / str(pid) / "root" / path.lstrip("/") for path in ours if not path.endswith(_DELETED))
