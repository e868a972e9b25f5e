"""What happened as tables with the store's columns: requests and steps."""

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa

from otel_attrib.analytics.columns import Floats, Ints
from otel_attrib.fleet.engine import Run, kernel
from otel_attrib.fleet.scenario import Scenario
from otel_attrib.fleet.terms import State
from otel_attrib.schema.attributes import SKETCH_GROWTH

__all__ = ["epoch_us", "gap_series", "gap_sketch", "request_table", "stages_of", "step_table"]

_TIME = pa.timestamp("us", "UTC")


def epoch_us(scenario: Scenario) -> int:
    """Return µs since 1970 of the run's start, which is the warm-up before the baseline."""
    return round((scenario.starts.timestamp() - scenario.windows.warmup) * 1e6)


def stages_of(run: Run) -> dict[str, Floats]:
    """Return every stage of TTFT and of a later token, in µs; the stages add up to `ttft_us`.

    As the recorder takes a request apart: prefill is the passes that computed the prompt, and what is left
    of the time in the engine is queue.
    """
    column = kernel().REQUEST.index
    served = run.served
    arrival = run.requests.arrival
    first = run.delivered[run.offsets[:-1]]
    last = run.delivered[run.offsets[1:] - 1]
    done, done_last = served[:, column("first")], served[:, column("last")]
    inside = done - run.queued
    prefill, sample, kv = served[:, column("prefill")], served[:, column("sample")], served[:, column("kv")]
    after = np.maximum(run.requests.output - 1, 1)
    total = last - first
    forward = np.minimum(served[:, column("forward_sum")], total)
    sampled = np.clip(served[:, column("sample_sum")], 0, total - forward)
    egress = served[:, column("output_sum")] + (last - done_last) - (first - done)
    egress = np.clip(egress, 0, total - forward - sampled)
    found = {
        "ttft_us": first - arrival,
        "e2e_us": last - arrival,
        "tpot_us": total / after,
        "ingress_us": run.queued - arrival - run.tokenize,
        "tokenize_us": run.tokenize,
        "queue_us": inside - prefill - sample - kv,
        "kv_init_us": kv,
        "prefill_us": prefill,
        "sample_us": sample,
        "egress_us": first - done,
        "decode_batch_wait_us": (total - forward - sampled - egress) / after,
        "decode_forward_us": forward / after,
        "decode_sample_us": sampled / after,
        "decode_egress_us": egress / after,
    }
    return {name: value * 1e6 for name, value in found.items()}


