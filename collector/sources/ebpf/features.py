"""What this machine lacks for eBPF, each with its remedy. Nothing is changed here, only looked at.

Every function takes the root of the file system, so that tests can put a folder of their own in.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from otel_attrib.collector.sources.ebpf.btf import VMLINUX

__all__ = [
    "CAP_BPF",
    "CAP_NET_ADMIN",
    "CAP_PERFMON",
    "Headers",
    "Lack",
    "Needs",
    "bcc_folder",
    "headers",
    "lacks",
    "may",
    "may_load",
    "tracefs",
]

CAP_NET_ADMIN: Final = 12
_CAP_SYS_ADMIN = 21
CAP_PERFMON: Final = 38
CAP_BPF: Final = 39

_HOST_PIDS = (
    "pid:[4026531836]"  # PROC_PID_INIT_INO of <linux/proc_ns.h>: the first namespace's number is fixed
)
_TRACEFS = ("sys/kernel/tracing", "sys/kernel/debug/tracing")
_KCONFIG = "include/linux/kconfig.h"
_AUTOCONF = "include/generated/autoconf.h"


@dataclass(frozen=True, slots=True)
class Lack:
    """One thing that is missing, and what would bring it."""

    what: str
    remedy: str

    def __str__(self) -> str:
        """Say both in one line."""
        return f"{self.what} ({self.remedy})"


@dataclass(frozen=True, slots=True)
class Needs:
    """What one tool needs beyond the compiler; tracepoints as `sched:sched_switch`."""

    tracepoints: tuple[str, ...] = ()
    uprobes: bool = False
    btf: bool = False
    capabilities: tuple[int, ...] = (CAP_BPF, CAP_PERFMON)


@dataclass(frozen=True, slots=True)
class Headers:
    """Kernel headers: the folder to compile in and what must be searched beside it.

    `own` is False for those of another kernel version: enough for tracepoint arguments and user registers,
    while inner structs of the kernel must not be read with them.
    """

    folder: Path | None
    also: tuple[Path, ...] = ()
    own: bool = True


def lacks(needs: Needs, root: Path = Path("/"), release: str | None = None) -> list[Lack]:
    """Return everything that stands in a tool's way, the most fundamental first; empty when it can run."""
    found = [
        _privileges(needs, root),
        _host_pids(root),
        None if bcc_folder(root) else _NO_BCC,
        None if headers(root, release) else _no_headers(release or os.uname().release),
        *_traces(needs, root),
    ]
    return [lack for lack in found if lack]


_NO_BCC = Lack(
    "the BPF Compiler Collection is not installed",
    "apt-get install python3-bpfcc, dnf install python3-bcc; PyPI's bcc is something else",
)


def _no_headers(release: str) -> Lack:
    return Lack(
        f"no kernel headers for {release} or any other version",
        f"apt-get install linux-headers-{release}; of another version will do: linux-headers-amd64",
    )


def may(capability: int, root: Path = Path("/")) -> bool:
    """Return whether this process holds a capability, or CAP_SYS_ADMIN that stands for those used here."""
    try:
        lines = (root / "proc/self/status").read_text().splitlines()
    except OSError:
        return False
    for line in lines:
        name, _, value = line.partition(":")
        if name == "CapEff":
            mask = int(value, 16)
            wide = capability != CAP_NET_ADMIN and mask >> _CAP_SYS_ADMIN & 1
            return bool(mask >> capability & 1 or wide)
    return False


def may_load(root: Path = Path("/")) -> bool:
    """Return whether this process may load programs at all."""
    return may(CAP_BPF, root) and may(CAP_PERFMON, root)


def _privileges(needs: Needs, root: Path) -> Lack | None:
    names = {CAP_BPF: "CAP_BPF", CAP_PERFMON: "CAP_PERFMON", CAP_NET_ADMIN: "CAP_NET_ADMIN"}
    missing = [names[each] for each in needs.capabilities if not may(each, root)]
    if missing:
        return Lack(f"no permission: {' and '.join(missing)} missing", "run the agent as root or grant them")
    lockdown = root / "sys/kernel/security/lockdown"
    if lockdown.exists() and "[confidentiality]" in lockdown.read_text():
        return Lack("the kernel is locked down for confidentiality", "boot with lockdown=integrity or none")
    return None


def _host_pids(root: Path) -> Lack | None:
    """BPF sees the host's process numbers: those that a container counts for itself would match nothing."""
    try:
        space = os.readlink(root / "proc/self/ns/pid")
    except OSError:
        return None
    if space == _HOST_PIDS:
        return None
    return Lack("this container numbers processes by itself", "share the host's: hostPID: true, --pid=host")


def bcc_folder(root: Path = Path("/")) -> Path | None:
    """Return the folder that holds the BPF Compiler Collection's Python package, or None.

    It is known by its binding to libbcc, which PyPI's package of the same name does not have.
    """
    for pattern in ("usr/lib/python3/dist-packages", "usr/lib/python3*/site-packages"):
        for folder in sorted(root.glob(pattern)):
            if (folder / "bcc/libbcc.py").is_file():
                return folder / "bcc"
    return None


def headers(root: Path = Path("/"), release: str | None = None) -> Headers | None:
    """Return the running kernel's headers, else those of any other version, else None."""
    release = release or os.uname().release
    own = root / "lib/modules" / release
    if any((own / name / _KCONFIG).is_file() for name in ("build", "source")):
        return Headers(None)  # where the compiler looks by itself
    if (root / "sys/kernel/kheaders.tar.xz").exists():
        return Headers(None)
    return next(_foreign(root), None)


def _foreign(root: Path) -> Iterator[Headers]:
    """Headers of other versions: whole, or in Debian's two halves (generated and common)."""
    for build in sorted(
        [*root.glob("usr/src/linux-headers-*"), *root.glob("usr/src/kernels/*")], reverse=True
    ):
        if not (build / _AUTOCONF).is_file():
            continue
        if (build / _KCONFIG).is_file():
            yield Headers(build, own=False)
        common = build.with_name(f"{build.name.rpartition('-')[0]}-common")
        if (common / _KCONFIG).is_file():
            yield Headers(common, tuple(_generated(build)), own=False)


def _generated(build: Path) -> Iterator[Path]:
    for arch in sorted(build.glob("arch/*/include/generated")):
        yield from (arch, arch / "uapi")
    yield from (build / "include", build / "include/generated/uapi")


def tracefs(root: Path = Path("/")) -> Path | None:
    """Return where tracefs is mounted and readable, or None."""
    for name in _TRACEFS:
        if (root / name / "events").is_dir():
            return root / name
    return None


def _traces(needs: Needs, root: Path) -> Iterable[Lack]:
    if needs.tracepoints:
        mounted = tracefs(root)
        if mounted is None:
            yield Lack("tracefs is not mounted", "mount -t tracefs none /sys/kernel/tracing")
        else:
            for name in needs.tracepoints:
                if not (mounted / "events" / name.replace(":", "/") / "id").exists():
                    yield Lack(f"this kernel has no tracepoint {name}", "a kernel built with it")
    if needs.btf and not (root / VMLINUX).exists():
        yield Lack(
            "this kernel tells no types (no /sys/kernel/btf/vmlinux)", "a kernel with CONFIG_DEBUG_INFO_BTF"
        )
    if needs.uprobes and not (root / "sys/bus/event_source/devices/uprobe/type").exists():
        yield Lack("this kernel has no uprobes", "a kernel with CONFIG_UPROBE_EVENTS, 4.17 or newer")
