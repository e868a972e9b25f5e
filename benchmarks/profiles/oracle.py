"""Our figures of eight traces beside HolisticTraceAnalysis's: python -m benchmarks.profiles.oracle.

Prints the tables of docs/profiles.md. A figure agrees when it is within 0.1 %, or within half of the last
digit that the other tool prints. Where a table of a trace has figures that do not, `WHY` has the reason;
a test holds that these are exactly the ones.
"""

import csv
import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.profiles.reasons import TRACES, WHY
from otel_attrib.analytics.profiles.breakdown import Breakdown, breakdown
from otel_attrib.analytics.profiles.copies import bandwidth
from otel_attrib.analytics.profiles.intervals import Spans
from otel_attrib.analytics.profiles.kernel_class import COLLECTIVE, RULES, kernel_class
from otel_attrib.analytics.profiles.pairs import Pairs, call_of_each, pairs
from otel_attrib.analytics.profiles.queued import queue_lengths
from otel_attrib.analytics.profiles.read import read_profile
from otel_attrib.analytics.profiles.timeline import UNKNOWN, Kind, Profile

__all__ = [
    "TABLES",
    "Figure",
    "agrees",
    "classes",
    "cut_parts",
    "figures",
    "own_rates",
    "page",
    "single_launches",
]

FIXTURES = Path(__file__).parents[2] / "tests/fixtures/kineto"
SHARE = 0.001
BEGINS_EARLIER = ("resnet50",)
PERCENTILES = {"min": 0.0, "25%": 0.25, "50%": 0.5, "75%": 0.75, "max": 1.0}
PARTS = {"COMPUTATION": "compute", "COMMUNICATION": "communication", "MEMORY": "memory"}
LAUNCHES = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync")
UNKNOWN_LAUNCHES = ("hipGraphLaunch", "hipModuleLaunchKernel")


class Figure(NamedTuple):
    """One number of one table, in the other tool's unit; `step` is the last digit it prints."""

    name: str
    ours: float
    theirs: float
    step: float = 0.0


class Trace(NamedTuple):
    """One trace, read and broken down."""

    name: str
    profile: Profile
    device: Breakdown
    started: Pairs


@cache
def trace(name: str) -> Trace:
    """Read one of the traces; each has one device.

    Of a trace with several profiler steps the other tool leaves out what was launched before the
    recording began, as it belongs to no step. So it is left out here too, and only here.
    """
    profile = read_profile(FIXTURES / f"{name}.json.gz")
    (device,) = profile.used_devices
    if name in BEGINS_EARLIER:
        launched = call_of_each(profile.activities, profile.launches) != UNKNOWN
        profile = replace(profile, activities=profile.activities.take(launched))
    started = pairs(profile.on(device), profile.launches)
    return Trace(name, profile, breakdown(profile, device), started)


def agrees(figure: Figure) -> bool:
    """Say whether a figure is within 0.1 % or within the other tool's rounding."""
    return abs(figure.ours - figure.theirs) <= max(SHARE * abs(figure.theirs), figure.step / 2 + 1e-9)


def figures(name: str, table: str) -> list[Figure]:
    """Return every figure of one table of one trace."""
    return list(TABLES[table](trace(name)))


def temporal(one: Trace) -> Iterator[Figure]:
    """Idle, compute, other and whole time (µs)."""
    (row,) = _rows(one, "temporal_breakdown")
    device = one.device
    idle, compute, span = device.idle.total_ns, device.compute_ns, device.span_ns
    yield Figure("idle", idle / 1e3, float(row["idle_time(us)"]))
    yield Figure("compute", compute / 1e3, float(row["compute_time(us)"]))
    yield Figure("non-compute", (span - compute - idle) / 1e3, float(row["non_compute_time(us)"]))
    yield Figure("span", span / 1e3, float(row["kernel_time(us)"]))


def overlap(one: Trace) -> Iterator[Figure]:
    """Share of communication that computing hides (percent)."""
    (row,) = _rows(one, "comm_comp_overlap")
    share = one.device.overlap_share
    said = row["comp_comm_overlap_pctg"]
    yield Figure("communicates", float(share is not None), float(said != ""))
    if share is not None and said:
        yield Figure("overlap", 100 * share, float(said), 0.01)


def kernel_types(one: Trace) -> Iterator[Figure]:
    """Time by what ran together (µs)."""
    ours = {part: ns / 1e3 for part, ns in one.device.parts_ns.items()}
    theirs = _parts(one)
    for part in sorted(set(ours) | set(theirs)):
        yield Figure(part, ours.get(part, 0.0), theirs.get(part, 0.0), 1.0)


