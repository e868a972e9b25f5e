"""What reading eight NVIDIA cards at 10 Hz costs, encoded and sent, beside one call for every value.

No GPU is needed: NVML is our FAKE (tests/native/nvml/fake_nvml.c), compiled here and loaded through NVIDIA's
real bindings; it answers at once, so what is measured is the agent, not a driver. Eight Hopper cards with 18
NVLinks, GPM and three processes each. Each way runs in a process of its own against the same collector:

- agent: `otel-attrib agent`'s own threads, source, encoding and HTTP; every counter and level of cards and
  links at 10 Hz, processes once a second, limits and states every ten
- agent, default rates: links, errors and most levels once a second too
- agent, back to back: the same reads and their encoding without a pause, no HTTP: what the code takes when
  nobody else empties the processor's caches in between
- a call a value: one wrapper of pynvml for each of the same values, read only, nothing encoded or sent
- OpenTelemetry SDK: the same calls in callbacks of observable gauges, and the SDK's exporter, as GPU
  collectors in Python do it

    python benchmarks/agent_nvml.py --json build/bench/agent_nvml.json
"""

import argparse
import ctypes
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.agent import collect, collector, resident_mib
from benchmarks.process import version_line

FAKE = Path(__file__).parents[1] / "tests/native/nvml/fake_nvml.c"
Call = Callable[[], float]

HZ, CARDS, LINKS = 10, 8, 18
WARM_S = 12.0

FACTS = {
    **{
        "use.gpu": 91,
        "use.memory": 30,
        "memory.total": 8.5e10,
        "memory.used": 2e10,
        "clock.1": 1980,
        "clock.2": 2619,
    },
    **{
        "max_clock.1": 1980,
        "temperature.0": 59,
        "power_limit_mw": 700000,
        "reasons": 0,
        "gpm": 1,
        "processes": 3,
    },
    **{"pcie_gen": 5, "pcie_width": 16, "pcie_gen_max": 5, "pcie_width_max": 16},
    **{f"gpm.{metric}": 40 for metric in (1, 2, 3, 5, 10, 20, 21, 60, 61)},
    "gpm.248": 5e12,
    "gpm.249": 2e12,
}
FIELDS = {
    **{number: "ull 1000" for number in (74, 76, 269, 270, 271, 77, 79, 197, 198)},
    **{number: "ull 5" for number in (83, 3, 4)},
    **{number: "uint 5" for number in (186, 82, 94, 169, 142, 143)},
    **{number: "uint 0" for number in (230, 145)},
}
LINK_FIELDS = {165: "uint 1", 161: "ull 3", 162: "ull 2", 163: "ull 1", 138: "ull 1000", 139: "ull 1000"}
GROWING = {"field.74": 1e8, "field.197": 1e9, "field.198": 2e9, "gpm.248": 1e9, "gpm.249": 4e8}


def script() -> list[str]:
    """Lines of the fake's cards."""
    lines = [f"gpus {CARDS}"]
    for card in range(CARDS):
        facts: dict[str, object] = {"uuid": f"GPU-{card}", "name": "Fake H100", **FACTS}
        facts |= {f"field.{number}": value for number, value in FIELDS.items()}
        for link in range(LINKS):
            scope = f".{link}" if link else ""
            facts |= {
                f"field.{number}{scope}": value
                for number, value in {**LINK_FIELDS, 164: "uint 26562"}.items()
            }
        lines += [f"gpu {card} {name} {value}" for name, value in facts.items()]
        lines += [f"gpu {card} grow.{name} {growth}" for name, growth in GROWING.items()]
        lines += [f"gpu {card} process {1000 + 10 * card + n} 1000000000 30" for n in range(3)]
    return lines


def build(folder: Path) -> dict[str, str]:
    """Compile the fake; the environment in which it is found."""
    library = folder / "libnvidia-ml.so.1"
    flags = ["-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wno-format-truncation"]
    subprocess.run(["gcc", *flags, "-o", str(library), str(FAKE)], check=True)
    (folder / "script").write_text("\n".join(script()) + "\n")
    return {
        "LD_LIBRARY_PATH": str(folder),
        "FAKE_NVML_SCRIPT": str(folder / "script"),
        "FAKE_NVML_CLOCK": "real",
    }


def run_agent(port: int, secondly_s: float) -> tuple[Callable[[], None], int]:
    """The agent as it is run; and how many values one full read has."""
    from otel_attrib.collector.agent.destination import destination
    from otel_attrib.collector.agent.node import NodeAgent
    from otel_attrib.collector.agent.transport import transport
    from otel_attrib.collector.sources.nvml import Nvml
    from otel_attrib.config import load

    source = Nvml(every_s=1 / HZ, secondly_s=secondly_s)
    source.read()
    time.sleep(0.2)
    values = len(source.read())
    to = transport(destination({}, f"http://127.0.0.1:{port}"))
    agent = NodeAgent(load({}, agent_budget=64), to, {}, sources={"nvml": lambda: source})
    agent.start()
    return agent.stop, values


