"""From one `.c` file to a running program: looks at what the machine has, compiles, attaches, gives the maps.

    tool = Tool(Path(__file__).with_name("calls.c"), maps={"calls": ("I", "QQ")}, uprobes=("on_call",))
    program = load(tool, {"SLOTS": 64})
    program.attach_uprobe(Path("/usr/lib/libx.so"), "x_send", "on_call")
    for (pid,), (count, ns) in program.maps["calls"].items(): ...
    program.close()

The compiler runs in a process of its own (`compile`); this one keeps open files and makes plain system calls.
Functions have plain names: bcc attaches by itself what is called `tracepoint__…` or `kprobe__…`, which would
count twice. Nothing on the machine is changed: no mount, no link, no setting.
"""

import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from otel_attrib.collector.agent.source import Unavailable
from otel_attrib.collector.sources.ebpf.attach import attach_raw_tracepoint, attach_tracepoint, attach_uprobe
from otel_attrib.collector.sources.ebpf.bpf_map import BpfMap
from otel_attrib.collector.sources.ebpf.elf import function_offsets
from otel_attrib.collector.sources.ebpf.features import (
    CAP_BPF,
    CAP_PERFMON,
    Lack,
    Needs,
    bcc_folder,
    headers,
    lacks,
    tracefs,
)

__all__ = ["Program", "Tool", "fallback", "load"]

_COMPILER = Path(__file__).with_name("compile.py")
_LONGEST_S = 180.0
_NOTHING: Mapping[str, str] = MappingProxyType({})
_MOST_FILES = 250
_refused: dict[tuple[str, str], str] = {}
"""What this kernel or compiler refused: asking again would cost seconds and change nothing."""
# Kernel headers and bcc's own definitions disagree on these without harm.
_QUIET = ("-Wno-macro-redefined", "-Wno-ignored-attributes", "-Wno-unused-function")


@dataclass(frozen=True, slots=True)
class Tool:
    """One C file and what it has in it.

    `maps`: name → `struct` formats of key and value, without padding. `tracepoints`: which function runs at
    which tracepoint, attached by `load`; `raw_tracepoints` likewise ("sched_switch"), for which the kernel
    must tell its types (BTF). `uprobes`: functions for `Program.attach_uprobe`. `classifiers`: functions
    for traffic control, whose files are in `Program.functions`.
    """

    source: Path
    maps: Mapping[str, tuple[str, str]]
    tracepoints: Mapping[str, str] = field(default_factory=dict)
    raw_tracepoints: Mapping[str, str] = field(default_factory=dict)
    uprobes: tuple[str, ...] = ()
    classifiers: tuple[str, ...] = ()
    capabilities: tuple[int, ...] = (CAP_BPF, CAP_PERFMON)

    @property
    def needs(self) -> Needs:
        """What the machine must have for it."""
        return Needs(
            tuple(self.tracepoints), bool(self.uprobes), bool(self.raw_tracepoints), self.capabilities
        )

    @property
    def functions(self) -> dict[str, str]:
        """Function → the name that bcc has for its kind of program."""
        return (
            dict.fromkeys(self.tracepoints.values(), "TRACEPOINT")
            | dict.fromkeys(self.raw_tracepoints.values(), "RAW_TRACEPOINT")
            | dict.fromkeys(self.uprobes, "KPROBE")
            | dict.fromkeys(self.classifiers, "SCHED_CLS")
        )


@dataclass(slots=True)
class Program:
    """A tool in the kernel: its maps by name, the files of its functions, and what is attached."""

    maps: Mapping[str, BpfMap]
    functions: Mapping[str, int]
    root: Path = Path("/")
    _attached: set[int] = field(default_factory=set)

    def attach_all(self, tool: Tool) -> None:
        """Attach every tracepoint of the tool: what `load` has done already."""
        for tracepoint, function in tool.tracepoints.items():
            self.attach_tracepoint(tracepoint, function)
        for tracepoint, function in tool.raw_tracepoints.items():
            self._keep(attach_raw_tracepoint(tracepoint, self.functions[function]))

    def attach_tracepoint(self, tracepoint: str, function: str) -> int:
        """Run a function at "sched:sched_switch"; return what `detach` takes."""
        mounted = tracefs(self.root)
        if mounted is None:
            raise Unavailable("tracefs is not mounted")
        return self._keep(attach_tracepoint(mounted / "events", tracepoint, self.functions[function]))

    def attach_uprobe(
        self, library: Path, symbol: str, function: str, *, at_return: bool = False, pid: int = -1
    ) -> int | None:
        """Run a function where `symbol` of the library begins, or returns; None where the library lacks it.

        Processes that start later are seen too. A container's library lies below /proc/<pid>/root.
        """
        offset = function_offsets(library, [symbol]).get(symbol)
        if offset is None:
            return None
        program = self.functions[function]
        return self._keep(
            attach_uprobe(library, offset, program, at_return=at_return, pid=pid, root=self.root)
        )

    def detach(self, attached: int) -> None:
        """Take back one attachment."""
        self._attached.discard(attached)
        os.close(attached)

    def detach_all(self) -> None:
        """Take back every attachment; maps and functions stay."""
        while self._attached:
            os.close(self._attached.pop())

    def close(self) -> None:
        """Take everything out of the kernel again."""
        self.detach_all()
        for fd in self.functions.values():
            os.close(fd)
        self.functions = {}
        for each in self.maps.values():
            each.close()

    def _keep(self, attached: int) -> int:
        self._attached.add(attached)
        return attached