def request_table(scenario: Scenario, run: Run, state: State, seed: int) -> pa.Table:
    """Return one row a request, every column of `requests`; `outside_us` is zero."""
    requests, n = run.requests, run.requests.n
    column = kernel().REQUEST.index
    fleet, served = scenario.fleet, run.served
    times = stages_of(run)
    devices = requests.replica * fleet.tp
    versions = state.at("version", requests.arrival)[np.arange(n), devices]
    several = requests.output > 1
    gaps = kernel().gap_statistics(run.delivered, run.offsets) * 1e6
    texts = {
        "service": ([fleet.service], np.zeros(n)),
        "node": ([f"node-{number}" for number in range(fleet.nodes)], devices // fleet.gpus_per_node),
        "gpu_set": (_gpu_sets(scenario), requests.replica),
        "engine": ([fleet.engine], np.zeros(n)),
        "engine_version": (["model fleet"], np.zeros(n)),
        "model": (scenario.models, requests.model),
        "version": ([fleet.version, fleet.next_version], versions),
        "replica": ([str(number) for number in range(scenario.replicas)], requests.replica),
        "tenant": (list(scenario.workload.tenants), requests.tenant),
        "operation": (["chat"], np.zeros(n)),
        "source": (["otel_attrib"], np.zeros(n)),
        "status": (["ok"], np.zeros(n)),
        "finish_reason": (["stop"], np.zeros(n)),
    }
    empty = ("sla_class", "stream_id", "partition_id", "operator_id", "parallelism", "error_type")
    columns: dict[str, Any] = {
        "time": _stamps(requests.arrival, scenario),
        "trace_id": _ids(scenario, seed, n, 32),
        "span_id": _ids(scenario, seed + 1, n, 16),
        "request_id": pa.array([f"req-{number}" for number in range(n)]),
    }
    columns |= {name: _words(labels, codes) for name, (labels, codes) in texts.items()}
    columns |= {name: _words([""], np.zeros(n)) for name in empty}
    columns |= {
        "stream": pa.array(np.ones(n, dtype=np.bool_)),
        "prompt_tokens": _whole(requests.prompt),
        "cached_tokens": _whole(served[:, column("cached")]),
        "output_tokens": _whole(requests.output),
        "sla_deadline_ms": pa.nulls(n, pa.float64()),
    }
    columns |= {name: pa.array(times[name]) for name in ("ttft_us", "e2e_us")}
    columns |= {
        name: pa.array(times[name]) for name in times if name.startswith(("ingress", "tok", "queue", "kv"))
    }
    columns |= {name: pa.array(times[name]) for name in ("prefill_us", "sample_us", "egress_us")}
    columns["outside_us"] = pa.array(np.zeros(n))
    columns |= {
        name: pa.array(times[name], mask=~several) for name in times if name.startswith(("tpot", "decode"))
    }
    columns["gap_count"] = _whole(requests.output - 1, ~several)
    for place, name in enumerate(("gap_mean_us", "gap_p50_us", "gap_p99_us", "gap_max_us")):
        columns[name] = pa.array(gaps[:, place], mask=~several)
    columns["gaps_us"] = gap_series(run) if scenario.sensors.timeline else _no_gaps(n)
    steps = np.maximum(served[:, column("batch_steps")], 1)
    columns |= {
        "preemptions": _whole(served[:, column("preemptions")]),
        "prefill_chunks": _whole(served[:, column("chunks")]),
        "first_step": pa.array(served[:, column("first_step")].astype(np.uint64)),
        "last_step": pa.array(served[:, column("last_step")].astype(np.uint64)),
        "batch_size_mean": pa.array(served[:, column("batch_sum")] / steps, mask=~several),
        "kv_usage_max": pa.array(served[:, column("kv_max")]),
        "waiting_max": _whole(served[:, column("waiting_max")]),
    }
    return pa.table(columns)


def step_table(scenario: Scenario, run: Run) -> pa.Table:
    """Return one row an engine step, every column of `steps`; forward includes collectives and copies.

    A collective's time is the first rank's, and includes its waiting for slower ranks.
    """
    column = kernel().STEP.index
    fleet, steps = scenario.fleet, run.steps
    order = np.argsort(steps[:, 0], kind="stable")
    steps, replica, number = steps[order], run.replica[order], run.number[order]
    n = len(steps)
    columns: dict[str, Any] = {
        "time": _stamps(steps[:, column("start")], scenario),
        "service": _words([fleet.service], np.zeros(n)),
        "node": _words(
            [f"node-{place}" for place in range(fleet.nodes)], replica * fleet.tp // fleet.gpus_per_node
        ),
        "engine": _words([fleet.engine], np.zeros(n)),
        "replica": _words([str(place) for place in range(scenario.replicas)], replica),
        "step": pa.array(number.astype(np.uint64)),
        "duration_us": pa.array(steps[:, column("duration")] * 1e6),
    }
    counts = {"batch_size": "batch"} | {
        name: name for name in ("prefill_tokens", "decode_tokens", "waiting", "running", "preemptions")
    }
    columns |= {name: _whole(steps[:, column(key)]) for name, key in counts.items()}
    columns["kv_usage"] = pa.array(steps[:, column("kv_usage")])
    for name in ("schedule", "forward", "sample", "collective", "copy", "output"):
        seconds = steps[:, column(name)] + (steps[:, column("rank_wait")] if name == "collective" else 0.0)
        columns[f"{name}_us"] = pa.array(seconds * 1e6)
    return pa.table(columns)


def _gpu_sets(scenario: Scenario) -> list[str]:
    fleet = scenario.fleet
    first = [place * fleet.tp % fleet.gpus_per_node for place in range(scenario.replicas)]
    return [",".join(f"GPU-{number}" for number in range(start, start + fleet.tp)) for start in first]


def _stamps(seconds: Floats, scenario: Scenario) -> pa.Array:
    return pa.array(epoch_us(scenario) + np.rint(seconds * 1e6).astype(np.int64)).cast(_TIME)


def _words(labels: list[str], codes: Any) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(labels)).cast(
        pa.string()
    )


def _whole(values: Floats | Ints, mask: Any = None) -> pa.Array:
    return pa.array(np.maximum(values, 0).astype(np.uint32), mask=mask)


def _ids(scenario: Scenario, seed: int, n: int, digits: int) -> pa.Array:
    """Make ids from the scenario's name, its time and the seed: the same run gives the same ones."""
    key = hashlib.sha256(f"{scenario.name} {scenario.windows.start} {seed}".encode()).digest()
    raw = np.random.default_rng(list(key)).bytes(n * digits // 2).hex()
    return pa.array([raw[place : place + digits] for place in range(0, n * digits, digits)])


def gap_series(run: Run) -> pa.Array:
    """Return every request's gaps between tokens in order, in whole µs."""
    gaps, offsets = _gaps(run)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.rint(gaps).astype(np.float32)))


def gap_sketch(run: Run) -> pa.Array:
    """Return every request's gaps as a sketch gives them back: each within 1 %, ascending."""
    gaps, offsets = _gaps(run)
    bucket = np.where(gaps > 1, np.ceil(np.log(np.maximum(gaps, 1)) / np.log(SKETCH_GROWTH)), 0)
    request = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    ordered = bucket[np.lexsort((bucket, request))]
    values = 2 * SKETCH_GROWTH**ordered / (SKETCH_GROWTH + 1)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values.astype(np.float32)))


def _gaps(run: Run) -> tuple[Floats, Any]:
    """Return all gaps in µs, and where each request's begin."""
    keep = np.ones(run.delivered.size, dtype=np.bool_)
    keep[run.offsets[:-1]] = False
    gaps: Floats = np.diff(run.delivered, prepend=0.0)[keep] * 1e6
    return gaps, np.concatenate([[0], np.cumsum(run.requests.output - 1)]).astype(np.int32)


def _no_gaps(n: int) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(np.zeros(n + 1, dtype=np.int32)), pa.array([], pa.float32()))
