"""What the doctor says of eBPF."""

import os
from pathlib import Path

from otel_attrib.doctor.check import Surroundings
from otel_attrib.doctor.ebpf import ebpf


def machine(root: Path, capabilities: str) -> Surroundings:
    """A bare machine whose user has these capabilities."""
    (root / "proc/self/ns").mkdir(parents=True)
    (root / "proc/self/status").write_text(f"CapEff:\t{capabilities}\n")
    os.symlink("pid:[4026531836]", root / "proc/self/ns/pid")
    return Surroundings(proc=root / "proc")


def test_without_permission_it_is_told_and_no_fault(tmp_path: Path) -> None:
    """A user who is not root is told that /proc is read, as one line that needs nothing done."""
    (finding,) = ebpf(machine(tmp_path, "0"))

    assert finding.level == "OK"
    assert "reads /proc instead" in finding.text
    assert "run the agent as root" in finding.text


def test_root_is_told_everything_that_is_missing(tmp_path: Path) -> None:
    """On a bare machine bcc, headers, tracefs, types and uprobes are each a line with its remedy."""
    findings = list(ebpf(machine(tmp_path, "1ffffffffff")))

    assert ["WARN"] * 5 == [finding.level for finding in findings]
    assert "python3-bpfcc" in findings[0].fix
    assert "linux-headers-amd64" in findings[1].fix
    assert "mount -t tracefs none /sys/kernel/tracing" in findings[2].fix
    assert "CONFIG_DEBUG_INFO_BTF" in findings[3].fix
    assert "CONFIG_UPROBE_EVENTS" in findings[4].fix


def test_a_machine_with_headers_of_another_version_is_whole(tmp_path: Path) -> None:
    """Debian's headers serve another kernel, and it is said that they do."""
    around = machine(tmp_path, "1ffffffffff")
    for name in (
        "usr/lib/python3/dist-packages/bcc/libbcc.py",
        "usr/src/linux-headers-6.1.0-44-amd64/include/generated/autoconf.h",
        "usr/src/linux-headers-6.1.0-44-common/include/linux/kconfig.h",
        "sys/kernel/tracing/events/sched/sched_switch/id",
        "sys/kernel/btf/vmlinux",
        "sys/bus/event_source/devices/uprobe/type",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")

    (finding,) = ebpf(around)

    assert finding.level == "OK"
    assert "headers of another kernel version" in finding.text
