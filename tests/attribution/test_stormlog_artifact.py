"""What Stormlog is given of a run: its artifact and its hook's log, made of a handful of rows."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.attribution.real.artifact import artifact_records
from benchmarks.attribution.real.hook_log import Process, hook_records, write_hook_log
from benchmarks.attribution.real.stay import stays
from benchmarks.attribution.real.stormlog import named
from otel_attrib.demo.client import Exchange
from otel_attrib.demo.replay import Outcome

MS = 1_000_000
START = 1_800_000_000_000_000_000
PROCESS = Process("host", 1, START, {"max_num_seqs": 4, "max_num_batched_tokens": 64})


def request(
    name: str, at_ms: float, first: int | None, last: int | None, output: int, **more: Any
) -> dict[str, Any]:
    """A request that came at `at_ms`, in two milliseconds to the engine, in the steps first to last."""
    row = {
        "at_ns": START + round(at_ms * MS),
        "trace_id": name,
        "request_id": f"chatcmpl-{name}",
        "node": "host",
    }
    row |= {"model": "tiny", "tenant": "ide", "operation": "chat", "stream": True, "status": "ok"}
    row |= {"finish_reason": "length", "prompt_tokens": 20, "cached_tokens": 0, "output_tokens": output}
    row |= {
        "ttft_us": 12_000.0,
        "e2e_us": 60_000.0,
        "ingress_us": 1500.0,
        "tokenize_us": 500.0,
        "preemptions": 0,
    }
    return row | {"prefill_chunks": 1, "first_step": first, "last_step": last} | more


def steps(count: int, **preempted: int) -> list[dict[str, Any]]:
    """Steps 1 to `count` of 10 ms each, the first at 10 ms; `s3=1` preempts one request in the third."""
    return [
        {
            "at_ns": START + 10 * MS * number,
            "step": number,
            "duration_us": 9000.0,
            "schedule_us": 100.0,
            "prefill_tokens": 0,
            "decode_tokens": 2,
            "preemptions": preempted.get(f"s{number}", 0),
        }
        for number in range(1, count + 1)
    ]


def of(records: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The records of one kind."""
    return [record for record in records if record["kind"] == kind]


def test_a_request_is_in_all_its_steps() -> None:
    """Three tokens after one piece of prompt are the three steps from the first to the last."""
    found, hit = stays([request("a", 0, 2, 4, output=3)], steps(5))
    assert [(2, False), (3, False), (4, False)] == found[0].steps()
    assert {} == hit


def test_the_request_admitted_last_is_preempted_and_comes_back() -> None:
    """The later of two running requests leaves, for the steps that its tokens do not account for."""
    early = request("a", 0, 1, 6, output=6)
    late = request("b", 5, 2, 6, output=3, preemptions=1)
    found, hit = stays([early, late], steps(6, s4=1))
    assert ["b"] == [stay.row["trace_id"] for stay in hit[4]]
    assert [(2, False), (3, False), (6, True)] == found[1].steps()
    assert [1, 2, 3, 4, 5, 6] == [step for step, _ in found[0].steps()]


def test_a_request_given_up_ends_with_the_step_begun_before() -> None:
    """Without a last step, the request is in the steps begun until it left, 35 ms after it came."""
    gone = request("a", 0, 1, None, output=2, e2e_us=35_000.0)
    found, _ = stays([gone], steps(6))
    assert 3 == found[0].last


def test_the_log_has_every_record_in_order() -> None:
    """One record of admission, queue and end a request, two a step, and the times do not go back."""
    rows = [
        request("a", 1, 1, 3, output=3),
        request("b", 13, 3, 4, output=2),
        request("c", 20, None, None, 0),
    ]
    records = hook_records(PROCESS, rows, steps(4))
    counted = Counter(record["kind"] for record in records)
    once = {
        "hello": 1,
        "goodbye": 1,
        "alias": 2,
        "enqueued": 2,
        "terminal": 2,
        "scheduled": 4,
        "completed": 4,
    }
    assert once == {kind: count for kind, count in counted.items() if kind != "heartbeat"}
    times: list[int] = [record.get("mono_ns") or record["start_mono_ns"] for record in records[1:]]
    assert sorted(times) == times


def test_a_request_enters_the_queue_with_the_next_step() -> None:
    """One that comes at 15 ms, between two steps, is in the queue from the step at 20 ms on."""
    records = hook_records(PROCESS, [request("b", 13, 3, 4, output=2)], steps(4))
    assert [START + 15 * MS] == [record["mono_ns"] for record in of(records, "alias")]
    assert [START + 20 * MS] == [record["mono_ns"] for record in of(records, "enqueued")]
    with_it = [record for record in of(records, "scheduled") if record["members"]]
    assert [START + 30 * MS, START + 40 * MS] == [record["start_mono_ns"] for record in with_it]


