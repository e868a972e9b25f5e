"""Where a process's control groups are in the file system, from its `cgroup` and a `mountinfo`.

`/proc/<pid>/cgroup` names a path in a hierarchy (cgroups(7)); a mount shows a hierarchy from some root of it
on (proc(5)). A container's mount begins at the container's own group. Paths are the reader's.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

__all__ = ["CgroupMount", "Membership", "folder_of", "parse_memberships", "parse_mounts"]

_OCTAL = re.compile(r"\\([0-7]{3})")
UNIFIED = ""
"""The name of version 2's one hierarchy, which has no controllers of its own in `/proc/<pid>/cgroup`."""


@dataclass(frozen=True, slots=True)
class CgroupMount:
    """A hierarchy seen at `point` from `root` on: version 2's has the controller `UNIFIED`."""

    point: str
    root: str
    controllers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Membership:
    """The group that a process is in, in the hierarchy of these controllers."""

    controllers: frozenset[str]
    path: str


def parse_mounts(text: str) -> tuple[CgroupMount, ...]:
    """Return the control-group mounts of a `mountinfo`."""
    found = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, rest = after.partition(" ")
        words = before.split(" ")
        if kind not in ("cgroup", "cgroup2") or len(words) < 5:
            continue
        options = rest.rpartition(" ")[2].split(",")
        controllers = frozenset({UNIFIED} if kind == "cgroup2" else options)
        found.append(CgroupMount(_plain(words[4]), _plain(words[3]), controllers))
    return tuple(found)


def parse_memberships(text: str) -> tuple[Membership, ...]:
    """Return the groups of a `/proc/<pid>/cgroup`."""
    rows = (line.split(":", 2) for line in text.splitlines())
    return tuple(Membership(frozenset(row[1].split(",")), row[2]) for row in rows if len(row) == 3)


def folder_of(
    controller: str, memberships: Iterable[Membership], mounts: Iterable[CgroupMount]
) -> tuple[str, str, str] | None:
    """Return the folder, the mount point above it and the group's path; None where no mount shows it."""
    for member in memberships:
        if controller not in member.controllers:
            continue
        for mount in mounts:
            below = _below(member.path, mount.root) if controller in mount.controllers else None
            if below is not None:
                return str(PurePosixPath(mount.point) / below), mount.point, member.path
    return None


def _below(path: str, root: str) -> str | None:
    """Return the part of a path below a mount's root; None where the mount does not show it."""
    if path == root:
        return ""
    if root != "/" and not path.startswith(root + "/"):
        return None
    below = path.removeprefix(root).lstrip("/")
    return None if ".." in PurePosixPath(below).parts else below


def _plain(text: str) -> str:
    """Undo the octal escapes of spaces and the like."""
    return _OCTAL.sub(lambda found: chr(int(found[1], 8)), text)
