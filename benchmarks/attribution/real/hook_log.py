"""The log that Stormlog's hook inside vLLM would have written, made of the store's requests and steps.

One folder a server process ("epoch") with one sealed segment: `hello` with the server's sizes, `alias` where
a request reached the engine, `enqueued` where it entered the scheduler's queue, `scheduled` and `completed`
of each step with its members, `terminal` where a request ended, a `heartbeat` a second, and `goodbye`. The
format is `stormlog.vllm_hook/1` of stormlog 0.4.3 (MIT). Our shim patches the same functions as that hook,
so all stamps but one are measured: the engine takes new requests in between two steps, hence a request is
`enqueued` at the first step that is scheduled after it came. Nobody paused the scheduler or reset the
prefix cache in these runs and nothing was dropped; the log says so, as Stormlog claims little without.
"""

import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.attribution.real.stay import Row, Stay, stays

__all__ = ["BOOT", "Process", "hook_records", "write_hook_log"]

FORMAT: Final = "stormlog.vllm_hook/1"
BOOT: Final = "recorded"
VERSION: Final = "0.32.0"
HEARTBEAT_NS: Final = 1_000_000_000
RESOLUTION_NS: Final = 1000
# In one moment: what must stand first in the log. A request ends before its step is told to be complete.
ORDER: Final = {
    "hello": 0,
    "heartbeat": 1,
    "alias": 2,
    "enqueued": 3,
    "scheduled": 4,
    "terminal": 5,
    "completed": 6,
}
FINISHED: Final = {"length": "FINISHED_LENGTH_CAPPED", "stop": "FINISHED_STOPPED"}

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Process:
    """One engine process: its host, its number in the artifact, and its sizes as vLLM names them."""

    host: str
    number: int
    start_ns: int
    config: Mapping[str, int | None]

    @property
    def epoch(self) -> str:
        """The name of its folder."""
        return f"engine-{self.number}-{self.start_ns}"


def write_hook_log(folder: Path, process: Process, requests: Sequence[Row], steps: Sequence[Row]) -> None:
    """Write one process's log below `folder`."""
    epoch = folder / f"{process.host}-{BOOT}" / process.epoch
    epoch.mkdir(parents=True)
    with (epoch / "000000.jsonl").open("w") as file:
        for sequence, record in enumerate(hook_records(process, requests, steps)):
            shown = {"format": FORMAT, "epoch": process.epoch, "seq": sequence, **record}
            file.write(json.dumps(shown, separators=(",", ":")) + "\n")


def hook_records(process: Process, requests: Sequence[Row], steps: Sequence[Row]) -> list[Record]:
    """Return one process's records in the order they would have been written."""
    found, hit = stays(requests, steps)
    records = [*_steps(found, hit, steps), *_requests(found, steps)]
    end = max([process.start_ns, *(record["at"] for record in records)]) + HEARTBEAT_NS
    records += [_heartbeat(at) for at in range(process.start_ns, end + HEARTBEAT_NS, HEARTBEAT_NS)]
    records.sort(key=lambda record: (record["at"], ORDER[record["kind"]]))
    last = records[-1]["at"] + 1
    whole = [_hello(process), *records, {"kind": "goodbye", "at": last, **_stamp(last)}]
    return [{name: value for name, value in record.items() if name != "at"} for record in whole]


def _stamp(at: int, prefix: str = "") -> Record:
    """A moment on both of the hook's clocks, which are one here, within the store's resolution."""
    return {f"{prefix}wall_ns": at, f"{prefix}mono_ns": at, f"{prefix}wall_after_ns": at + RESOLUTION_NS}


def _hello(process: Process) -> Record:
    clock = {**_stamp(process.start_ns), "gap_ns": RESOLUTION_NS}
    producer = f"vllm:{process.host}:{BOOT}:{process.number}:{process.start_ns}"
    told = {"role": "engine", "host": process.host, "boot_id": BOOT, "pid": process.number}
    told |= {"start_ns": process.start_ns, "vllm_version": VERSION, "enabled": True, "refused": None}
    told |= {"producer": producer, "observes": ["cache_reset", "enqueued", "pause"]}
    config = {"vllm_version": VERSION, "request_id_randomization": False, **process.config}
    return {"kind": "hello", "at": process.start_ns, **told, "config": config, "clock": clock}


def _heartbeat(at: int) -> Record:
    counts = {"pending": 0, "reserved": 0, "queued": 0, "errors": 0, "capped": False, "dropped": {}}
    return {"kind": "heartbeat", "at": at, **counts, **_stamp(at)}