def fallback(missing: list[Lack]) -> str:
    """Return the one line that says why there is no eBPF and what is read instead."""
    return f"no eBPF, the /proc sources are read instead: {'; '.join(map(str, missing))}"


def load(tool: Tool, defines: Mapping[str, str | int] = _NOTHING, root: Path = Path("/")) -> Program:
    """Compile a tool with `-D` for every define and attach its tracepoints.

    Raises `Unavailable` with one line: what is missing and what would bring it, or the compiler's last words.
    The line is the same for every tool that lacks the same, so that it need be said only once.
    """
    missing = lacks(tool.needs, root)
    if missing:
        raise Unavailable(fallback(missing))
    program = _compile(tool, defines, root)
    try:
        program.attach_all(tool)
    except OSError as fault:
        program.close()
        raise Unavailable(f"no eBPF: {tool.source.name} cannot be attached: {fault}") from fault
    return program


def _compile(tool: Tool, defines: Mapping[str, str | int], root: Path) -> Program:
    asked = str(tool.source), str(sorted(defines.items()))
    if asked in _refused:
        raise Unavailable(_refused[asked])
    try:
        return _handed_over(tool, defines, root)
    except Unavailable as refusal:
        _refused[asked] = str(refusal)
        raise


def _handed_over(tool: Tool, defines: Mapping[str, str | int], root: Path) -> Program:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        request = _request(tool, defines, root) | {"answer": theirs.fileno()}
        sizes = _run(request, theirs, tool, root)
        theirs.close()
        files = _receive(ours)
    functions = dict(zip(tool.functions, files[len(tool.maps) :], strict=True))
    maps = {}
    for (name, (key, value)), (key_size, value_size, entries), fd in zip(
        tool.maps.items(), sizes, files[: len(tool.maps)], strict=True
    ):
        said = (struct.calcsize(f"={key}"), struct.calcsize(f"={value}"))
        if said != (key_size, value_size):
            raise ValueError(
                f"map {name} of {tool.source.name} has {(key_size, value_size)} bytes, not {said}"
            )
        maps[name] = BpfMap(fd, key, value, entries)
    return Program(maps, functions, root)


def _request(tool: Tool, defines: Mapping[str, str | int], root: Path) -> dict[str, object]:
    found, folder = headers(root), bcc_folder(root)
    also = found.also if found else ()
    flags = [f"-D{name}={value}" for name, value in defines.items()]
    flags += [f"-I{path}" for path in (*also, tool.source.parent)]
    return {
        "bcc": str(folder),
        "source": str(tool.source),
        "cflags": [*_QUIET, *flags],
        "maps": list(tool.maps),
        "functions": tool.functions,
    }


def _run(request: dict[str, object], answer: socket.socket, tool: Tool, root: Path) -> list[list[int]]:
    """Run the compiler and return the sizes of the maps; its files wait in the socket."""
    found = headers(root)
    environ = dict(os.environ)
    if found and found.folder:
        environ["BCC_KERNEL_SOURCE"] = str(found.folder)
    with tempfile.TemporaryFile() as words:
        try:
            done = subprocess.run(
                [sys.executable, "-I", str(_COMPILER)],
                input=json.dumps(request).encode(),
                stdout=subprocess.PIPE,
                stderr=words,
                env=environ,
                pass_fds=(answer.fileno(),),
                timeout=_LONGEST_S,
                check=False,
            )
        except subprocess.TimeoutExpired as fault:
            raise Unavailable(
                f"no eBPF: {tool.source.name} took over {_LONGEST_S:.0f} s to compile"
            ) from fault
        if done.returncode == 0:
            sizes: list[list[int]] = json.loads(done.stdout)
            return sizes
        words.seek(0)
        said = _last_words(words.read().decode(errors="replace"))
    raise Unavailable(f"no eBPF: {tool.source.name} cannot be loaded: {said}")


def _last_words(said: str) -> str:
    """What the compiler or the kernel's verifier objects to, in one line."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("processed ")]
    errors = [line for line in lines if " error: " in line]
    return "; ".join(errors[:2] or lines[-3:])[-400:]


def _receive(answer: socket.socket) -> list[int]:
    files: list[int] = []
    while True:
        data, some, _, _ = socket.recv_fds(answer, 16, _MOST_FILES, socket.MSG_CMSG_CLOEXEC)
        files += some
        if not data:
            return files
