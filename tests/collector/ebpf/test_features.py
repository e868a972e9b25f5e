"""What is missing on made-up machines: folders that look like one, no real kernel needed."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from otel_attrib.collector.agent.source import Unavailable
from otel_attrib.collector.sources.ebpf.features import (
    CAP_BPF,
    CAP_NET_ADMIN,
    CAP_PERFMON,
    Headers,
    Needs,
    bcc_folder,
    headers,
    lacks,
    may,
    tracefs,
)
from otel_attrib.collector.sources.ebpf.loader import Tool, load

RELEASE = "6.18.44-test"
NEEDS = Needs(("sched:sched_switch",), uprobes=True, btf=True)
ROOT_CAPABILITIES = "000001fffeffffff"


def write(root: Path, name: str, text: str = "") -> None:
    """Make a file of the machine."""
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def privileges(root: Path, capabilities: str = ROOT_CAPABILITIES, space: str = "pid:[4026531836]") -> None:
    """Say what this process may, and which processes it sees."""
    write(root, "proc/self/status", f"Name:\tx\nCapPrm:\t0\nCapEff:\t{capabilities}\n")
    (root / "proc/self/ns").mkdir(parents=True, exist_ok=True)
    (root / "proc/self/ns/pid").unlink(missing_ok=True)
    os.symlink(space, root / "proc/self/ns/pid")


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A machine that has everything."""
    privileges(tmp_path)
    write(tmp_path, "usr/lib/python3/dist-packages/bcc/__init__.py")
    write(tmp_path, "usr/lib/python3/dist-packages/bcc/libbcc.py")
    write(tmp_path, f"lib/modules/{RELEASE}/build/include/linux/kconfig.h")
    write(tmp_path, "sys/kernel/tracing/events/sched/sched_switch/id", "309\n")
    write(tmp_path, "sys/bus/event_source/devices/uprobe/type", "9\n")
    write(tmp_path, "sys/kernel/btf/vmlinux")
    return tmp_path


def test_a_whole_machine_lacks_nothing(whole: Path) -> None:
    """Where everything is there, nothing is said."""
    assert [] == lacks(NEEDS, whole, RELEASE)


def no_bcc(root: Path) -> None:
    """Take the binding to libbcc away."""
    (root / "usr/lib/python3/dist-packages/bcc/libbcc.py").unlink()


def no_headers(root: Path) -> None:
    """Take the kernel headers away."""
    (root / f"lib/modules/{RELEASE}/build/include/linux/kconfig.h").unlink()


def no_tracefs(root: Path) -> None:
    """Unmount tracefs."""
    (root / "sys/kernel/tracing").rename(root / "elsewhere")


def no_tracepoint(root: Path) -> None:
    """Take one tracepoint away."""
    (root / "sys/kernel/tracing/events/sched/sched_switch/id").unlink()


def no_types(root: Path) -> None:
    """Take the kernel's type information away."""
    (root / "sys/kernel/btf/vmlinux").unlink()


def no_uprobes(root: Path) -> None:
    """Take uprobes away."""
    (root / "sys/bus/event_source/devices/uprobe/type").unlink()


@pytest.mark.parametrize(
    ("damage", "what", "remedy"),
    [
        (lambda root: privileges(root, "0"), "CAP_BPF and CAP_PERFMON missing", "as root"),
        (lambda root: privileges(root, space="pid:[4026532201]"), "numbers processes by itself", "hostPID"),
        (no_bcc, "BPF Compiler Collection is not installed", "apt-get install python3-bpfcc"),
        (no_headers, f"no kernel headers for {RELEASE}", "linux-headers-amd64"),
        (no_tracefs, "tracefs is not mounted", "mount -t tracefs none /sys/kernel/tracing"),
        (no_tracepoint, "no tracepoint sched:sched_switch", "a kernel built with it"),
        (no_uprobes, "no uprobes", "CONFIG_UPROBE_EVENTS"),
        (no_types, "tells no types", "CONFIG_DEBUG_INFO_BTF"),
        (
            lambda root: write(root, "sys/kernel/security/lockdown", "none integrity [confidentiality]"),
            "locked down",
            "lockdown=integrity",
        ),
    ],
    ids=[
        "privileges",
        "pid namespace",
        "bcc",
        "headers",
        "tracefs",
        "tracepoint",
        "uprobes",
        "types",
        "lockdown",
    ],
)
def test_each_missing_thing_has_a_line_with_its_remedy(
    whole: Path, damage: Callable[[Path], None], what: str, remedy: str
) -> None:
    """Of a machine that lacks one thing, exactly that thing is said, and what would bring it."""
    damage(whole)

    (found,) = lacks(NEEDS, whole, RELEASE)

    assert what in found.what
    assert remedy in found.remedy


