"""Stormlog (MIT) beside the real faults: its own diagnosis, given what it would have recorded itself.

`stormlog infer diagnose` explains a declared window of one run against what came earlier in it. Its hook is
not run inside the server: its log's format permits it to be made of what our shim recorded there (the same
functions are patched), and that is what is done, so that both tools are asked of the same run. The client's
half is made of what our client saw, the hook's log goes through Stormlog's own `infer import-execution`, and
the sizes of the server that its hook would have read are those it was started with.
"""

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.attribution.real.artifact import write_artifact
from benchmarks.attribution.real.environment import rival_programs
from benchmarks.attribution.real.hook_log import Process, write_hook_log
from benchmarks.attribution.real.stay import Row
from otel_attrib.demo.replay import Outcome, read_outcomes
from otel_attrib.demo.server import ServerShape
from otel_attrib.demo.service import Service
from otel_attrib.demo.story import Phase

__all__ = ["OUTCOMES", "ask_stormlog", "named"]

STORMLOG: Final = "stormlog==0.4.3"
OUTCOMES: Final = "outcomes.jsonl"
FINDINGS: Final = 3
# As it comes, Stormlog leaves the requests of the baseline's slower stretches out of what it compares with
# but keeps their time in, so that the load can seem to have risen. The second way tells it that all of the
# baseline is healthy.
WAYS: Final[Mapping[str, Mapping[str, float]]] = {
    "stormlog": {},
    "stormlog-whole": {"selection.alpha": 1e-300},
}
# The most that is taken of one answer, as of ours: a cause set names two.
MOST: Final = 2

# Stormlog names mechanisms. What the scheduler and its caches do is the scheduler's; a stall of a host
# process, or a late rank, is the CPU's where nothing but the host computes.
LAYER_OF: Final[Mapping[str, str]] = {
    "queue_saturation": "scheduler",
    "kv_preemption_pressure": "scheduler",
    "prefix_cache_loss": "scheduler",
    "mixed_prefill_interference": "scheduler",
    "host_stall": "cpu",
    "rank_delay": "cpu",
    "transfer_degradation": "network",
    "client_admission": "client",
    "load_increase": "load",
    "longer_inputs": "workload",
    "longer_outputs": "workload",
    "prefix_sharing_drop": "workload",
}

REQUESTS: Final = """
SELECT toUnixTimestamp64Micro(time) * 1000 AS at_ns, trace_id, request_id, node, model, tenant, operation,
       stream, status, finish_reason, prompt_tokens, cached_tokens, output_tokens,
       ttft_us, e2e_us, ingress_us, tokenize_us, preemptions, prefill_chunks, first_step, last_step
FROM requests
WHERE time >= fromUnixTimestamp64Nano({from:Int64}) AND time < fromUnixTimestamp64Nano({to:Int64})
ORDER BY time, span_id
"""
STEPS: Final = """
SELECT toUnixTimestamp64Micro(time) * 1000 AS at_ns, step, duration_us, schedule_us, batch_size,
       prefill_tokens, decode_tokens, preemptions
FROM steps
WHERE time >= fromUnixTimestamp64Nano({from:Int64}) AND time < fromUnixTimestamp64Nano({to:Int64})
ORDER BY step
"""


def ask_stormlog(
    service: Service,
    before: Phase,
    during: Phase,
    folder: Path,
    shapes: tuple[ServerShape, ServerShape] = (ServerShape(), ServerShape()),
) -> dict[str, str]:
    """Return the layers that Stormlog names for the second phase against the first, in each way it is asked.

    "" is for none named. `shapes` are the sizes of the servers of both. The reports stay in the folder.
    """
    own = folder / f"stormlog-{during.name}"
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir(parents=True)
    requests = [_rows(service, REQUESTS, phase) for phase in (before, during)]
    steps = [_rows(service, STEPS, phase) for phase in (before, during)]
    host = requests[1][0]["node"]
    artifact = own / "artifact.jsonl"
    write_artifact(artifact, host, [*requests[0], *requests[1]], _seen(folder / OUTCOMES))
    _write_hook_logs(own / "hook", host, requests, steps, shapes)
    _stormlog("import-execution", str(artifact), str(own / "hook"), "--server-stopped")
    window = f"{requests[1][0]['at_ns'] - 1_000_000},{requests[1][-1]['at_ns'] + 1}"
    answers = {way: named(_diagnosed(artifact, window, way)) for way in WAYS}
    shutil.rmtree(own / "hook")
    artifact.unlink()  # a hundred megabytes, made again whenever it is asked again
    return answers