def cut_parts(name: str) -> Iterator[Figure]:
    """Time by what ran together, every piece between two changes cut to whole microseconds first (µs)."""
    one = trace(name)
    ran = one.profile.on(one.device.device)
    words = np.array(list(map(kernel_class, one.profile.names)))[ran.name]
    moving = (ran.kind == Kind.COPY) | (ran.kind == Kind.MEMSET)
    rows = {
        "compute": ~moving & (words != COLLECTIVE),
        "communication": ~moving & (words == COLLECTIVE),
        "memory": moving,
    }
    unions = {word: Spans.covered_by(ran.take(some)) for word, some in rows.items()}
    edges = np.unique(
        np.concatenate([at for spans in unions.values() for at in (spans.start_ns, spans.end_ns)])
    )
    ours: dict[str, int] = {}
    for start, end in zip(edges[:-1], edges[1:], strict=True):
        inside = [word for word, spans in unions.items() if _holds(spans, start)]
        part = "+".join(inside)
        ours[part] = ours.get(part, 0) + int(end - start) // 1000
    for part, theirs in _parts(one).items():
        yield Figure(part, ours[part], theirs)


def _holds(spans: Spans, moment: int) -> bool:
    at = int(np.searchsorted(spans.start_ns, moment, side="right")) - 1
    return at >= 0 and bool(moment < spans.end_ns[at])


def _parts(one: Trace) -> dict[str, float]:
    return {
        "+".join(PARTS[word] for word in row["kernel_type"].split(" overlapping ")): float(row["sum"])
        for row in _rows(one, "gpu_kernel_breakdown_0")
    }


def kernels(one: Trace) -> Iterator[Figure]:
    """Durations of each kernel by name (µs); the tool sums the rest up as `others`."""
    ran, names = one.profile.on(one.device.device), one.profile.names
    for row in _rows(one, "gpu_kernel_breakdown_1"):
        if row["name"] == "others":
            continue
        some = ran.duration_ns[ran.name == names.index(row["name"])] / 1e3
        for column, value in (
            ("sum", some.sum()),
            ("max", some.max()),
            ("min", some.min()),
            ("mean", some.mean()),
        ):
            yield Figure(f"{row['name'][:40]} {column}", float(value), float(row[f"{column} (us)"]))


def idle(one: Trace) -> Iterator[Figure]:
    """Idle time of each stream by reason (µs)."""
    streams = {row.stream: row.idle for row in one.device.streams}
    for row in _rows(one, "idle_time_breakdown_0"):
        found = streams[int(row["stream"])]
        ours = {
            "host_wait": found.host_ns,
            "kernel_wait": found.kernel_ns,
            "other": found.other_ns + found.unknown_ns,
        }[row["idle_category"]]
        name = f"stream {row['stream']} {row['idle_category']}"
        yield Figure(name, ours / 1e3, float(row["idle_time"]), 0.01)


def memory_bandwidth(one: Trace) -> Iterator[Figure]:
    """Copies' summed rates at every change, by what the file calls them (GB/s)."""
    ran = one.profile.on(one.device.device)
    for name, described in _described(one, "memory_bw_summary"):
        codes = [code for code, shown in enumerate(one.profile.names) if shown.startswith(name)]
        _, rates = bandwidth(ran.take(np.isin(ran.name, codes)))
        yield from _describe(name, rates[rates > 1e-12], described)


def own_rates(name: str) -> Iterator[Figure]:
    """The same with the rates that the profiler wrote, a copy of no time taken for one of 1 µs (GB/s)."""
    one = trace(name)
    calls = set(one.profile.activities.correlation.tolist())
    with gzip.open(FIXTURES / f"{name}.json.gz", "rt") as file:
        events = [
            event
            for event in json.load(file)["traceEvents"]
            if str(event.get("name")).startswith("Mem") and event["args"].get("correlation") in calls
        ]
    for kind, described in _described(one, "memory_bw_summary"):
        some = [event for event in events if event["name"].startswith(kind)]
        start = np.array([event["ts"] for event in some])
        end = start + np.maximum(1, [event["dur"] for event in some])
        rate = np.array([event["args"]["memory bandwidth (GB/s)"] for event in some])
        order = np.argsort(np.concatenate((start, end)), kind="stable")
        summed = np.cumsum(np.concatenate((rate, -rate))[order])
        yield from _describe(kind, summed[summed > 1e-12], described)


def queue_length(one: Trace) -> Iterator[Figure]:
    """Launches waiting, at every change, by stream."""
    yield from _queues(one, one.started)


