"""Is a fault of the CPU seen in run-queue wait of exactly the requests that it hit, by eBPF and by schedstat?

One real vLLM serves recorded arrivals, open loop, at a rate that it serves easily. Its core has a processor
of its own, pinned. Then, seconds on and seconds off by turns: two other processes compute on that processor
(hog); the engine's control group gets half of the CPU that it needs (quota); the core is made `nice 19`
beside a process of usual priority in its group (nice).

Two agents send to one private `otel-attrib up`, one reads by eBPF, the other `/proc`: inside one agent the
better source silences the other. Afterwards each request's wait is taken from the store by the product's
join, each source by itself, and set beside this program's own clock of when the fault was on. Root is needed.

    sudo .venv/bin/python benchmarks/host_faults.py --json build/bench/host_faults.json
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from benchmarks.host_fault_figures import Agreement, Result, Told, agreement, overlap, tell_apart
from benchmarks.host_fault_join import MEASURES, fetch, fetch_requests, gap_ms, known, measured
from benchmarks.host_fault_switch import FAULTS, Engine, alternate, cgroup_of, pin, switched
from benchmarks.host_fault_table import table
from benchmarks.process import cpu_s, version_line
from otel_attrib.analytics.columns import Flags
from otel_attrib.analytics.join.measure import Measured
from otel_attrib.collector.agent.source import Unavailable
from otel_attrib.demo.arrivals import load, paced
from otel_attrib.demo.environment import (
    VLLM_VERSION,
    clean_environment,
    ensure_model,
    ensure_vllm,
    server_environment,
)
from otel_attrib.demo.process import Child, free_port
from otel_attrib.demo.replay import replay
from otel_attrib.demo.scenario import shim_environment
from otel_attrib.demo.server import ServerShape, engine_processes, start_vllm
from otel_attrib.demo.service import OURS, Service
from otel_attrib.demo.workload import plan
from otel_attrib.schema.store import Store, connect

SERVICE = "host-faults"
SILENCE = 5.0
WARM_UP_S = 12.0
OF_NEED = 0.5
LEAST_QUOTA = 0.02
AGENTS = {"ebpf": "sched", "proc": "schedstat,throttling"}
READY_S = 60.0
SENT_S = 3.0
BOTH = {"engine": ("eBPF", "schedstat"), "core": ("core, eBPF", "core, schedstat")}
WAYS = """
SELECT uniqExact(attributes['slatag.source']) AS ways FROM samples
WHERE metric = 'slatag.process.run_queue_wait' AND attributes['slatag.process.role'] = 'engine_core'
"""


@dataclass(frozen=True)
class Pace:
    """How much is sent, and how often a fault goes on and off."""

    rate: float = 4.0
    cycles: int = 8
    seconds: float = 6.0


@dataclass(frozen=True)
class Phase:
    """What was done: the fault, from when to when, and when it was on (µs since 1970)."""

    fault: str
    start_us: int
    end_us: int
    on: list[tuple[int, int]]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rate", type=float, default=Pace.rate, help="requests a second (%(default)g)")
    parser.add_argument("--cycles", type=int, default=Pace.cycles, help="times a fault is on (%(default)d)")
    parser.add_argument("--seconds", type=float, default=Pace.seconds, help="on, and off (%(default)g)")
    parser.add_argument("--only", nargs="*", default=FAULTS, choices=FAULTS)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("root is needed: eBPF, control groups and priorities")
    with tempfile.TemporaryDirectory() as folder:
        try:
            document = measure(Path(folder), Pace(args.rate, args.cycles, args.seconds), args.only)
        except Unavailable as fault:
            document = {"unavailable": str(fault)}
    print(json.dumps(document) if "unavailable" in document else table(document["results"]))
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        plain = {**document, "results": [asdict(each) for each in document.get("results", ())]}
        args.json.write_text(json.dumps(plain, indent=1) + "\n")
    return 0


def measure(folder: Path, pace: Pace, faults: Sequence[str]) -> dict[str, Any]:
    """Run everything; `Unavailable` where one of the two sources is not to be had."""
    programs, model = ensure_vllm(), ensure_model()
    with processors() as cpu, Service(folder / "service", "--no-agent") as service:
        with ExitStack() as stack:
            child, port = serve(stack, folder, service, programs, model)
            core = core_of(child.pid)
            pin(core, cpu)
            pids = tree(child.pid)
            group = stack.enter_context(cgroup_of(pids))
            agents = [agent(stack, folder, service, child.pid, name) for name in AGENTS]
            wait_for_both(service, agents)
            used = warm_up(pace, port, pids)
            engine = Engine(core, cpu, group, max(LEAST_QUOTA, OF_NEED * used))
            phases = [run(fault, engine, pace, port, number) for number, fault in enumerate(faults)]
        time.sleep(SENT_S)  # server and agents have ended and sent their last
        store = connect(None, service.url)
        try:
            results = [result(store, phase) for phase in phases]
            gaps = {name: reading_gap(store, phases[0], name) for name in MEASURES}
        finally:
            store.close()
    return {
        "benchmark": "host_faults",
        "vllm": VLLM_VERSION,
        "machine": version_line(),
        "load_average": os.getloadavg(),
        "pace": asdict(pace),
        "engine_cpu_share": used,
        "quota": engine.quota,
        "reading_gap_ms": gaps,
        "results": results,
    }


@contextmanager
def processors() -> Iterator[int]:
    """Keep this program, and all that it starts, off one processor, which is yielded."""
    before = os.sched_getaffinity(0)
    *others, cpu = sorted(before)
    os.sched_setaffinity(0, others or {cpu})
    try:
        yield cpu
    finally:
        os.sched_setaffinity(0, before)


def serve(stack: ExitStack, folder: Path, service: Service, programs: Path, model: Path) -> tuple[Child, int]:
    """Start vLLM with our spans on."""
    port = free_port()
    launcher = (*OURS, "run", f"--otlp={service.otlp_grpc}", f"--service={SERVICE}", "--")
    environment = server_environment() | shim_environment("grpc")
    log = folder / "vllm.log"
    child = start_vllm(programs, model, port, log, environment, ServerShape(), launcher)
    return stack.enter_context(child), port


def core_of(pid: int) -> int:
    """Return the pid of the engine core."""
    return next(found for title, found in engine_processes(pid).items() if "EngineCore" in title)


def tree(pid: int) -> list[int]:
    """Return a process and all below it."""
    found = [pid]
    for each in found:
        for task in Path(f"/proc/{each}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return found


def agent(stack: ExitStack, folder: Path, service: Service, pid: int, name: str) -> Child:
    """Start an agent that reads this engine alone by one way."""
    command = [*OURS, "agent", f"--pid={pid}", f"--sources={AGENTS[name]}", f"--endpoint={service.otlp_http}"]
    environment = clean_environment() | {"OTEL_ATTRIB_BOARD": str(folder / f"board-{name}")}
    return stack.enter_context(Child(command, folder / f"agent-{name}.log", environment))


def wait_for_both(service: Service, agents: Sequence[Child]) -> None:
    """Return when both ways give readings of the engine core."""
    end = time.monotonic() + READY_S
    while service.rows(WAYS)[0]["ways"] < 2:
        if time.monotonic() > end:
            raise Unavailable(f"one source gives nothing:{''.join(each.last_lines() for each in agents)}")
        time.sleep(0.5)


def warm_up(pace: Pace, port: int, pids: Sequence[int]) -> float:
    """Serve for a while; return the share of a processor that this traffic needs."""
    planned = plan(arrivals(pace.rate, WARM_UP_S), seed=99, words_seed=99)
    asyncio.run(replay(planned[: len(planned) // 3], port, "first"))
    before, began = sum(map(cpu_s, pids)), time.monotonic()
    asyncio.run(replay(planned, port, "warm-up"))
    return (sum(map(cpu_s, pids)) - before) / (time.monotonic() - began)


def arrivals(rate: float, seconds: float) -> Any:
    """Return the recorded arrivals of so many seconds."""
    return paced(load()[: max(3, round(rate * seconds))], rate, SILENCE)


def run(name: str, engine: Engine, pace: Pace, port: int, seed: int) -> Phase:
    """Serve while one fault goes on and off."""
    planned = plan(arrivals(pace.rate, (2 * pace.cycles + 1) * pace.seconds), seed=seed, words_seed=seed)
    print(f"{name}: {len(planned)} requests", file=sys.stderr, flush=True)
    start = time.time_ns()
    with switched(name, engine) as fault:

        async def both() -> list[tuple[int, int]]:
            _, on = await asyncio.gather(
                replay(planned, port, name), alternate(fault, pace.cycles, pace.seconds)
            )
            return on

        on = asyncio.run(both())
    time.sleep(1.0)  # a phase does not share its last reading with the next
    return Phase(name, start // 1000, time.time_ns() // 1000, [(a // 1000, b // 1000) for a, b in on])


def result(store: Store, phase: Phase) -> Result:
    """Set the requests' waits beside when the fault was on."""
    start, end, node = fetch_requests(store, SERVICE, phase.start_us, phase.end_us)
    samples = fetch(store, node, phase.start_us, phase.end_us)
    names = [name for name in MEASURES if name != "throttled" or phase.fault == "quota"]
    of_request = {name: measured(samples, MEASURES[name], node, start, end) for name in names}
    usable = known(list(of_request.values()))
    laid = overlap(start, end, phase.on)
    gap_us = round(1000 * (gap_ms(samples, MEASURES["schedstat"]) or 0.0))
    at_edge = laid.at_edge(gap_us)

    def told(found: Measured) -> Told:
        share = found.value * 1e6 / (end - start)
        return tell_apart(share[usable], laid.hit[usable], at_edge[usable])

    def agreed(names: tuple[str, str]) -> Agreement:
        on = np.array(phase.on, dtype=np.int64)
        one, other = (measured(samples, MEASURES[name], node, on[:, 0], on[:, 1]) for name in names)
        mine, theirs = (chosen(of_request[name], usable & laid.hit) for name in names)
        return agreement((one, other), (mine, theirs))

    return Result(
        fault=phase.fault,
        requests=start.size,
        unknown=int((~usable).sum()),
        told={name: told(found) for name, found in of_request.items()},
        agreement={of: agreed(names) for of, names in BOTH.items()},
    )


def chosen(found: Measured, which: Flags) -> Measured:
    """Return some of the stretches."""
    return Measured(found.value[which], found.low[which], found.high[which], found.coverage[which])


def reading_gap(store: Store, phase: Phase, name: str) -> float | None:
    """Return how far apart a source's readings were, ms."""
    _, _, node = fetch_requests(store, SERVICE, phase.start_us, phase.end_us)
    return gap_ms(fetch(store, node, phase.start_us, phase.end_us), MEASURES[name])


if __name__ == "__main__":
    sys.exit(main())
