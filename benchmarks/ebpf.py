"""What the scheduler's probes cost: work that switches or calls as often as it can, probes on and off.

Each figure is CPU time of the whole process an operation, which a busy machine does not change; the ratio
is the median over rounds of the on-run over the mean of the off-runs beside it. `watched` is an engine's
process; `others` is any other process of the machine, which pays for being passed by. Then what a reading
costs.

    sudo .venv/bin/python benchmarks/ebpf.py --rounds 15 --json ebpf.json
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.agent.source import Unavailable
from otel_attrib.collector.sources.ebpf.sched import SCHED_TOOLS, Sched

LOAD = Path(__file__).with_name("ebpf_load.c")
KINDS = {"pipes": (20_000, 2), "locks": (20_000, 2), "calls": (400_000, 0)}
"""Kind → operations a run, switches an operation."""
WAYS = {True: "registers", False: "system calls"}


@dataclass(frozen=True)
class Figure:
    """One load under one way of watching."""

    load: str
    way: str
    whose: str
    off_ns: float
    on_ns: float
    ratio: float
    ns_a_switch: float | None


class Load:
    """The program that works on demand."""

    def __init__(self, program: Path) -> None:
        """Start it."""
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def cpu_ns(self, kind: str) -> float:
        """CPU time of one operation."""
        count = KINDS[kind][0]
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{kind} {count}\n")
        return int(self.process.stdout.readline().split()[0]) / count


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    try:
        figures = list(measure(args.rounds))
        reading = reading_cost()
    except Unavailable as fault:
        print(fault)
        if args.json:
            args.json.write_text(json.dumps({"unavailable": str(fault)}) + "\n")
        return 0
    show(figures, reading)
    if args.json:
        document = {"figures": [asdict(each) for each in figures], "reading": reading}
        args.json.write_text(json.dumps(document, indent=1) + "\n")
    return 0


def measure(rounds: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "load"
        subprocess.run(["gcc", "-O2", "-pthread", "-o", program, LOAD], check=True)
        load = Load(program)
        try:
            for by_registers, way in WAYS.items():
                for whose in ("watched", "others"):
                    pids = [load.process.pid] if whose == "watched" else []
                    finder = EngineProcesses(pids=pids, only=True, every_s=0.0)
                    source = Sched(processes=finder, by_registers=by_registers, claiming=False)
                    source.read()
                    for kind in KINDS:
                        yield figure(load, source, kind, way, whose, rounds, by_registers)
                    source.close()
        finally:
            load.process.kill()
            load.process.communicate()


def figure(
    load: Load, source: Sched, kind: str, way: str, whose: str, rounds: int, by_registers: bool
) -> Figure:
    """Off, on, off, on, …, off: every on-run stands between two off-runs."""
    off, on = [], []
    with detached(source, by_registers):
        load.cpu_ns(kind)
        off.append(load.cpu_ns(kind))
    for _ in range(rounds):
        on.append(load.cpu_ns(kind))
        with detached(source, by_registers):
            off.append(load.cpu_ns(kind))
    ratios = [each / ((off[i] + off[i + 1]) / 2) for i, each in enumerate(on)]
    plain, probed, switches = statistics.median(off), statistics.median(on), KINDS[kind][1]
    return Figure(
        kind,
        way,
        whose,
        plain,
        probed,
        statistics.median(ratios),
        (probed - plain) / switches if switches else None,
    )


@contextmanager
def detached(source: Sched, by_registers: bool) -> Iterator[None]:
    """Take the probes away and put them back: the program itself stays loaded."""
    program = source.program
    program.detach_all()
    try:
        yield
    finally:
        program.attach_all(SCHED_TOOLS[by_registers])


def reading_cost(threads: int = 300, reads: int = 100) -> Mapping[str, float]:
    """CPU time of one `read()` over a process of so many sleeping threads, and of loading."""
    code = (
        "import threading,time\n"
        f"for _ in range({threads}): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "print(flush=True); time.sleep(60)"
    )
    many = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert many.stdout
        many.stdout.readline()
        began = time.perf_counter()
        finder = EngineProcesses(pids=[many.pid], only=True, every_s=3600.0)
        source = Sched(processes=finder, claiming=False)
        loaded = time.perf_counter() - began
        list(source.read())
        cpu = time.thread_time()
        for _ in range(reads):
            list(source.read())
        cost = (time.thread_time() - cpu) / reads
        source.close()
    finally:
        many.kill()
        many.communicate()
    return {"threads": threads, "read_us": cost * 1e6, "load_s": loaded}


def show(figures: list[Figure], reading: Mapping[str, float]) -> None:
    print("| load | known by | process | off ns | on ns | on/off | ns a switch |")
    print("|---|---|---|---|---|---|---|")
    for each in figures:
        switch = f"{each.ns_a_switch:.0f}" if each.ns_a_switch is not None else ""
        print(
            f"| {each.load} | {each.way} | {each.whose} | {each.off_ns:.0f} | {each.on_ns:.0f} "
            f"| {each.ratio:.3f} | {switch} |"
        )
    print(
        f"\none read over {reading['threads']:.0f} threads: {reading['read_us']:.0f} us of CPU; "
        f"compiled and attached in {reading['load_s']:.1f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