def single_launches(name: str) -> Iterator[Figure]:
    """The same for the calls alone that the other tool knows."""
    one = trace(name)
    codes = [code for code, shown in enumerate(one.profile.names) if shown in UNKNOWN_LAUNCHES]
    known = ~np.isin(one.started.calls.name, codes)
    yield from _queues(one, Pairs(one.started.activities.take(known), one.started.calls.take(known)))


def _queues(one: Trace, started: Pairs) -> Iterator[Figure]:
    ours = {queue.stream: queue.length.astype(float) for queue in queue_lengths(started)}
    for stream, described in _described(one, "queue_length_summary"):
        yield from _describe(f"stream {stream}", ours.get(int(stream), np.zeros(0)), described)


def launches(one: Trace) -> Iterator[Figure]:
    """Each launch: time in the call, on the device, and between them (µs)."""
    rows = _rows(one, "cuda_kernel_launch_stats_rank0")
    api = np.isin(one.started.calls.name, [c for c, n in enumerate(one.profile.names) if n in LAUNCHES])
    some = Pairs(one.started.activities.take(api), one.started.calls.take(api))
    ours = {
        int(correlation): cells
        for correlation, *cells in zip(
            some.calls.correlation,
            some.calls.duration_ns / 1e3,
            some.activities.duration_ns / 1e3,
            some.delay_ns / 1e3,
            strict=True,
        )
    }
    yield Figure("launches", len(ours), len(rows))
    for column, name in enumerate(("cpu_duration", "gpu_duration", "launch_delay")):
        apart = [
            abs(ours[int(row["correlation"])][column] - float(row[name]))
            for row in rows
            if int(row["correlation"]) in ours
        ]
        yield Figure(f"{name} apart", max(apart, default=0.0), 0.0, 0.004)


TABLES: dict[str, Callable[[Trace], Iterator[Figure]]] = {
    "temporal_breakdown": temporal,
    "comm_comp_overlap": overlap,
    "gpu_kernel_breakdown (types)": kernel_types,
    "gpu_kernel_breakdown (names)": kernels,
    "idle_time_breakdown": idle,
    "memory_bw_summary": memory_bandwidth,
    "queue_length_summary": queue_length,
    "cuda_kernel_launch_stats": launches,
}


def _rows(one: Trace, table: str) -> list[dict[str, str]]:
    path = FIXTURES / "oracle" / one.name / f"{table}.csv"
    packed = path.with_suffix(".csv.gz")
    with gzip.open(packed, "rt") if packed.exists() else path.open() as file:
        return list(csv.DictReader(file))


def _described(one: Trace, table: str) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield (group, statistics) of a table with three lines of heads."""
    with (FIXTURES / "oracle" / one.name / f"{table}.csv").open() as file:
        _, heads, _, *rows = csv.reader(file)
    for _, group, *cells in rows:
        yield group, {head: float(cell) for head, cell in zip(heads[2:], cells, strict=True) if cell}


def _describe(
    name: str, values: np.ndarray[tuple[int], np.dtype[np.float64]], theirs: dict[str, float]
) -> Iterator[Figure]:
    ours = {"count": float(values.size)}
    if values.size:
        ours["mean"] = float(values.mean())
        ours |= {head: float(np.quantile(values, share)) for head, share in PERCENTILES.items()}
    if values.size > 1:
        ours["std"] = float(values.std(ddof=1))
    for head, value in theirs.items():
        yield Figure(f"{name} {head}", ours.get(head, float("nan")), value)


def page() -> str:
    """Return the table in Markdown: a sign for each trace and table, and the reasons below."""
    reasons = list(dict.fromkeys(WHY.values()))
    lines = ["| table | " + " | ".join(TRACES) + " |", "| --- |" + " --- |" * len(TRACES)]
    for table in TABLES:
        cells = (_cell(name, table, reasons) for name in TRACES)
        lines.append(f"| {table} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", *(f"{at}. {reason}" for at, reason in enumerate(reasons, 1))])


def classes() -> str:
    """Return the table of kernel classes in Markdown, in the order in which they are tried."""
    rows = (f"| `{rule.kind}` | {rule.reason} |" for rule in RULES)
    return "\n".join(["| class | names |", "| --- | --- |", *rows])


def _cell(name: str, table: str, reasons: list[str]) -> str:
    found = figures(name, table)
    equal = sum(agrees(figure) for figure in found)
    number = f" ({reasons.index(WHY[name, table]) + 1})" if (name, table) in WHY else ""
    return f"{equal}/{len(found)}{number}"


if __name__ == "__main__":
    import sys

    if "-v" in sys.argv:
        for name in TRACES:
            for table in TABLES:
                for figure in figures(name, table):
                    if not agrees(figure):
                        print(name, table, figure)
    print(page(), classes(), sep="\n\n")