def wrappers() -> list[Call]:
    """One call of the bindings' wrappers for each value, of every card."""
    nv: Any = importlib.import_module("pynvml")
    nv.nvmlInit()
    calls: list[Call] = []
    for index in range(CARDS):
        card = nv.nvmlDeviceGetHandleByIndex(index)
        calls += [
            partial(member, "gpu", nv.nvmlDeviceGetUtilizationRates, card),
            partial(member, "memory", nv.nvmlDeviceGetUtilizationRates, card),
            partial(member, "used", nv.nvmlDeviceGetMemoryInfo, card, nv.nvmlMemory_v2),
            partial(member, "total", nv.nvmlDeviceGetMemoryInfo, card, nv.nvmlMemory_v2),
            partial(nv.nvmlDeviceGetClockInfo, card, 1),
            partial(nv.nvmlDeviceGetClockInfo, card, 2),
            partial(nv.nvmlDeviceGetMaxClockInfo, card, 1),
            partial(nv.nvmlDeviceGetTemperature, card, 0),
            partial(nv.nvmlDeviceGetEnforcedPowerLimit, card),
            partial(nv.nvmlDeviceGetCurrentClocksEventReasons, card),
            partial(nv.nvmlDeviceGetCurrPcieLinkGeneration, card),
            partial(nv.nvmlDeviceGetCurrPcieLinkWidth, card),
            partial(nv.nvmlDeviceGetMaxPcieLinkGeneration, card),
            partial(nv.nvmlDeviceGetMaxPcieLinkWidth, card),
        ]
        calls += [partial(field, nv, card, number, 0) for number in FIELDS]
        calls += [partial(field, nv, card, number, link) for number in LINK_FIELDS for link in range(LINKS)]
        calls += gpm_calls(nv, card)
        calls.append(partial(held, nv, card))
    return calls


def member(name: str, call: Callable[..., Any], *arguments: Any) -> float:
    """One member of what a call returns."""
    return float(getattr(call(*arguments), name))


def held(nv: Any, card: Any) -> float:
    """Memory of all processes."""
    return float(sum(one.usedGpuMemory for one in nv.nvmlDeviceGetComputeRunningProcesses(card)))


def field(nv: Any, card: Any, number: int, scope: int) -> float:
    """One field value."""
    return float(nv.nvmlDeviceGetFieldValues(card, [(number, scope)])[0].value.ullVal)


def gpm_calls(nv: Any, card: Any) -> list[Call]:
    """GPM as an exporter without batching does it: one sample a read, one request a metric."""
    samples = [nv.nvmlGpmSampleAlloc(), nv.nvmlGpmSampleAlloc()]
    nv.nvmlGpmSampleGet(card, samples[1])

    def one(metric: int, first: bool) -> float:
        if first:
            samples.reverse()
            nv.nvmlGpmSampleGet(card, samples[1])
        asked = nv.c_nvmlGpmMetricsGet_t()
        asked.version, asked.numMetrics = nv.NVML_GPM_METRICS_GET_VERSION, 1
        asked.sample1, asked.sample2 = samples
        asked.metrics[0].metricId = metric
        return float(nv.nvmlGpmMetricsGet(asked).metrics[0].value)

    metrics = (1, 2, 3, 5, 10, 20, 21, 60, 61, 248, 249)
    return [partial(one, metric, metric == metrics[0]) for metric in metrics]


def run_calls(_: int) -> tuple[Callable[[], None], int]:
    """Read at 10 Hz in a thread."""
    import threading

    calls, ending = wrappers(), threading.Event()

    def work() -> None:
        while not ending.wait(1 / HZ):
            for call in calls:
                call()

    thread = threading.Thread(target=work)
    thread.start()

    def stop() -> None:
        ending.set()
        thread.join()

    return stop, len(calls)


def run_sdk(port: int) -> tuple[Callable[[], None], int]:
    """Observable gauges over the same calls, exported at 10 Hz: the SDK keeps one value a series."""
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.metrics import CallbackOptions, Observation
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    exporter = OTLPMetricExporter(f"http://127.0.0.1:{port}/v1/metrics")
    provider = MeterProvider([PeriodicExportingMetricReader(exporter, export_interval_millis=1000 / HZ)])
    meter, calls = provider.get_meter("peer"), wrappers()
    each = len(calls) // CARDS
    for place in range(each):
        cards = [(calls[card * each + place], {"hw.id": str(card)}) for card in range(CARDS)]

        def observe(_: CallbackOptions, cards: Any = cards) -> list[Observation]:
            return [Observation(call(), named) for call, named in cards]

        meter.create_observable_gauge(f"gpu.{place}", [observe])
    return provider.shutdown, len(calls)


