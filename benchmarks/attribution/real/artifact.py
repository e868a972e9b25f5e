"""The inference artifact that Stormlog's own client would have written, made of what our client saw.

Lines of JSON in the order of their times (stormlog 0.4.3, MIT): the run's identity; of each request
`infer.dispatch` when it was sent, `infer.first_content` when its first content came and `infer.request`
when it ended. Both phases are one case: Stormlog compares a window with what came earlier in the same case.
Of a request that our client left no note of, the server's own stamps stand for the client's. A tenant's
longer prompts share their opening (`workload.plan`), which is declared as Stormlog's client would.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.attribution.real.hook_log import BOOT
from benchmarks.attribution.real.stay import Row
from otel_attrib.demo.replay import Outcome
from otel_attrib.demo.workload import OPENING_TOKENS

__all__ = ["artifact_records", "write_artifact"]

RUN: Final = "real"
CASE: Final = "replay"
PHASE: Final = "measured"
STATUS: Final = {"ok": "ok", "aborted": "cancelled", "timeout": "timeout", "error": "error"}

Record = dict[str, Any]


def write_artifact(file: Path, host: str, requests: Sequence[Row], seen: Mapping[str, Outcome]) -> None:
    """Write the artifact of these requests; `seen` holds what the client saw by trace id."""
    with file.open("w") as out:
        for record in artifact_records(host, requests, seen):
            out.write(json.dumps(record, sort_keys=True) + "\n")


def artifact_records(host: str, requests: Sequence[Row], seen: Mapping[str, Outcome]) -> list[Record]:
    """Return the artifact's records in order."""
    groups = {group: number for number, group in enumerate(sorted({_group(row) for row in requests}))}
    found = [
        record for row in requests for record in _told(row, seen.get(row["trace_id"]), groups[_group(row)])
    ]
    found.sort(key=lambda record: (record["timestamp_ns"], record["request_id"]))
    start = found[0]["timestamp_ns"] if found else 0
    return [_identity(host, start), *found]


def _identity(host: str, at: int) -> Record:
    context = {"run_id": RUN, "session_id": RUN, "producer_id": "client", "source": "stormlog.infer.profile"}
    context |= {"clock_domain": f"{host}/{BOOT}/unix_epoch_ns", "clock_kind": "wall", "host": host}
    context |= {"collection_mode": "active", "provenance": "observed"}
    identity = {"schema_version": 2, "event_type": "infer.artifact", "context": context, "metadata": {}}
    return identity | {"event_id": f"artifact:{RUN}", "artifact_kind": "inference_jsonl", "created_at_ns": at}


def _group(row: Row) -> tuple[str, str]:
    """Whose opening a prompt has; a chat's begins with the template."""
    return row["tenant"], row["operation"]


def _told(row: Row, outcome: Outcome | None, group: int) -> list[Record]:
    sent, first, ended = _server_times(row) if outcome is None else _client_times(outcome)
    same = {"schema_version": 1, "session_id": RUN, "request_id": row["trace_id"], "case_id": CASE}
    same |= {"phase": PHASE, "x_request_id": _engine_id(row)}
    records = [same | {"event_type": "infer.dispatch", "timestamp_ns": sent, "started_at_ns": sent}]
    records[0]["intended_at_ns"] = None
    if first is not None:
        came = {"event_type": "infer.first_content", "timestamp_ns": first, "first_content_at_ns": first}
        records.append(same | came)
    shared = row["prompt_tokens"] > OPENING_TOKENS
    declared = {
        "prefix_group": group if shared else None,
        "shared_prefix_tokens": OPENING_TOKENS if shared else None,
    }
    return [*records, same | _ended(row, sent, first, ended) | declared]


def _ended(row: Row, sent: int, first: int | None, ended: int) -> Record:
    told = {"event_type": "infer.request", "timestamp_ns": ended, "started_at_ns": sent, "ended_at_ns": ended}
    told |= {"endpoint": "", "model": row["model"], "stream": row["stream"], "status": STATUS[row["status"]]}
    told |= {"concurrency": None, "arrival_mode": "open", "held_for_slot": False, "engine": "vllm"}
    told |= {"e2e_latency_ms": (ended - sent) / 1e6}
    told |= {"ttft_ms": None if first is None else (first - sent) / 1e6}
    return told | {
        "prompt_tokens": row["prompt_tokens"] or None,
        "output_tokens": row["output_tokens"] or None,
    }


def _engine_id(row: Row) -> str:
    """The X-Request-Id under which vLLM would have told its engine of the request."""
    name: str = row["request_id"]
    if name.startswith("chatcmpl-"):
        return name.removeprefix("chatcmpl-")
    return name.removeprefix("cmpl-").removesuffix("-0") or str(row["trace_id"])


def _client_times(outcome: Outcome) -> tuple[int, int | None, int]:
    """Sent, first content and end on the wall clock: monotonic stamps, set down at the moment of sending."""
    seen = outcome.seen
    shift = seen.sent_wall_ns - seen.sent_ns
    first = seen.events_ns[0] + shift if seen.events_ns else None  # an answer in one piece has no first token
    return seen.sent_wall_ns, first, (seen.end_ns or seen.sent_ns) + shift


def _server_times(row: Row) -> tuple[int, int | None, int]:
    sent: int = row["at_ns"]
    known = row["stream"] and row["ttft_us"] is not None
    first = None if not known else sent + round(row["ttft_us"] * 1000)
    return sent, first, sent + round((row["e2e_us"] or 0.0) * 1000)
