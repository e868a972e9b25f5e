"""A vLLM whose collector goes away: does it answer as before, does it grow, and are the losses counted?

The same traffic is sent minute after minute; the collector is stopped after the first. Printed are, per
minute, the requests answered, P50 and P99 TTFT, and the resident memory of the API server and the engine
core; at the end what the shim says it lost.

    python benchmarks/collector_gone.py --minutes 6 --json build/bench/collector_gone.json
"""

import argparse
import asyncio
import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from otel_attrib.demo.arrivals import load, paced
from otel_attrib.demo.checks import quantile
from otel_attrib.demo.environment import ensure_model, ensure_vllm, server_environment
from otel_attrib.demo.process import Child, free_port
from otel_attrib.demo.replay import Outcome, replay
from otel_attrib.demo.server import engine_processes, start_vllm
from otel_attrib.demo.service import OURS, Service
from otel_attrib.demo.workload import plan

RATE = 12.0


@dataclass(frozen=True)
class Minute:
    """One minute; times in ms, memory in MiB."""

    collector: bool
    sent: int
    answered: int
    p50_ms: float | None
    p99_ms: float | None
    api_mib: float
    core_mib: float


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=int, default=6, help="the first with a collector (6)")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        minutes, lost = measure(args.minutes, Path(name))
    print(f"\nsaid by the shim at the end: {lost or 'nothing'}")
    if args.json:
        document = {"benchmark": "collector_gone", "minutes": [asdict(m) for m in minutes], "lost": lost}
        args.json.write_text(json.dumps(document, indent=1) + "\n")
    return 0 if lost else 1


def measure(count: int, folder: Path) -> tuple[list[Minute], list[str]]:
    programs, model, port, log = ensure_vllm(), ensure_model(), free_port(), folder / "vllm.log"
    print(f"{'collector':>9}{'answered':>13}{'P50 TTFT':>12}{'P99 TTFT':>12}{'API':>10}{'core':>10}")
    with Service(folder) as service:
        launcher = (*OURS, "run", f"--otlp={service.otlp_grpc}", "--")
        server = start_vllm(programs, model, port, log, server_environment(), before=launcher)
        with server:
            asyncio.run(send(port, 100, 0))
            minutes = []
            for number in range(count):
                minutes.append(minute(server, port, number))
                service.child.stop()
    return minutes, re.findall(r"otel-attrib: (.*failed=\d+.*)", log.read_text())


def minute(server: Child, port: int, number: int) -> Minute:
    outcomes = asyncio.run(send(port, int(60 * RATE), number + 1))
    streamed = [o.ttft_us for o in outcomes if o.kind == "stream" and o.ttft_us is not None]
    wanted = [o for o in outcomes if o.kind in ("stream", "whole")]
    good = [o for o in wanted if o.seen.http_status == 200 and not o.seen.truncated]
    seen = Minute(
        collector=number == 0,
        sent=len(wanted),
        answered=len(good),
        p50_ms=quantile(streamed, 0.5),
        p99_ms=quantile(streamed, 0.99),
        api_mib=resident_mib(server.pid),
        core_mib=resident_mib(engine_processes(server.pid)["VLLM::EngineCore"]),
    )
    answered = f"{seen.answered}/{seen.sent}"
    print(
        f"{'there' if seen.collector else 'gone':>9}{answered:>13}"
        f"{seen.p50_ms or 0:9.1f} ms{seen.p99_ms or 0:9.1f} ms"
        f"{seen.api_mib:6.0f} MiB{seen.core_mib:6.0f} MiB",
        flush=True,
    )
    return seen


async def send(port: int, count: int, words: int) -> Sequence[Outcome]:
    planned = plan(paced(load()[:count], RATE, 5.0), seed=1, words_seed=words)
    return await replay(planned, port, "gone")


def resident_mib(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


if __name__ == "__main__":
    raise SystemExit(main())
