"""Harm done to a running server, each undone when its context is left. Needs root."""

import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from otel_attrib.demo.faults import cpu_hog

__all__ = [
    "Harm",
    "cpu_quota",
    "engine_cgroup",
    "hog",
    "limit_cpu",
    "made_cgroup",
    "packet_loss",
    "slow_rank",
]

CONTROLLERS = (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup"))
CGROUP = "otel-attrib-real"
PERIOD_US = 100_000


@dataclass(frozen=True, slots=True)
class Harm:
    """Whom it is done to: the engine's processes by title, the server's port, the engine's own cgroup."""

    processes: dict[str, int]
    port: int
    cgroup: Path


def engine_cgroup() -> Path:
    """Return the folder of the cgroup that the engine's processes can be put into."""
    return made_cgroup(CGROUP)


def _rank_cgroup() -> Path:
    """Return the folder of the cgroup that one rank alone can be put into."""
    return made_cgroup(f"{CGROUP}-rank")


def made_cgroup(name: str) -> Path:
    """Return the folder of a cgroup of that name whose CPU can be limited, made if it is not there."""
    root = next(folder for folder in CONTROLLERS if (folder / "cgroup.procs").exists())
    enabled = root / "cgroup.subtree_control"
    if enabled.exists() and "cpu" not in enabled.read_text().split():
        enabled.write_text("+cpu")
    folder = root / name
    folder.mkdir(exist_ok=True)
    return folder


def limit_cpu(folder: Path, share: float | None) -> None:
    """Let a cgroup use `share` of one core; None lifts the limit. Version 1 and 2 of the controller."""
    quota = "max" if share is None else str(int(share * PERIOD_US))
    if (folder / "cpu.max").exists():
        (folder / "cpu.max").write_text(f"{quota} {PERIOD_US}")
        return
    (folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
    (folder / "cpu.cfs_quota_us").write_text("-1" if share is None else quota)


@contextmanager
def _limited(folder: Path, share: float, pids: Iterable[int]) -> Iterator[None]:
    """Hold these processes to `share` of a core.

    They are in a cgroup of their own for that time only: its weight alone makes them slower beside the rest.
    """
    home = folder.parent / "cgroup.procs"
    for pid in pids:
        (folder / "cgroup.procs").write_text(str(pid))
    limit_cpu(folder, share)
    try:
        yield
    finally:
        limit_cpu(folder, None)
        for pid in pids:
            home.write_text(str(pid))


@contextmanager
def hog(to: Harm) -> Iterator[None]:
    """Two busy processes on each core of the engine."""
    with cpu_hog(to.processes, per_core=2):
        yield


@contextmanager
def cpu_quota(to: Harm) -> Iterator[None]:
    """A quota that throttles the engine."""
    with _limited(to.cgroup, 0.45, to.processes.values()):
        yield


@contextmanager
def slow_rank(to: Harm) -> Iterator[None]:
    """A quota on the second tensor-parallel worker alone, in a cgroup below the engine's."""
    worker = next(pid for title, pid in sorted(to.processes.items()) if "TP1" in title)
    with _limited(_rank_cgroup(), 0.30, [worker]):
        yield


@contextmanager
def packet_loss(to: Harm) -> Iterator[None]:
    """Lose 7 % of the segments that come to the server's port, in this network namespace."""
    rules = (
        "add table inet otel_attrib_real",
        "add chain inet otel_attrib_real in { type filter hook input priority 0; }",
        f"add rule inet otel_attrib_real in iifname lo tcp dport {to.port} numgen random mod 100 < 7 drop",
    )
    for rule in rules:
        subprocess.run(["nft", rule], check=True)
    try:
        yield
    finally:
        subprocess.run(["nft", "delete table inet otel_attrib_real"], check=True)
