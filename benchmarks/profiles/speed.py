"""How fast a trace is read and broken down, beside HolisticTraceAnalysis and a plain loop.

python -m benchmarks.profiles.speed [TRACE] [--hta PYTHON] [--rounds N]

Each way runs in a process of its own, in turns; printed are the medians of CPU time and of peak memory,
without the time that Python and the libraries take to start. PYTHON is an interpreter that has the
other tool: python -m venv hta && hta/bin/pip install HolisticTraceAnalysis==0.5.0 'pandas<3'
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

__all__ = ["main"]

TRACE = Path(__file__).parents[2] / "tests/fixtures/kineto/hta_control.json.gz"
MEASURE = """
import json, resource, sys, time
{imports}
path = sys.argv[1]
started = time.process_time()
{work}
took = time.process_time() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({{"s": took, "mib": peak / 1024, "idle_us": idle}}))
"""
OURS = MEASURE.format(
    imports="from otel_attrib.analytics.profiles.breakdown import breakdowns\n"
    "from otel_attrib.analytics.profiles.read import read_profile",
    work="(one,) = breakdowns(read_profile(path))\nidle = one.idle.total_ns / 1e3",
)
# What most scripts do: the whole file into memory, then a loop over sorted intervals. Unions only.
LOOP = MEASURE.format(
    imports="import gzip",
    work="""
events = json.loads((gzip.open if path.endswith(".gz") else open)(path, "rb").read())["traceEvents"]
groups = {"all": [], "compute": [], "communication": [], "memory": []}
for event in events:
    if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
        span = (event["ts"], event["ts"] + event["dur"])
        kind = "compute" if event["cat"] == "kernel" else "memory"
        groups["all"].append(span)
        groups["communication" if "nccl" in event["name"] else kind].append(span)
busy = {}
for name, spans in groups.items():
    total, reached = 0, float("-inf")
    for start, end in sorted(spans):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    busy[name] = total
spans = groups["all"]
idle = max(end for _, end in spans) - min(spans)[0] - busy["all"]
""",
)
HTA = MEASURE.format(
    imports="import logging, os, tempfile, warnings\n"
    "os.environ['HTA_DISABLE_NS_ROUNDING'] = '1'\n"
    "warnings.simplefilter('ignore')\n"
    "from hta.trace_analysis import TraceAnalysis\n"
    "logging.disable(logging.CRITICAL)",
    work="""
found = TraceAnalysis(trace_files={0: path}, include_last_profiler_step=True)
idle = float(found.get_temporal_breakdown(visualize=False)["idle_time(us)"].iloc[0])
found.get_comm_comp_overlap(visualize=False)
found.get_gpu_kernel_breakdown(visualize=False)
found.get_idle_time_breakdown(visualize=False)
found.get_memory_bw_summary()
found.get_queue_length_summary()
found.get_cuda_kernel_launch_stats(visualize=False)
""",
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trace", nargs="?", default=str(TRACE))
    parser.add_argument("--hta", metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    ways = {"otel-attrib": (sys.executable, OURS), "plain loop": (sys.executable, LOOP)}
    if args.hta:
        ways["HolisticTraceAnalysis"] = (args.hta, HTA)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
    for _ in range(args.rounds):
        for name, (python, program) in ways.items():
            done = subprocess.run([python, "-c", program, args.trace], capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{name}: {done.stderr.strip().splitlines()[-1]}")
            found[name].append(json.loads(done.stdout.splitlines()[-1]))
    ours = _median(found["otel-attrib"], "s")
    for name, rounds in found.items():
        seconds, mib, idle = (_median(rounds, key) for key in ("s", "mib", "idle_us"))
        print(f"{name:24}{seconds:8.2f} s  {seconds / ours:6.2f} x  {mib:6.0f} MiB  idle {idle:,.0f} us")


def _median(rounds: list[dict[str, float]], key: str) -> float:
    return statistics.median(one[key] for one in rounds)


if __name__ == "__main__":
    main()
