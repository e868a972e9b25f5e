"""Directories of the store and the spool: rights, room, and what an earlier run left."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from otel_attrib.collector.segment import SUFFIX
from otel_attrib.collector.spool_lock import spool_directory
from otel_attrib.doctor.check import Finding, Surroundings, check, fail, ok, warn
from otel_attrib.doctor.ports import running
from otel_attrib.errors import OtelAttribError
from otel_attrib.schema.dsn import MEMORY, Dsn, default_dsn, parse_dsn

__all__ = ["spool_path", "store_path"]

_GIB = 1 << 30
_LOW = _GIB
_NETWORKED = ("nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p")


def store_path(around: Surroundings) -> Path | None:
    """Directory of the embedded store; None for a remote one or one in memory."""
    dsn = _dsn(around)
    return Path(dsn.path) if dsn and dsn.path not in (None, MEMORY) else None


def spool_path(around: Surroundings) -> Path | None:
    """Directory of the spool as `up` would choose it; None beside a store in memory."""
    dsn, configured = _dsn(around), around.settings().spool
    if dsn is None or dsn.path == MEMORY and not configured:
        return None
    return spool_directory(configured, dsn)


def _dsn(around: Surroundings) -> Dsn | None:
    try:
        return parse_dsn(around.dsn or around.settings().dsn or default_dsn())
    except OtelAttribError:
        return None


def _directories(around: Surroundings) -> Iterator[tuple[str, Path]]:
    for name, path in (("store", store_path(around)), ("spool", spool_path(around))):
        if path is not None:
            yield name, path


def _standing(path: Path) -> Path:
    """The path itself, or the nearest directory above it that is there."""
    return next(place for place in (path, *path.parents) if place.exists())


@check("rights")
def rights(around: Surroundings) -> Iterator[Finding]:
    """Both directories can be written, or made."""
    for name, path in _directories(around):
        place = _standing(path)
        if not os.access(place, os.W_OK | os.X_OK):
            fix = f"chown {os.geteuid()} {place}, or name another path"
            yield fail(f"{name} path", f"{place} is not writable for uid {os.geteuid()}", fix)
        elif place != path:
            yield ok(f"{name} path", f"{path} is not there yet and can be made")
        elif not path.is_dir():
            yield fail(f"{name} path", f"{path} is no directory", "name another path")
        else:
            yield ok(f"{name} path", f"{path} is writable")


@check("room")
def room(around: Surroundings) -> Iterator[Finding]:
    """There is room on both disks, and the spool's limit fits."""
    limit = around.settings().spool_limit
    for name, path in _directories(around):
        free = shutil.disk_usage(_standing(path)).free
        shown = f"{free / _GIB:,.1f} GiB free at {_standing(path)}"
        if free < _LOW:
            yield fail(f"{name} disk", shown, "make room: below 1 GiB inserts begin to fail")
        elif name == "spool" and free < limit:
            fix = f"OTEL_ATTRIB_SPOOL_LIMIT={free // 2 // _GIB or 1}GiB, or make room"
            yield warn(
                f"{name} disk", f"{shown}, less than the spool may hold ({limit / _GIB:,.1f} GiB)", fix
            )
        else:
            yield ok(f"{name} disk", shown)


@check("file system")
def file_system(around: Surroundings) -> Iterator[Finding]:
    """Acknowledged data is synced to a disk of this machine, not to a network or to memory."""
    mounts = _mounts(around.proc / "mounts")
    for name, path in _directories(around):
        kind = _kind(_standing(path), mounts)
        if kind in _NETWORKED:
            yield warn(
                f"{name} disk", f"{path} is on {kind}: syncs are slow and locks unsure", "use a local disk"
            )
        elif kind in ("tmpfs", "ramfs"):
            yield warn(
                f"{name} disk", f"{path} is in memory ({kind}) and ends with the machine", "use a disk"
            )


def _mounts(table: Path) -> dict[str, str]:
    try:
        lines = [line.split() for line in table.read_text().splitlines()]
    except OSError:
        return {}
    return {cells[1].replace("\\040", " "): cells[2] for cells in lines if len(cells) > 2}


def _kind(path: Path, mounts: dict[str, str]) -> str:
    places = (str(place) for place in (path.resolve(), *path.resolve().parents))
    return next((mounts[place] for place in places if place in mounts), "")


@check("spool left over")
def left_over(around: Surroundings) -> Iterator[Finding]:
    """Nothing waits in the spool while no service runs, and nothing was set aside."""
    path = spool_path(around)
    if path is None or not path.is_dir():
        return
    waiting = list(path.glob(f"*{SUFFIX}"))
    aside = list((path / "quarantine").glob("*.pb"))
    size = sum(file.stat().st_size for file in waiting)
    if waiting and running(around) is None:
        text = f"{len(waiting):,} segments ({size / 1e6:,.1f} MB) wait in {path} and no service runs"
        yield warn("spool", text, "otel-attrib up writes them to the store")
    else:
        yield ok("spool", "nothing is left over")
    if aside:
        text = f"{len(aside):,} requests that the store refused lie in {path / 'quarantine'}"
        yield warn(
            "quarantine", text, "look at them with: otel-attrib import otlp --dry-run FILE; FILE.txt says why"
        )
