"""A profile in the store: its samples against the profile itself, and that twice is once."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from otel_attrib.schema.store import Store

Run = Callable[..., str]
FIXTURES = Path(__file__).parents[1] / "fixtures"
NCCL = str(FIXTURES / "kineto/hta_nccl_data.json.gz")
NSYS = str(FIXTURES / "nsys/mfu_2gpu_before.sqlite.gz")
KEPT = """
SELECT toUnixTimestamp64Micro(time) AS us, metric, node, device, service, attributes, value FROM samples
ORDER BY ALL
"""


def test_shares_and_collectives(run: Run, store: Store) -> None:
    """Of each step five shares that add up to 1, and totals that end at the sums of the trace's events."""
    import gzip

    account = json.loads(run("import", "profile", NCCL, "--set", "node=n1", "service=chat", "--json"))
    rows = store.rows(KEPT)
    shares: dict[int, float] = {}
    for row in rows:
        if row["metric"] == "slatag.profile.share":
            shares[row["us"]] = shares.get(row["us"], 0.0) + row["value"]
    events = json.loads(gzip.decompress(Path(NCCL).read_bytes()))["traceEvents"]
    kernels = [event for event in events if event.get("cat") == "kernel" and "nccl" in event["name"]]
    sent = sum(
        {"Float": 4, "Long": 8}[event["args"]["dtype"]] * event["args"]["In msg nelems"] for event in kernels
    )

    def last(metric: str) -> float:
        return max(float(row["value"]) for row in rows if row["metric"] == metric)

    assert len(rows) == account["imported"] == account["values"]
    assert {("n1", "0", "chat")} == {(row["node"], row["device"], row["service"]) for row in rows}
    assert 3 == len(shares)
    assert [1.0] * 3 == pytest.approx(list(shares.values()))
    assert sent == last("slatag.engine.collective_bytes")
    assert sum(event["dur"] for event in kernels) / 1e6 == pytest.approx(
        last("slatag.engine.collective_time")
    )


def test_wall_clock_of_the_file(run: Run) -> None:
    """Times are the file's base plus its stamps: the first sample is its first activity, in May 2024."""
    import gzip

    trace = json.loads(gzip.decompress(Path(NCCL).read_bytes()))
    first = min(
        event["ts"]
        for event in trace["traceEvents"]
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
    )
    account = json.loads(run("import", "profile", NCCL, "--set", "node=n1", "--dry-run", "--json"))
    seconds = trace["baseTimeNanoseconds"] / 1e9 + first / 1e6

    from datetime import datetime

    assert seconds == pytest.approx(datetime.fromisoformat(account["first"]).timestamp(), abs=1e-5)


def test_twice_is_once(run: Run, store: Store) -> None:
    """A second import adds nothing and says so."""
    words = ("import", "profile", NSYS, "--set", "node=n1")
    first = run(*words)
    kept = store.rows(KEPT)
    again = run(*words)

    assert f"{len(kept)} values imported into store" in first
    assert f"0 values imported into {store.dsn.shown}" in again.replace("store ", "")
    assert f"{len(kept)} there already" in again
    assert kept == store.rows(KEPT)


def test_copies_by_direction(run: Run, store: Store) -> None:
    """What went to the card is `receive`, as PCIe counters call it; the sum is the profile's."""
    run("import", "profile", NSYS, "--set", "node=n1")
    rows = [row for row in store.rows(KEPT) if row["metric"] == "slatag.engine.copy_bytes"]

    assert {"receive"} == {row["attributes"]["network.io.direction"] for row in rows}
    assert {"0", "1"} == {row["device"] for row in rows}
    assert 136.0 == max(row["value"] for row in rows)


def test_what_is_missing_is_said(run: Run) -> None:
    """Nsight Systems knows no sizes of collectives: said, and with --strict nothing is imported."""
    words = ("import", "profile", NSYS, "--set", "node=n1")

    assert "how much its collectives carried" in " ".join(run(*words, "--dry-run").split())
    assert "nothing imported" in run(*words, "--strict", code=2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((NSYS,), "no node is given: --set node=NAME"),
        ((NSYS, "--set", "node=n1", "device=3"), "several devices (0, 1)"),
        ((NSYS, "--set", "node=n1", "rack=3"), "a profile has node, device, service"),
        ((NSYS, "--set", "node=n1", "--start", "noon"), "'noon' is no RFC 3339 moment"),
        (("--set", "node=n1"), "no FILE is given: otel-attrib import profile FILE --set node=NAME"),
        (("nowhere.json", "--set", "node=n1"), "cannot read nowhere.json"),
    ],
)
def test_usage(run: Run, words: tuple[str, ...], said: str) -> None:
    """What cannot be done is said in one line."""
    assert said in run("import", "profile", *words, code=2)


def test_start_places_a_profile_without_a_clock(run: Run, store: Store, tmp_path: Path) -> None:
    """--start is the moment of the first activity; without it a profile that has no clock is refused."""
    event = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 5, "dur": 10,
             "args": {"device": 0, "stream": 7}}  # fmt: skip
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [event]}))
    words = ("import", "profile", str(path), "--set", "node=n1", "device=GPU-7")

    assert "--start TIME" in run(*words, code=2)
    run(*words, "--start", "2026-05-26T08:00:00Z")
    shares = {row["attributes"]["slatag.activity"]: (row["us"], row["value"]) for row in store.rows(KEPT)}
    assert (1_779_782_400 * 10**6 + 10, 1.0) == shares["compute"]
    assert {"GPU-7"} == {row["device"] for row in store.rows(KEPT)}
