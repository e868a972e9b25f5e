"""Shares of steps: they add up, and each moment belongs to what comes first."""

import gzip
import itertools
import json
from pathlib import Path

import pytest

from otel_attrib.analytics.profiles.breakdown import breakdown
from otel_attrib.analytics.profiles.read import read_profile
from otel_attrib.analytics.profiles.shares import step_shares
from otel_attrib.analytics.profiles.steps import steps_of

FIXTURES = Path(__file__).parents[2] / "fixtures"
KINETO = sorted(path.name for path in (FIXTURES / "kineto").glob("*.json.gz"))


@pytest.mark.parametrize("name", KINETO)
def test_shares_add_up(name: str) -> None:
    """In every recorded trace the five shares of each step add up to 1, none below zero."""
    profile = read_profile(FIXTURES / "kineto" / name)
    for device in profile.used_devices:
        for step in step_shares(profile, device):
            assert 1 == pytest.approx(sum(step.shares.values()), abs=1e-12)
            assert 0 <= min(step.shares.values())


def test_one_moment_one_activity(tmp_path: Path) -> None:
    """A product, a collective half behind it, a copy a third behind both and a norm share 100 µs."""
    rows = [
        ("kernel", "cutlass_gemm", 0, 30), ("kernel", "ncclDevKernel_AllReduce", 20, 20),
        ("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 35, 15), ("kernel", "rms_norm_kernel", 60, 10),
        ("user_annotation", "ProfilerStep#1", 0, 100),
    ]  # fmt: skip
    args = {"device": 0, "stream": 7}
    events = [
        {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": 7, "ts": at, "dur": us, "args": args}
        for cat, name, at, us in rows
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    (step,) = step_shares(read_profile(path), 0)

    assert {"compute": 0.3, "memory": 0.1, "collective": 0.1, "copy": 0.1, "idle": 0.4} == pytest.approx(
        step.shares
    )
    assert ("ProfilerStep#1", 100_000) == (step.name, step.end_ns - step.start_ns)


def test_idle_is_the_breakdowns() -> None:
    """Without marks the one step spans the kernels, and its idle time is that of the breakdown."""
    profile = read_profile(FIXTURES / "nsys/mfu_2gpu_before.sqlite.gz")
    (step,) = step_shares(profile, 0)
    whole = breakdown(profile, 0)

    assert whole.idle.total_ns == pytest.approx(step.shares["idle"] * (step.end_ns - step.start_ns), abs=1)


@pytest.mark.parametrize(
    ("name", "mark", "to_next"),
    [
        ("hta_nccl_data", "ProfilerStep#", True),
        ("hta_control", "ProfilerStep#", True),
        ("vllm_decode", "execute_", False),
    ],
)
def test_steps_follow_what_they_launched(name: str, mark: str, to_next: bool) -> None:
    """A step on the device is what the host launched within its mark, joined here event by event."""
    trace = json.loads(gzip.decompress((FIXTURES / f"kineto/{name}.json.gz").read_bytes()))
    events = [event for event in trace["traceEvents"] if event.get("ph") == "X" and event.get("args")]
    runs = ("kernel", "gpu_memcpy", "gpu_memset")
    calls = {
        event["args"].get("correlation"): event["ts"] for event in events if event["cat"] == "cuda_runtime"
    }
    ran = [(calls.get(event["args"].get("correlation")), event) for event in events if event["cat"] in runs]
    marks = [
        event for event in events if event["cat"] == "user_annotation" and event["name"].startswith(mark)
    ]
    spans = []
    for step in sorted(marks, key=lambda event: float(event["ts"])):
        low, high = step["ts"], step["ts"] + step["dur"]
        own = [event for called, event in ran if called is not None and low <= called < high]
        spans.append((min(e["ts"] for e in own), max(e["ts"] + e["dur"] for e in own)))
    if to_next:
        spans = [*((a[0], b[0]) for a, b in itertools.pairwise(spans)), spans[-1]]
    profile = read_profile(FIXTURES / f"kineto/{name}.json.gz")
    steps = steps_of(profile, profile.used_devices[0])

    assert [end - start for start, end in spans] == pytest.approx(
        (steps.duration_ns / 1e3).tolist(), abs=0.002
    )


@pytest.mark.parametrize(
    ("file", "kind", "count"),
    [
        ("kineto/h100_bert.json.gz", "ProfilerStep", 1),
        ("kineto/vllm_decode.json.gz", "vLLM step", 1),
        ("kineto/hta_nccl_data.json.gz", "ProfilerStep", 3),
        ("nsys/mfu_2gpu_after.sqlite.gz", "whole profile", 1),
    ],
)
def test_steps_of_recorded_profiles(file: str, kind: str, count: int) -> None:
    """Steps are those that the program marked, else the whole profile is one."""
    profile = read_profile(FIXTURES / file)
    steps = steps_of(profile, profile.used_devices[0])

    assert (kind, count) == (steps.kind, len(steps))
    assert (steps.duration_ns > 0).all()
