"""Collectives of a recorded run against its own JSON, and verdicts against the tables."""

import gzip
import json
from collections import defaultdict
from pathlib import Path

import pytest

from otel_attrib.analytics.profiles.cards import card_named
from otel_attrib.analytics.profiles.collective_tables import measured
from otel_attrib.analytics.profiles.collectives import CollectiveUse, collectives_of
from otel_attrib.analytics.profiles.read import read_profile

FIXTURES = Path(__file__).parents[2] / "fixtures"
H100 = card_named("h100_sxm")


def test_messages_of_a_recorded_run() -> None:
    """Counts, messages, times and bus bandwidth are those of the trace's own events."""
    trace = json.loads(gzip.decompress((FIXTURES / "kineto/hta_nccl_data.json.gz").read_bytes()))
    told: dict[tuple[str, int, int], list[float]] = defaultdict(list)
    for event in trace["traceEvents"]:
        args = event.get("args", {})
        if event.get("cat") == "kernel" and "Collective name" in args:
            kind = {"allreduce": "all_reduce", "broadcast": "broadcast"}[args["Collective name"]]
            size = {"Float": 4, "Long": 8}[args["dtype"]] * max(args["In msg nelems"], args["Out msg nelems"])
            told[kind, size, args["Group size"]].append(event["dur"])
    found = collectives_of(read_profile(FIXTURES / "kineto/hta_nccl_data.json.gz"), 0)

    got = {(use.operation, use.bytes, use.ranks): use for use in found if use.bytes > 0}
    assert set(told) == set(got)
    for key, durations in told.items():
        assert len(durations) == got[key].count
        assert min(durations) == pytest.approx(got[key].fastest_ns / 1e3)
        factor = 1.0  # broadcast; of an all-reduce with two ranks 2 (n − 1) / n is 1 as well
        assert key[1] / min(durations) / 1e3 * factor == pytest.approx(got[key].bus_bytes_per_second / 1e9)  # type: ignore[operator] # told


def test_no_size_no_comparison() -> None:
    """Nsight Systems says nothing of sizes: times are told, and that no comparison is possible."""
    profile = read_profile(FIXTURES / "nsys/mfu_2gpu_before.sqlite.gz")
    (use,) = collectives_of(profile, 0, H100)

    assert ("send_recv", 33, -1, None) == (use.operation, use.count, use.bytes, use.bus_bytes_per_second)
    assert "the file does not say how large the message was" == use.verdict


def traced(tmp_path: Path, durations: list[float]) -> CollectiveUse:
    """All-reduces of 64 MiB in bfloat16 over 8 ranks, each of these µs long, on an H100."""
    args = {
        "device": 0, "stream": 7, "Collective name": "allreduce", "dtype": "BFloat16", "Group size": 8,
        "In msg nelems": 2**25, "Out msg nelems": 2**25,
    }  # fmt: skip
    events = [
        {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "pid": 0, "tid": 7,
         "ts": 10_000 * place, "dur": us, "args": args}
        for place, us in enumerate(durations)
    ]  # fmt: skip
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    (use,) = collectives_of(read_profile(path), 0, H100)
    return use


ALONE = measured("h100_sxm", "NCCL", "all_reduce", 2, 8, 2**26).us or 0.0


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ((1.0, 1.1, 1.2), "as measured alone"),
        (
            (1.0, 3.0, 4.0),
            "fastest as measured alone, most slower: they wait for other ranks or share the link",
        ),
        ((2.0, 2.0, 2.1), "slower than measured alone, even the fastest"),
    ],
    ids=["as measured", "waiting", "slow link"],
)
def test_verdicts(tmp_path: Path, times: tuple[float, ...], said: str) -> None:
    """The fastest run speaks for the link, the median for waiting; time above the table is summed."""
    use = traced(tmp_path, [ALONE * time for time in times])

    assert said == use.verdict
    assert times[0] == pytest.approx(use.times_measured, rel=1e-3)
    assert ALONE == use.measured.us
    assert sum(ALONE * (time - 1) for time in times) * 1e3 == pytest.approx(use.above_ns, abs=10)
    assert 2 * 7 / 8 * 2**26 / use.fastest_ns == pytest.approx((use.bus_bytes_per_second or 0) / 1e9)
