"""Run the real faults on a real vLLM, ask `otel-attrib why` and the rivals of each, and print the table.

Everything happens in a network namespace of its own (packets are lost there and nowhere else) against one
private `otel-attrib up`, whose agent reads the host and finds the engine by itself, as at any user's. The
same recorded arrivals are sent to a healthy server and to the faulty one. Root is needed.

    python benchmarks/attribution/real/run.py --repeats 2 --json build/bench/real.json
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from benchmarks.attribution.real.answer import Answered, read_answer, table
from benchmarks.attribution.real.faults import FAULTS, Fault, Server
from benchmarks.attribution.real.harm import Harm, engine_cgroup
from benchmarks.attribution.real.rivals import ask_rivals
from benchmarks.attribution.real.stormlog import OUTCOMES
from otel_attrib.demo.arrivals import Arrival, load, paced
from otel_attrib.demo.environment import ensure_model, ensure_vllm, server_environment
from otel_attrib.demo.process import free_port
from otel_attrib.demo.replay import replay, write_outcomes
from otel_attrib.demo.scenario import shim_environment
from otel_attrib.demo.server import engine_processes, start_vllm
from otel_attrib.demo.service import OURS, Service
from otel_attrib.demo.story import Phase
from otel_attrib.demo.workload import plan

SERVICE = "real-vllm"
RATE = 9.0
LATE_S = 0.3
WARM_UP = 60
SILENCE = 5.0
SLOW_TOKENIZER = Path(__file__).parent / "slow_tokenizer"
PHASES = "phases.json"
INSIDE = "OTEL_ATTRIB_REAL_INSIDE"


@dataclass(slots=True)
class Bench:
    """One repeat: its service, its folder, and the phases that were run."""

    service: Service
    folder: Path
    requests: int
    repeat: int
    sent: int = 0
    phases: dict[str, Phase] = field(default_factory=dict)

    def write(self) -> None:
        """Leave the phases in the folder, so that the same runs can be asked again later."""
        told = {name: asdict(phase) for name, phase in self.phases.items()}
        (self.folder / PHASES).write_text(json.dumps(told, indent=1))

    def read(self) -> None:
        """Read what `write` left."""
        told = json.loads((self.folder / PHASES).read_text())
        self.phases = {name: Phase(**phase) for name, phase in told.items()}

    def usual(self) -> list[Arrival]:
        """Return the recorded arrivals that every phase begins from."""
        return paced(load()[: self.requests], RATE, SILENCE)


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=2, help="whole rounds (2)")
    parser.add_argument("--requests", type=int, default=1100, help="per phase, at most 1500 (1100)")
    parser.add_argument("--only", nargs="*", default=[], help=f"of {', '.join(f.name for f in FAULTS)}")
    parser.add_argument("--keep", type=Path, help="keep stores and logs in this folder")
    parser.add_argument("--again", action="store_true", help="ask again of what --keep holds; run nothing")
    parser.add_argument("--no-rivals", action="store_true", help="ask `why` alone: a rival takes minutes")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("root is needed: a network namespace, cgroups and lost packets")
    if INSIDE not in os.environ:
        return _again_inside()
    answered: list[Answered] = []
    with _folder(args.keep) as folder:
        for repeat in range(args.repeats):
            answered += _repeat(folder / f"repeat-{repeat}", args, repeat)
            print(table(answered), flush=True)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        document = {"benchmark": "real", "requests": args.requests, "answers": [asdict(a) for a in answered]}
        args.json.write_text(json.dumps(document, indent=1) + "\n")
    return 0


def _again_inside() -> int:
    """Run this program again in a network namespace of its own, with segments as on a real line."""
    script = 'ip link set lo up && ip link set lo mtu 1500 && exec "$@"'
    words = ["unshare", "--net", "sh", "-c", script, "sh", sys.executable, *sys.argv]
    return subprocess.run(words, env={**os.environ, INSIDE: "1"}).returncode


@contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    if kept:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
        return
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def _repeat(folder: Path, args: argparse.Namespace, repeat: int) -> list[Answered]:
    chosen = [fault for fault in FAULTS if not args.only or fault.name in args.only]
    with Service(folder) as service:
        bench = Bench(service, folder, args.requests, repeat)
        if args.again:
            bench.read()
            return [
                _ask(bench, fault, not args.no_rivals) for fault in chosen if _fault(fault) in bench.phases
            ]
        programs, model = ensure_vllm(), ensure_model()
        for server in dict.fromkeys(server for fault in chosen for server in (fault.baseline, fault.current)):
            of_server = [fault for fault in chosen if fault.current == server]
            has_baseline = any(fault.baseline == server for fault in chosen)
            _serve(bench, server, of_server, has_baseline, programs, model)
        service.wait_for_requests(bench.sent, 30.0)
        bench.write()
        return [_ask(bench, fault, not args.no_rivals) for fault in chosen]


def _serve(
    bench: Bench, server: Server, faults: Sequence[Fault], has_baseline: bool, programs: Path, model: Path
) -> None:
    port = free_port()
    name = f"{len(list(bench.folder.glob('vllm-*.log')))}-{server.version}"
    environment = server_environment() | shim_environment("grpc")
    environment["OTEL_RESOURCE_ATTRIBUTES"] = f"service.version={server.version}"
    if server.slow_tokenizer:
        environment["PYTHONPATH"] = str(SLOW_TOKENIZER)
    launcher = (*OURS, "run", f"--otlp={bench.service.otlp_grpc}", f"--service={SERVICE}", "--")
    log = bench.folder / f"vllm-{name}.log"
    options = ("--enable-prompt-tokens-details", *server.options)
    print(f"[{bench.repeat}] starting vLLM ({server})", flush=True)
    with start_vllm(programs, model, port, log, environment, server.shape, launcher, options) as child:
        processes = engine_processes(child.pid)
        cgroup = engine_cgroup()
        _send(bench, port, paced(load()[:WARM_UP], 8.0, SILENCE), "warm-up", "")
        if has_baseline:
            bench.phases[_baseline(server)] = _phase(bench, port, bench.usual(), "baseline", "")
        for fault in faults:
            time.sleep(4.0)  # what the last one left in the queues is gone
            with fault.done(Harm(processes, port, cgroup)):
                bench.phases[_fault(fault)] = _phase(
                    bench, port, fault.arrivals(bench.usual()), fault.name, fault.slow_tenant
                )


def _baseline(server: Server) -> str:
    return f"baseline of {server}"


def _fault(fault: Fault) -> str:
    return f"fault {fault.name}"


def _phase(bench: Bench, port: int, arrivals: list[Arrival], name: str, slow: str) -> Phase:
    start = time.time_ns()
    print(f"[{bench.repeat}]   {name}: {len(arrivals)} requests", flush=True)
    _send(bench, port, arrivals, name, slow)
    return Phase(name, start, time.time_ns(), len(arrivals))


def _send(bench: Bench, port: int, arrivals: list[Arrival], name: str, slow: str) -> None:
    planned = plan(arrivals, seed=bench.repeat, words_seed=bench.sent)
    late = {slow: LATE_S} if slow else {}
    write_outcomes(asyncio.run(replay(planned, port, name, late=late)), bench.folder / OUTCOMES)
    bench.sent += len(planned)


def _ask(bench: Bench, fault: Fault, beside: bool) -> Answered:
    before, during = bench.phases[_baseline(fault.baseline)], bench.phases[_fault(fault)]
    body = _why(bench.service, before, during)
    kept = bench.folder / f"why-{fault.name}.json"
    kept.write_text(json.dumps(body, indent=1))
    shapes = (fault.baseline.shape, fault.current.shape)
    rivals = ask_rivals(bench.service, before, during, bench.folder, shapes) if beside else {}
    return read_answer(fault, bench.repeat, body, rivals)


def _why(service: Service, before: Phase, during: Phase) -> dict[str, Any]:
    words = ["why", "--quantile", "0.95", "--window", _window(during), "--baseline", _window(before)]
    done = subprocess.run(
        [*OURS, *words, "--json", "--url", service.url], capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 3, 4):
        raise RuntimeError(done.stderr)
    body: dict[str, Any] = json.loads(done.stdout)
    return body


def _window(phase: Phase) -> str:
    ends = (
        time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ns // 10**9)) for ns in (phase.start_ns, phase.end_ns)
    )
    start, end = (
        f"{end}.{ns % 10**9 // 10**6:03}Z"
        for end, ns in zip(ends, (phase.start_ns, phase.end_ns), strict=True)
    )
    return f"{start}..{end}"


if __name__ == "__main__":
    sys.exit(main())
