"""Where a process's control groups are."""

import pytest

from otel_attrib.collector.sources.cgroup_mounts import UNIFIED, folder_of, parse_memberships, parse_mounts

SECOND = "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
FIRST = (
    "30 23 0:26 / /sys/fs/cgroup ro shared:4 - tmpfs tmpfs ro,mode=755\n"
    "31 30 0:27 / /sys/fs/cgroup/unified rw shared:5 - cgroup2 cgroup2 rw\n"
    "34 30 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:8 - cgroup cgroup rw,cpu,cpuacct\n"
    "36 30 0:32 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory\n"
)
CONTAINER = "700 690 0:30 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro master:8 - cgroup cgroup rw,cpu,cpuacct\n"
SIBLING = "900 890 0:30 /../b /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
SPACED = "35 24 0:30 / /sys/fs/my\\040groups rw - cgroup2 cgroup2 rw\n"
CASES = {
    "version 2 on a host": (
        SECOND,
        "0::/system.slice/docker-abc.scope\n",
        UNIFIED,
        ("/sys/fs/cgroup/system.slice/docker-abc.scope", "/sys/fs/cgroup", "/system.slice/docker-abc.scope"),
    ),
    "version 2 in a namespace": (SECOND, "0::/\n", UNIFIED, ("/sys/fs/cgroup", "/sys/fs/cgroup", "/")),
    "version 1 on a host": (
        FIRST,
        "4:cpu,cpuacct:/docker/abc\n3:memory:/x\n0::/y\n",
        "cpu",
        ("/sys/fs/cgroup/cpu,cpuacct/docker/abc", "/sys/fs/cgroup/cpu,cpuacct", "/docker/abc"),
    ),
    "version 1 in a container": (
        CONTAINER,
        "4:cpu,cpuacct:/docker/abc/below\n",
        "cpu",
        ("/sys/fs/cgroup/cpu,cpuacct/below", "/sys/fs/cgroup/cpu,cpuacct", "/docker/abc/below"),
    ),
    "another container's group": (CONTAINER, "4:cpu,cpuacct:/docker/abcdef\n", "cpu", None),
    "outside the namespace": (SECOND, "0::/../b\n", UNIFIED, None),
    "a sibling by its own mounts": (
        SIBLING,
        "0::/../b\n",
        UNIFIED,
        ("/sys/fs/cgroup", "/sys/fs/cgroup", "/../b"),
    ),
    "no such controller": (FIRST, "3:memory:/x\n0::/y\n", "cpu", None),
    "a mount point with a space": (
        SPACED,
        "0::/a\n",
        UNIFIED,
        ("/sys/fs/my groups/a", "/sys/fs/my groups", "/a"),
    ),
    "a colon in the name": (SECOND, "0::/a:b\n", UNIFIED, ("/sys/fs/cgroup/a:b", "/sys/fs/cgroup", "/a:b")),
}


@pytest.mark.parametrize("name", CASES)
def test_folder(name: str) -> None:
    """The folder of a group is found wherever its mounts and namespaces put it, and nowhere else."""
    mountinfo, cgroup, controller, folder = CASES[name]

    assert folder == folder_of(controller, parse_memberships(cgroup), parse_mounts(mountinfo))


def test_this_process() -> None:
    """The groups of this very process exist where they are said to be and hold its pid."""
    import os
    from pathlib import Path

    mounts = parse_mounts(Path("/proc/self/mountinfo").read_text())
    memberships = parse_memberships(Path("/proc/self/cgroup").read_text())
    found = [folder_of(one, memberships, mounts) for one in ("cpu", "memory", "pids", UNIFIED)]
    folders = [Path(place[0]) for place in found if place]

    if not folders:
        pytest.skip("no control groups are mounted here")
    for folder in folders:
        assert str(os.getpid()) in (folder / "cgroup.procs").read_text().split()