def test_what_cannot_run_says_that_proc_is_read_instead(whole: Path) -> None:
    """Loading is refused with one line, the same for every tool, before any compiler is started."""
    privileges(whole, "0")
    tools = [Tool(Path(f"{name}.c"), {}) for name in ("one", "two")]

    said = set()
    for tool in tools:
        with pytest.raises(Unavailable) as refusal:
            load(tool, root=whole)
        said.add(str(refusal.value))

    (line,) = said
    assert line.startswith("no eBPF, the /proc sources are read instead: no permission")
    assert "\n" not in line


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ("0", (False, False, False)),
        (f"{1 << 39:x}", (True, False, False)),
        (f"{1 << 39 | 1 << 38 | 1 << 12:x}", (True, True, True)),
        (f"{1 << 21:x}", (True, True, False)),
    ],
    ids=["none", "CAP_BPF alone", "all three", "CAP_SYS_ADMIN"],
)
def test_capabilities_are_read_from_the_mask(
    tmp_path: Path, mask: str, expected: tuple[bool, bool, bool]
) -> None:
    """CAP_SYS_ADMIN stands for CAP_BPF and CAP_PERFMON, as the kernel has it, and not for CAP_NET_ADMIN."""
    privileges(tmp_path, mask)

    assert expected == tuple(may(each, tmp_path) for each in (CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN))


def test_the_package_of_the_same_name_is_not_taken(tmp_path: Path) -> None:
    """A folder `bcc` without the binding to libbcc is somebody else's package."""
    write(tmp_path, "usr/lib/python3/dist-packages/bcc/__init__.py")
    assert bcc_folder(tmp_path) is None

    write(tmp_path, "usr/lib/python3.9/site-packages/bcc/libbcc.py")
    assert tmp_path / "usr/lib/python3.9/site-packages/bcc" == bcc_folder(tmp_path)


def test_headers_of_another_version_serve_in_debians_two_halves(tmp_path: Path) -> None:
    """Debian parts what is generated from what is common: the compiler gets one and searches the other."""
    build, common = "usr/src/linux-headers-6.1.0-44-amd64", "usr/src/linux-headers-6.1.0-44-common"
    write(tmp_path, f"{build}/include/generated/autoconf.h")
    write(tmp_path, f"{build}/arch/x86/include/generated/uapi/asm/types.h")
    write(tmp_path, f"{common}/include/linux/kconfig.h")

    found = headers(tmp_path, RELEASE)

    assert found is not None
    assert (tmp_path / common, False) == (found.folder, found.own)
    assert tmp_path / build / "arch/x86/include/generated/uapi" in found.also
    assert tmp_path / build / "include" in found.also


def test_headers_of_another_version_serve_in_one_piece(tmp_path: Path) -> None:
    """Fedora keeps all of them in one folder."""
    build = "usr/src/kernels/5.14.0-1.el9.x86_64"
    write(tmp_path, f"{build}/include/generated/autoconf.h")
    write(tmp_path, f"{build}/include/linux/kconfig.h")

    assert Headers(tmp_path / build, own=False) == headers(tmp_path, RELEASE)


def test_the_kernels_own_headers_come_first(whole: Path) -> None:
    """Where the running kernel has its own, from a package or packed into itself, the compiler finds them."""
    write(whole, "usr/src/kernels/5.14.0/include/generated/autoconf.h")
    write(whole, "usr/src/kernels/5.14.0/include/linux/kconfig.h")

    assert Headers(None) == headers(whole, RELEASE)
    no_headers(whole)
    write(whole, "sys/kernel/kheaders.tar.xz")
    assert Headers(None) == headers(whole, RELEASE)


def test_tracefs_is_found_in_its_old_place(tmp_path: Path) -> None:
    """Before Linux 4.1 it lay below debugfs, and many systems still mount it there alone."""
    assert tracefs(tmp_path) is None
    (tmp_path / "sys/kernel/debug/tracing/events").mkdir(parents=True)

    assert tmp_path / "sys/kernel/debug/tracing" == tracefs(tmp_path)
