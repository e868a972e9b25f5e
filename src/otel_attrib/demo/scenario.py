"""The demonstration from beginning to end: serve, send traffic, do harm, send the same traffic again."""

import asyncio
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from otel_attrib.demo.arrivals import Arrival, load, paced
from otel_attrib.demo.checks import quantile
from otel_attrib.demo.environment import VLLM_VERSION, ensure_model, ensure_vllm, server_environment
from otel_attrib.demo.faults import cpu_hog, small_cache
from otel_attrib.demo.process import Child, free_port
from otel_attrib.demo.replay import Outcome, replay, write_outcomes
from otel_attrib.demo.server import MODEL_NAME, ServerShape, engine_processes, start_vllm
from otel_attrib.demo.service import OURS, Service
from otel_attrib.demo.story import BASELINE, FAULTS, Phase, Story
from otel_attrib.demo.workload import plan

__all__ = ["Director", "Pace", "shim_environment"]

SERVICE_NAME = "demo-vllm"
FLUSH_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How much traffic; `why` at P99 wants at least 500 finished requests on each side."""

    requests: int = 720
    rate: float = 18.0
    recovery_requests: int = 240
    warm_up_requests: int = 60
    # Silences are cut to this many mean gaps.
    longest_silence: float = 5.0
    hogs_per_core: int = 2
    cache_blocks: int = 14


@dataclass(slots=True)
class Director:
    """Runs the phases against `service` and keeps what the clients saw."""

    service: Service
    otlp: str
    folder: Path
    tell: Callable[[str], None]
    pace: Pace = Pace()
    shape: ServerShape = ServerShape()
    protocol: str = "grpc"
    outcomes: list[Outcome] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)

    def run(self) -> Story:
        """Run everything; return what was done."""
        programs, model = ensure_vllm(), ensure_model()
        arrivals = paced(load()[: self.pace.requests], self.pace.rate, self.pace.longest_silence)
        with self._server(programs, model, self.shape) as (server, port):
            self._phase(BASELINE, port, arrivals)
            with cpu_hog(engine_processes(server.pid), self.pace.hogs_per_core) as hogs:
                self._phase("cpu-hog", port, arrivals, f"{hogs} busy processes")
            self._phase("recovery", port, arrivals[: self.pace.recovery_requests])
        shape = small_cache(self.shape, self.pace.cache_blocks)
        with self._server(programs, model, shape) as (_, port):
            what = f"cache of {self.pace.cache_blocks} blocks"
            self._phase("small-cache", port, arrivals, what)
        self.service.wait_for_requests(len(self.outcomes), FLUSH_SECONDS)
        write_outcomes(self.outcomes, self.folder / "outcomes.jsonl")
        made_with = {"vllm": VLLM_VERSION, "cores": str(os.cpu_count()), "rate": f"{self.pace.rate:g}"}
        return Story(tuple(self.phases), len(self.outcomes), made_with)

    @contextmanager
    def _server(self, programs: Path, model: Path, shape: ServerShape) -> Iterator[tuple[Child, int]]:
        """Serve behind `otel-attrib run`, warmed up: a first request pays for what later ones find ready."""
        self.tell(f"starting vLLM {VLLM_VERSION} through `otel-attrib run` (about half a minute)")
        port, began = free_port(), time.monotonic()
        launcher = (*OURS, "run", f"--otlp={self.otlp}", f"--service={SERVICE_NAME}", "--")
        environment = server_environment() | shim_environment(self.protocol)
        log = self.folder / f"vllm-{len(self.phases)}.log"
        options = ("--enable-prompt-tokens-details",)
        with start_vllm(programs, model, port, log, environment, shape, launcher, options) as server:
            self.tell(f"  `{MODEL_NAME}` answers on port {port} after {time.monotonic() - began:.0f} s")
            arrivals = paced(load()[: self.pace.warm_up_requests], 8.0, self.pace.longest_silence)
            self._send("warm-up", port, arrivals)
            # Said by `otel-attrib run` itself, within seconds of the first request.
            for line in re.findall(r"^otel-attrib: (spans .*)$", log.read_text(errors="replace"), re.M):
                self.tell(f"  {line}")
            yield server, port

    def _phase(self, name: str, port: int, arrivals: list[Arrival], what: str = "") -> None:
        said = f": {what}, {FAULTS[name]}" if name in FAULTS else ""
        self.tell(f"{name}{said} ({len(arrivals)} requests, {arrivals[-1].at:.0f} s)")
        start = time.time_ns()
        self._send(name, port, arrivals)
        self.phases.append(Phase(name, start, time.time_ns(), len(arrivals), what))
        streamed = [o.ttft_us for o in self.outcomes[-len(arrivals) :] if o.kind == "stream" and o.ttft_us]
        middle, tail = quantile(streamed, 0.5), quantile(streamed, 0.99)
        if middle is not None and tail is not None:
            self.tell(f"  its clients waited for a first token: P50 {middle:.0f} ms, P99 {tail:.0f} ms")

    def _send(self, name: str, port: int, arrivals: list[Arrival]) -> None:
        planned = plan(arrivals, seed=0, words_seed=len(self.outcomes))
        self.outcomes += asyncio.run(replay(planned, port, name))


def shim_environment(protocol: str) -> dict[str, str]:
    """Return the standard OpenTelemetry variables: every request, sent on within a second."""
    return {
        "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
        "OTEL_BSP_SCHEDULE_DELAY": "1000",
        "OTEL_TRACES_SAMPLER": "always_on",
    }
