"""What the kernel says a process used."""

import os
import platform
import re
from importlib.metadata import version
from pathlib import Path

__all__ = ["cpu_s", "peak_rss_mib", "version_line"]


def cpu_s(pid: int) -> float:
    """User and system time of all threads, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_rss_mib(pid: int) -> float:
    """Largest resident set so far, in MiB."""
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def version_line() -> str:
    """The versions that decide a figure, and the number of cores."""
    parts = " ".join(f"{name} {version(name)}" for name in ("chdb-core", "clickhouse-connect", "protobuf"))
    return f"Python {platform.python_version()} {parts}, {os.cpu_count()} cores"