def _requests(found: Sequence[Stay], steps: Sequence[Row]) -> Iterator[Record]:
    starts = {step["step"]: step["at_ns"] for step in steps}
    ends = {step["step"]: _end(step) for step in steps}
    ordered = sorted(starts.values())
    for stay in found:
        if stay.first not in starts:
            continue
        row, internal = stay.row, stay.row["request_id"]
        came = row["at_ns"] + round(1000 * ((row["ingress_us"] or 0.0) + (row["tokenize_us"] or 0.0)))
        scheduled = starts[stay.first]
        came = min(came, scheduled)
        entered = _next(ordered, came, scheduled)
        yield {"kind": "alias", "at": came, "internal": internal, "external": internal, **_stamp(came)}
        flags = {"structured_output": False, "resumable": False}
        yield {"kind": "enqueued", "at": entered, "internal": internal, **flags, **_stamp(entered)}
        left = ends.get(stay.last, row["at_ns"] + round(1000 * (row["e2e_us"] or 0.0)))
        yield _terminal(row, left)


def _next(ordered: Sequence[int], came: int, scheduled: int) -> int:
    """The first step that is scheduled after `came`, at the latest the request's own."""
    at = bisect_left(ordered, came)
    return min(ordered[at], scheduled) if at < len(ordered) else scheduled


def _terminal(row: Row, left: int) -> Record:
    reason = row["finish_reason"] or "abort"
    told = {"status": FINISHED.get(reason, "FINISHED_ABORTED"), "finish_reason": reason}
    told |= {"output_tokens": row["output_tokens"]}
    return {"kind": "terminal", "at": left, "internal": row["request_id"], **told, **_stamp(left)}


def _end(step: Row) -> int:
    return int(step["at_ns"]) + round(1000 * (step["duration_us"] or 0.0))


def _steps(
    found: Sequence[Stay], hit: Mapping[int, Sequence[Stay]], steps: Sequence[Row]
) -> Iterator[Record]:
    members: dict[int, list[tuple[Record, Record]]] = {}
    for stay in found:
        for step, member, outcome in _memberships(stay):
            members.setdefault(step, []).append((member, outcome))
    for row in steps:
        number, start, end = row["step"], row["at_ns"], _end(row)
        here = members.get(number, [])
        tokens = (row["prefill_tokens"] or 0) + (row["decode_tokens"] or 0)
        put_together = start + round(1000 * (row["schedule_us"] or 0.0))
        told = {"iteration": str(number), **_stamp(start, "start_"), **_stamp(put_together, "end_")}
        told |= {"total_tokens": tokens, "zero_token": tokens == 0, "pause_state": "UNPAUSED"}
        told |= {"preempted": sorted(stay.row["request_id"] for stay in hit.get(number, ()))}
        yield {"kind": "scheduled", "at": start, **told, "members": [member for member, _ in here]}
        done = {"iteration": str(number), **_stamp(end), "members": [outcome for _, outcome in here]}
        yield {"kind": "completed", "at": end, **done}


def _memberships(stay: Stay) -> Iterator[tuple[int, Record, Record]]:
    """Yield the request's part in each of its steps, and what came of it."""
    row, prompt, cached = stay.row, stay.row["prompt_tokens"], stay.row["cached_tokens"] or 0
    pieces = _pieces(max(prompt - cached, 1), stay.chunks)
    computed, given = cached, 0
    for nth, (step, back) in enumerate(stay.steps()):
        opening = nth < stay.chunks
        recomputed = back and not opening
        scheduled = pieces[nth] if opening else computed + 1 if recomputed else 1
        before = 0 if recomputed else computed
        tokens = int(nth >= stay.chunks - 1)
        member = {"internal": row["request_id"], "sighting": "repeat" if nth else "first"}
        member |= {"phase": "context" if opening or recomputed else "generation", "scheduled": scheduled}
        member |= {"computed_before": before, "prompt_tokens": prompt, "drafts_scheduled": 0}
        prefill = max(0, min(scheduled, prompt - before))
        member |= {"prefill_scheduled": prefill, "past_prompt_scheduled": scheduled - prefill}
        member |= {"cached_at_admission": None if nth else cached, "recompute": recomputed}
        member |= {"output_before": given, "resumable": False}
        computed, given = before + scheduled, given + tokens
        ended = row["finish_reason"] if step == stay.last else None
        outcome = {"internal": row["request_id"], "outcome": "kept", "stale": False, "sampled": tokens}
        outcome |= {"accepted_drafts": 0, "retained": tokens, "finish_reason": ended or None}
        yield step, member, outcome | {"computed_after": computed}


def _pieces(tokens: int, count: int) -> list[int]:
    """Cut a prompt into so many pieces, as equal as can be; how long each was the store does not tell."""
    return [tokens * (nth + 1) // count - tokens * nth // count for nth in range(count)]