BACK_TO_BACK = "agent, back to back"
WAYS: dict[str, Callable[[int], tuple[Callable[[], None], int]]] = {
    "agent": lambda port: run_agent(port, 1 / HZ),
    "agent, default rates": lambda port: run_agent(port, 1.0),
    "a call a value": run_calls,
    "OpenTelemetry SDK": run_sdk,
}


def back_to_back() -> dict[str, float]:
    """Reads and encoding without a pause between them, as a share at 10 Hz: what the code itself takes."""
    from otel_attrib.collector.agent.encode import Batch, Encoder
    from otel_attrib.collector.agent.readings import Layouts
    from otel_attrib.collector.sources.nvml import Nvml

    library = ctypes.CDLL("libnvidia-ml.so.1")
    library.fake_nvml_set_time.argtypes = [ctypes.c_double]
    now = 0.0
    source = Nvml(secondly_s=1 / HZ, clock=lambda: now)
    layouts, encoder, took = Layouts(), Encoder({"host.name": "node"}), 0.0
    gathered: list[Batch] = []
    for number in range(600):
        now = number / HZ
        library.fake_nvml_set_time(now)
        began = time.thread_time()
        batch = (int(now * 1e9), layouts.taken(source.read())[0])
        gathered.append(batch)
        if len(gathered) == 50:
            sum(len(body) for body, _ in encoder.requests(gathered))
            gathered.clear()
        took = took + time.thread_time() - began if number >= 200 else 0.0
    return {"share": took / 400 * HZ, "values": len(batch[1]), "rss_mib": resident_mib()}


def measure(args: argparse.Namespace) -> None:
    """Run one way in this process and print what it took after its start."""
    if args.way == BACK_TO_BACK:
        print(json.dumps(back_to_back()), flush=True)
        return
    stop, values = WAYS[args.way](args.port)
    time.sleep(WARM_S)
    cpu, began = time.process_time(), time.monotonic()
    time.sleep(args.seconds)
    share = (time.process_time() - cpu) / (time.monotonic() - began)
    print(json.dumps({"share": share, "values": values, "rss_mib": resident_mib()}), flush=True)
    stop()


def one(way: str, port: int, seconds: float, environment: dict[str, str]) -> dict[str, float]:
    """Measure one way in a process of its own."""
    if way == BACK_TO_BACK:
        environment = environment | {"FAKE_NVML_CLOCK": "script"}
    words = [sys.executable, __file__, f"--way={way}", f"--port={port}", f"--seconds={seconds}"]
    root = str(Path(__file__).parents[1])
    found = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join([*sys.path[:1], root])}
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True, env=found)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    """Measure every way `--repeats` times in turn; print medians."""
    args = _arguments()
    if args.collect:
        collect()
    elif args.way:
        measure(args)
    else:
        report(args)


def report(args: argparse.Namespace) -> None:
    """Print the table and write the JSON."""
    runs: dict[str, list[dict[str, float]]] = {way: [] for way in (*WAYS, BACK_TO_BACK)}
    with tempfile.TemporaryDirectory() as folder, collector() as port:
        environment = build(Path(folder))
        for way in args.repeats * list(runs):
            runs[way].append(one(way, port, args.seconds, environment))
    medians = {way: statistics.median(run["share"] for run in found) for way, found in runs.items()}
    print(f"{CARDS} fake cards at {HZ} Hz, load average {os.getloadavg()[0]:.1f}")
    print(f"{'':22} {'values':>7} {'% of a core':>12} {'lowest':>7} {'ratio':>7} {'RSS MiB':>8}")
    for way, share in medians.items():
        lowest = 100 * min(run["share"] for run in runs[way])
        last, ratio = runs[way][-1], share / medians["agent"]
        row = f"{way:22} {last['values']:7.0f} {100 * share:12.2f} {lowest:7.2f} {ratio:7.1f}"
        print(f"{row} {last['rss_mib']:8.0f}")
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        body = {"share_of_a_core": medians, "runs": runs, "versions": version_line()}
        args.json.write_text(json.dumps(body, indent=1))


def _arguments() -> argparse.Namespace:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--seconds", type=float, default=20.0, help="measured in each run")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--way", choices=(*WAYS, BACK_TO_BACK), help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--collect", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