def _diagnosed(artifact: Path, window: str, way: str) -> dict[str, Any]:
    thresholds = artifact.with_name(f"{way}-thresholds.json")
    thresholds.write_text(json.dumps(WAYS[way]))
    options = ("--window", window, "--thresholds", str(thresholds), "--format", "json")
    said = _stormlog("diagnose", str(artifact), *options)
    artifact.with_name(f"{way}.json").write_text(said)
    report: dict[str, Any] = json.loads(said)
    return report


def named(report: Mapping[str, Any]) -> str:
    """Return the layers of a report, best first, joined by "+".

    Only what Stormlog claims counts, at most two: a finding whose claim is `observation` is one that it says
    establishes nothing. A window that it calls no slower than before, and does not warn of, is "none".
    """
    payload = report["payload"]
    calm = "no excess in" in report["verdict"]["summary"] or payload["outcome"] == "no_findings"
    if calm and not report["metrics"]["warning_findings"]:
        return "none"
    ranked = sorted(payload["findings_detail"].values(), key=lambda finding: finding["rank"])
    claimed = [finding["kind"] for finding in ranked if finding["claim"] != "observation"]
    layers = list(dict.fromkeys(LAYER_OF[kind] for kind in claimed if kind in LAYER_OF))
    return "+".join(layers[:MOST])


def _rows(service: Service, sql: str, phase: Phase) -> list[dict[str, Any]]:
    return service.rows(sql, **{"from": phase.start_ns, "to": phase.end_ns})


def _seen(file: Path) -> dict[str, Outcome]:
    return {outcome.trace_id: outcome for outcome in read_outcomes(file)} if file.exists() else {}


def _write_hook_logs(
    folder: Path,
    host: str,
    requests: Sequence[Sequence[Row]],
    steps: Sequence[Sequence[Row]],
    shapes: tuple[ServerShape, ServerShape],
) -> None:
    """One log a server process; a process that was started again counts its steps from the beginning."""
    if shapes[0] == shapes[1] and steps[1][0]["step"] > steps[0][-1]["step"]:
        process = Process(host, 1, steps[0][0]["at_ns"] - 1_000_000_000, _config(shapes[0]))
        write_hook_log(folder, process, [*requests[0], *requests[1]], [*steps[0], *steps[1]])
        return
    for number in (0, 1):
        start = steps[number][0]["at_ns"] - 1_000_000_000
        process = Process(host, number + 1, start, _config(shapes[number]))
        write_hook_log(folder, process, requests[number], steps[number])


def _config(shape: ServerShape) -> dict[str, int | None]:
    sizes: dict[str, int | None] = {"max_num_seqs": shape.max_num_seqs, "num_gpu_blocks": shape.kv_blocks}
    return sizes | {"max_num_batched_tokens": shape.max_num_batched_tokens, "tp": 1, "pp": 1, "dp": 1}


def _stormlog(*words: str) -> str:
    program = rival_programs("stormlog", STORMLOG) / "stormlog"
    done = subprocess.run([program, "infer", *words], capture_output=True, text=True, check=False)
    if done.returncode not in (0, FINDINGS):
        raise RuntimeError(f"stormlog infer {words[0]}: {done.stderr.strip()}")
    return done.stdout
