"""What other tools that a user can install say of the same runs, each in an environment of its own.

`inflame-trace` (MIT) reads vLLM's request spans and shows which phase the time is in. It gets those of both
windows, and the phase whose P95 grew most is taken for its answer: it has none of its own about a change.

`stormlog` (MIT) diagnoses a window of a run against what came before; see `stormlog.py` for what it is given.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benchmarks.attribution.real.environment import NotInstalled, rival_programs
from benchmarks.attribution.real.stormlog import ask_stormlog
from otel_attrib.demo.server import ServerShape
from otel_attrib.demo.service import Service
from otel_attrib.demo.story import Phase

__all__ = ["ask_rivals"]

INFLAME: Final = "inflame-trace==0.1.0"
# Nothing but the host computes here, so a phase of the model is the host's.
LAYER_OF: Final = {"queue": "scheduler", "prefill": "cpu", "decode": "cpu", "other": ""}
ROWS = """
SELECT toUnixTimestamp64Nano(toDateTime64(time, 9, 'UTC')) AS start, span_id, model,
       prompt_tokens, output_tokens,
       ttft_us / 1e6 AS ttft, e2e_us / 1e6 AS e2e, queue_us / 1e6 AS queue
FROM requests
WHERE time >= fromUnixTimestamp64Nano({from:Int64}) AND time < fromUnixTimestamp64Nano({to:Int64})
  AND e2e_us IS NOT NULL AND ttft_us IS NOT NULL
"""
SUMMARY = """
import json, sys
from inflame.aggregate import summarize
from inflame.parsers import parse_file
for path in sys.argv[1:]:
    _, requests = parse_file(path, "vllm")
    print(json.dumps({phase["name"]: phase["p95"] for phase in summarize(requests)["phases"]}))
"""


def ask_rivals(
    service: Service, before: Phase, during: Phase, folder: Path, shapes: tuple[ServerShape, ServerShape]
) -> dict[str, str]:
    """Return the layer that each installed rival names, "" for none; `shapes` are both servers' sizes."""
    return {
        **_asked(lambda: {"inflame-trace": _inflame(service, before, during, folder)}),
        **_asked(lambda: ask_stormlog(service, before, during, folder, shapes)),
    }


def _asked(ask: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Return what a rival says, nothing where it cannot be installed."""
    try:
        return ask()
    except NotInstalled as missing:
        print(f"left out: {missing}", file=sys.stderr)
        return {}


def _inflame(service: Service, before: Phase, during: Phase, folder: Path) -> str:
    files = [_spans(service, phase, folder / f"inflame-{phase.name}.jsonl") for phase in (before, during)]
    python = rival_programs("inflame", INFLAME) / "python"
    done = subprocess.run([python, "-c", SUMMARY, *files], capture_output=True, text=True, check=True)
    old, new = (json.loads(line) for line in done.stdout.splitlines())
    # Only what stands before the first token can be late there.
    grown = {phase: new[phase] - old.get(phase, 0.0) for phase in new if phase in ("queue", "prefill")}
    return LAYER_OF[max(grown, key=lambda phase: grown[phase])]


def _spans(service: Service, phase: Phase, file: Path) -> Path:
    """Write the requests of a phase as vLLM's own request spans."""
    with file.open("w") as out:
        for row in service.rows(ROWS, **{"from": phase.start_ns, "to": phase.end_ns}):
            attributes = {
                "gen_ai.latency.e2e": row["e2e"],
                "gen_ai.latency.time_to_first_token": row["ttft"],
                "gen_ai.latency.time_in_queue": row["queue"] or 0.0,
                "gen_ai.usage.prompt_tokens": row["prompt_tokens"],
                "gen_ai.usage.completion_tokens": row["output_tokens"],
                "gen_ai.response.model": row["model"],
            }
            span = {"spanId": row["span_id"], "startTimeUnixNano": row["start"], "attributes": attributes}
            out.write(json.dumps(span) + "\n")
    return file
