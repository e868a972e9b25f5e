"""Offsets from a kernel's type information: a small one made by hand, and this machine's own."""

import platform
import struct
from pathlib import Path

import pytest

from otel_attrib.collector.sources.ebpf.btf import VMLINUX, Btf

INT, POINTER, STRUCT, TYPEDEF, PROTO = 1, 2, 4, 8, 13
FIELDS_HAVE_BITS = 1 << 31


def made(folder: Path) -> Path:
    """`struct task { int state; struct { int pid, tgid; }; }` and the tracepoint `woken(struct task *)`."""
    strings = b"\0int\0task\0state\0pid\0tgid\0btf_trace_woken\0task_elsewhere\0"

    def name(text: str) -> int:
        return strings.index(b"\0" + text.encode() + b"\0") + 1 if text else 0

    def head(text: str, kind: int, parts: int, size: int, flag: int = 0) -> bytes:
        return struct.pack("=III", name(text), flag | kind << 24 | parts, size)

    types = b"".join(
        [
            head("int", INT, 0, 4) + struct.pack("=I", 32),  # 1
            head("", STRUCT, 2, 8)  # 2: fields at 0 and 4
            + struct.pack("=III", name("pid"), 1, 0)
            + struct.pack("=III", name("tgid"), 1, 32),
            head("task", STRUCT, 2, 16, FIELDS_HAVE_BITS)  # 3: the nameless struct at 8
            + struct.pack("=III", name("state"), 1, 0)
            + struct.pack("=III", 0, 2, 64),
            head("", POINTER, 0, 3),  # 4
            head("", PROTO, 2, 0) + struct.pack("=IIII", 0, 4, 0, 4),  # 5
            head("", POINTER, 0, 5),  # 6
            head("btf_trace_woken", TYPEDEF, 0, 6),  # 7
        ]
    )
    header = struct.pack("=HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(types), len(types), len(strings))
    path = folder / "vmlinux"
    path.write_bytes(header + types + strings)
    return path


def test_a_field_of_a_nameless_struct_is_the_outer_ones(tmp_path: Path) -> None:
    """Offsets add up through what has no name; what is not there has none."""
    types = Btf(made(tmp_path))

    assert [0, 8, 12, None] == [types.offset("task", name) for name in ("state", "pid", "tgid", "mm")]
    assert types.offset("tas", "pid") is None


def test_arguments_of_a_tracepoint_leave_the_kernels_own_out(tmp_path: Path) -> None:
    """A tracepoint of one argument has one; one that the kernel lacks has none."""
    types = Btf(made(tmp_path))

    assert [1, None] == [types.arguments(name) for name in ("woken", "slept")]


def test_what_is_no_type_information_is_refused(tmp_path: Path) -> None:
    """Another file, or half of one, is told from it."""
    path = made(tmp_path)
    whole = path.read_bytes()
    for wrong in (b"\x7fELF" + bytes(60), whole[:10], whole[:60]):
        path.write_bytes(wrong)
        with pytest.raises(ValueError):
            Btf(path)


def test_this_kernels_offsets_are_those_of_its_interface() -> None:
    """struct pt_regs is fixed by the interface of x86_64 (asm/ptrace.h): ax lies at 80, orig_ax at 120."""
    if not Path("/", VMLINUX).exists():
        pytest.skip("this kernel tells no types")
    if platform.machine() != "x86_64":
        pytest.skip("not x86_64")
    types = Btf()

    assert [80, 120, 128] == [types.offset("pt_regs", name) for name in ("ax", "orig_ax", "ip")]
    assert types.offset("list_head", "prev") == 8
    assert types.arguments("sched_wakeup") == 1
