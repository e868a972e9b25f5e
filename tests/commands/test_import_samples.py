"""Somebody else's counters, imported: every value against the file's own, in the registry's unit."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from otel_attrib.schema.store import Store

Run = Callable[..., str]
T0 = 1_777_142_838
KEPT = "SELECT toUnixTimestamp(time) AS at, metric, node, device, attributes, value FROM samples ORDER BY ALL"


def written(path: Path, text: str) -> str:
    """A file with this text."""
    path.write_text(text)
    return str(path)


def stored(store: Store) -> list[tuple[Any, ...]]:
    """What `samples` holds."""
    return [(r["at"] - T0, r["metric"], r["node"], r["device"], r["value"]) for r in store.rows(KEPT)]


def test_wide_columns_become_samples(run: Run, store: Store, tmp_path: Path) -> None:
    """Each cell of a mapped column is one sample, converted as declared; an empty cell is none."""
    file = written(
        tmp_path / "dmon.csv",
        f"ts,host,gpu,pclk,rxpci,thr_ms,note\n{T0},n1,GPU-0,1.98,1200,15,x\n{T0 + 1},n1,GPU-0,1.41,,30,y\n",
    )
    account = json.loads(
        run(
            "import", "samples", file, "--map", "time=ts", "node=host", "device=gpu", "gpu_clock=pclk",
            "pcie_receive=rxpci", "gpu_throttle_time=thr_ms",
            "--unit", "gpu_clock:GHz", "pcie_receive:MB/s", "gpu_throttle_time:ms", "--json",
        )
    )  # fmt: skip

    assert (5, 0, "wide", ["note"]) == (
        account["imported"],
        account["bad"],
        account["form"],
        account["unused_columns"],
    )
    assert [
        (0, "hw.gpu.clock.graphics", "n1", "GPU-0", 1980.0),
        (0, "hw.gpu.pcie.throughput", "n1", "GPU-0", 1.2e9),
        (0, "slatag.gpu.throttle_time", "n1", "GPU-0", 0.015),
        (1, "hw.gpu.clock.graphics", "n1", "GPU-0", 1410.0),
        (1, "slatag.gpu.throttle_time", "n1", "GPU-0", 0.03),
    ] == [(*row[:4], pytest.approx(row[4])) for row in stored(store)]
    (way,) = store.rows("SELECT attributes FROM samples WHERE metric = 'hw.gpu.pcie.throughput'")
    assert "receive" == way["attributes"]["network.io.direction"]


def test_long_rows_become_samples(run: Run, store: Store, tmp_path: Path) -> None:
    """Words are translated as mapped, names of the registry pass, others are kept under their own name."""
    lines = [
        {"t": T0 * 1000, "name": "SM_CLOCK", "v": 1980},
        {"t": T0 * 1000, "name": "hw.gpu.power.draw", "v": 300},
        {"t": T0 * 1000, "name": "fan", "v": 0.4},
    ]
    file = written(tmp_path / "long.jsonl", "\n".join(map(json.dumps, lines)))
    told = run(
        "import", "samples", file, "--map", "time=t", "metric=name", "value=v", "gpu_clock=SM_CLOCK",
        "--set", "node=n1", "device=GPU-1", "--unit", "time:ms",
    )  # fmt: skip

    assert "3 values imported into store" in told.splitlines()[0]
    assert any("no rule" in line and "fan 1" in line for line in told.splitlines())
    assert [
        (0, "fan", "n1", "GPU-1", 0.4),
        (0, "hw.gpu.clock.graphics", "n1", "GPU-1", 1980.0),
        (0, "hw.gpu.power.draw", "n1", "GPU-1", 300.0),
    ] == stored(store)


def test_parquet_and_names_that_map_themselves(run: Run, store: Store, tmp_path: Path) -> None:
    """Columns called like ours need no --map, and Parquet's times are times."""
    table = pa.table(
        {
            "time": pa.array([T0 * 10**6], pa.timestamp("us", "UTC")),
            "node": ["n1"],
            "tcp_retransmits": [7],
        }
    )
    parquet.write_table(table, tmp_path / "host.parquet")
    run("import", "samples", str(tmp_path / "host.parquet"))

    assert [(0, "system.network.retransmits", "n1", "", 7.0)] == stored(store)


def test_what_no_device_can_do_is_refused(run: Run, store: Store, tmp_path: Path) -> None:
    """An idle card's 209,713 MB/s over PCIe is counted as bad, named, and not stored; the row's rest is."""
    file = written(
        tmp_path / "idle.csv", f"time,node,device,pcie_receive,gpu_power\n{T0},n1,GPU-0,209713,60\n"
    )
    words = ("import", "samples", file, "--unit", "pcie_receive:MB/s")
    account = json.loads(run(*words, "--json"))

    assert (1, 1) == (account["imported"], account["bad"])
    assert "pcie_receive is 2.09713e+11 By/s, more than any device can do" in account["bad_rows"][0]["reason"]
    assert [(0, "hw.gpu.power.draw", "n1", "GPU-0", 60.0)] == stored(store)
    assert "nothing imported" in run(*words, "--strict", code=1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--map", "clock=a"), "no such name; there are time, node"),
        (("--map", "time=nope"), "no column nope; the table has a, b"),
        (("--map", "gpu_clock=a"), "no time is mapped"),
        (("--map", "time=a"), "no counter is mapped"),
        (("--map", "time=a", "metric=b"), "needs --map value=COLUMN"),
        (("--map", "time=a", "gpu_clock=b", "--unit", "gpu_clock:parsec"), "gpu_clock is in MHz; write one"),
        (("--map", "time=a", "gpu_clock=b", "--unit", "GHz"), "write NAME:UNIT"),
        (("--map", "time=a", "gpu_clock=b", "--set", "rack=7"), "only node, device, service"),
        (("--map", "time=a", "time=b"), "time is given twice"),
    ],
)
def test_mistakes_are_named(run: Run, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    """Every wrong word is one line that says what is possible, exit code 2."""
    file = written(tmp_path / "t.csv", f"a,b\n{T0},1\n")

    assert said in run("import", "samples", file, *words, code=2)


def test_dry_run_writes_nothing(run: Run, store: Store, tmp_path: Path) -> None:
    """--dry-run counts the values and leaves the store as it was."""
    file = written(tmp_path / "t.csv", f"time,node,cpu_pressure\n{T0},n1,1\n{T0 + 1},n1,nan\n")
    told = run("import", "samples", file, "--dry-run")

    assert "1 value in t.csv; nothing written (dry run)" == told.splitlines()[0]
    assert [] == stored(store)