def test_members_compute_the_prompt_once_and_then_a_token_a_step() -> None:
    """Two pieces of 20 prompt tokens of which 4 were cached, then two tokens; three are kept."""
    row = request("a", 0, 1, 4, output=3, cached_tokens=4, prefill_chunks=2)
    records = hook_records(PROCESS, [row], steps(4))
    members = [record["members"][0] for record in of(records, "scheduled")]
    outcomes = [record["members"][0] for record in of(records, "completed")]
    assert [8, 8, 1, 1] == [member["scheduled"] for member in members]
    assert [4, 12, 20, 21] == [member["computed_before"] for member in members]
    assert ["context", "context", "generation", "generation"] == [member["phase"] for member in members]
    assert [0, 1, 1, 1] == [outcome["retained"] for outcome in outcomes]
    assert [None, None, None, "length"] == [outcome["finish_reason"] for outcome in outcomes]


def test_a_preempted_request_computes_all_it_had_again() -> None:
    """After 20 tokens of prompt and one more, it comes back with 22 to compute and says so."""
    row = request("a", 0, 1, 4, output=3, preemptions=1)
    records = hook_records(PROCESS, [row], steps(4, s3=1))
    scheduled = of(records, "scheduled")
    assert ["chatcmpl-a"] == scheduled[2]["preempted"]
    assert [] == scheduled[2]["members"]
    back = scheduled[3]["members"][0]
    assert (0, 22, True, "context") == (
        back["computed_before"],
        back["scheduled"],
        back["recompute"],
        back["phase"],
    )


def test_the_log_is_one_sealed_segment_with_numbers_from_zero(tmp_path: Path) -> None:
    """Every line carries the format, the folder's name and the next number."""
    write_hook_log(tmp_path, PROCESS, [request("a", 0, 1, 2, output=2)], steps(2))
    file = tmp_path / "host-recorded" / f"engine-1-{START}" / "000000.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert list(range(len(lines))) == [line["seq"] for line in lines]
    assert {("stormlog.vllm_hook/1", f"engine-1-{START}")} == {
        (line["format"], line["epoch"]) for line in lines
    }


def test_the_artifact_tells_what_the_client_saw() -> None:
    """Sent at its wall clock, first content 7 ms and end 40 ms later by its monotonic clock."""
    seen = Exchange(START + MS, 5 * MS, 200, 12 * MS, [12 * MS, 20 * MS], 45 * MS)
    outcome = Outcome("p", 0, "stream", "ide", "a", "s", seen)
    records = artifact_records("host", [request("a", 2, 1, 3, output=3)], {"a": outcome})
    assert ["infer.artifact", "infer.dispatch", "infer.first_content", "infer.request"] == [
        record["event_type"] for record in records
    ]
    assert [START + MS, START + 8 * MS, START + 41 * MS] == [record["timestamp_ns"] for record in records[1:]]
    assert {"a"} == {record["x_request_id"] for record in records[1:]}


def test_without_a_client_the_servers_stamps_stand_for_its_own() -> None:
    """Two requests in the order of their times; one that failed has no first content."""
    rows = [
        request("a", 0, 1, 3, output=3),
        request("b", 5, None, None, 0, status="error", ttft_us=None, e2e_us=1000.0),
    ]
    records = artifact_records("host", rows, {})[1:]
    assert [
        ("infer.dispatch", 0),
        ("infer.dispatch", 5),
        ("infer.request", 6),
        ("infer.first_content", 12),
    ] == [(record["event_type"], (record["timestamp_ns"] - START) // MS) for record in records[:4]]
    assert ["error", "ok"] == [
        record["status"] for record in records if record["event_type"] == "infer.request"
    ]


def test_an_answer_in_one_piece_has_no_first_content() -> None:
    """Neither the client nor the server knows of a first token that was never sent alone."""
    row = request("a", 0, 1, 3, output=3, stream=False)
    seen = Exchange(START, 0, 200, 40 * MS, [], 41 * MS)
    for outcomes in ({}, {"a": Outcome("p", 0, "whole", "ide", "a", "s", seen)}):
        told = [record["event_type"] for record in artifact_records("host", [row], outcomes)[1:]]
        assert ["infer.dispatch", "infer.request"] == told


def report(summary: str, outcome: str, warnings: int, *found: tuple[str, str]) -> dict[str, Any]:
    """A report of Stormlog with these kinds and claims in rank order."""
    details = {
        str(rank): {"rank": rank, "kind": kind, "claim": claim} for rank, (kind, claim) in enumerate(found, 1)
    }
    payload = {"outcome": outcome, "findings_detail": details}
    return {"verdict": {"summary": summary}, "metrics": {"warning_findings": warnings}, "payload": payload}


@pytest.mark.parametrize(
    ("said", "layers"),
    [
        (report("inconclusive: …", "inconclusive", 0), ""),
        (report("no_findings: …", "no_findings", 0), "none"),
        (report("…; no excess in the declared window", "findings", 0, ("host_stall", "condition")), "none"),
        (report("…", "findings", 1, ("kv_preemption_pressure", "fault")), "scheduler"),
        (report("…", "inconclusive", 0, ("queue_saturation", "observation")), ""),
        (
            report("…", "findings", 1, ("queue_saturation", "fault"), ("load_increase", "condition")),
            "scheduler+load",
        ),
    ],
)
def test_what_stormlog_claims_is_its_answer(said: dict[str, Any], layers: str) -> None:
    """Claims by rank, at most two; observations are none; a window no slower than before is calm."""
    assert layers == named(said)
