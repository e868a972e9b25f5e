"""Reading Nsight Systems exports: two versions' tables, read only, and damage."""

import gzip
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from otel_attrib.analytics.profiles.read import read_profile
from otel_attrib.analytics.profiles.timeline import UNKNOWN, Direction, Kind, Profile
from otel_attrib.errors import DataError

FIXTURES = Path(__file__).parents[2] / "fixtures/nsys"
OLD = """
CREATE TABLE StringIds (id INTEGER, value TEXT);
INSERT INTO StringIds VALUES (1, 'ampere_sgemm_128x64_nn'), (2, 'cudaLaunchKernel_v7000'), (3, 'my range');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, "end" INTEGER, deviceId INTEGER, contextId INTEGER,
    streamId INTEGER, correlationId INTEGER, shortName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER,
    blockX INTEGER, blockY INTEGER, blockZ INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 1500, 0, 1, 7, 11, 1, 4, 2, 1, 128, 1, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, "end" INTEGER, deviceId INTEGER,
    streamId INTEGER, correlationId INTEGER, graphId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (2000, 2600, 0, 7, 12, 5);
CREATE TABLE NVTX_EVENTS (start INTEGER, "end" INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER);
INSERT INTO NVTX_EVENTS VALUES (900, 3000, 59, 'step 4', 281477392629904), (950, NULL, 34, 'mark', 0),
    (960, 980, 59, 'aten::mm, op_id = 7, sizes = [[2, 3], [3, 4]]', 281477392629904);
"""


def export(path: Path, script: str) -> Path:
    """An export made of SQL."""
    database = sqlite3.connect(path)
    database.executescript(script)
    database.close()
    return path


def test_the_recorded_pair(recorded: Callable[[str], Profile]) -> None:
    """Rows, sizes, devices and processes of a real export are those that SQL counts in it."""
    found = recorded("nsys/mfu_2gpu_before.sqlite.gz")
    ran, copies = found.activities, found.activities.take(found.activities.kind == Kind.COPY)

    assert {Kind.KERNEL: 4010, Kind.COPY: 1020, Kind.MEMSET: 269} == {
        kind: int((ran.kind == kind).sum()) for kind in (Kind.KERNEL, Kind.COPY, Kind.MEMSET)
    }
    assert 2 * 4023067136 == int(copies.bytes[copies.direction == Direction.D2D].sum())
    assert {"Memcpy HtoD (Pageable -> Device)": 34, "Memcpy DtoD (Device -> Device)": 986} == {
        found.names[code]: int((copies.name == code).sum()) for code in set(copies.name.tolist())
    }
    assert 7466 == len(found.launches)
    assert 2 == len(set(ran.process.tolist()))
    assert "cudaStreamSynchronize" in found.names
    assert {"nsys"} == {found.source}


def test_the_wall_clock_of_the_recorded_pair(recorded: Callable[[str], Profile]) -> None:
    """The start of the capture is placed by its reading of the target's clock."""
    found = recorded("nsys/mfu_2gpu_before.sqlite.gz")

    # utcEpochNs - systemClockNs of TARGET_INFO_SESSION_START_TIME
    assert 1779782330176752435 - 28254349605 == found.wall_base_ns


def test_an_old_export(tmp_path: Path) -> None:
    """Without globalPid, copies, calls and devices the rest is read, and what is not there is said."""
    found = read_profile(export(tmp_path / "old.sqlite", OLD))

    assert [Kind.KERNEL, Kind.GRAPH] == found.activities.kind.tolist()
    assert ["ampere_sgemm_128x64_nn", "CUDA graph 5"] == [found.names[code] for code in found.activities.name]
    assert (8, 128, 500) == tuple(
        int(column[0])
        for column in (found.activities.blocks, found.activities.threads, found.activities.duration_ns)
    )
    assert (0, None, ()) == (len(found.launches), found.wall_base_ns, found.devices)
    assert {UNKNOWN} == set(found.activities.bytes.tolist())
    assert ["step 4"] == [found.names[code] for code in found.ranges.name]
    assert ["aten::mm"] == [found.names[code] for code in found.ops.name]
    assert "[[2, 3], [3, 4]]" == found.shapes[0].dims
    assert [
        "no calls of the runtime: waiting for the host is not told from other idle time",
        "no device properties: the card's name and size are not known",
        "whole CUDA graphs only: record with `--cuda-graph-trace=node` to see their kernels",
    ] == list(found.missing)


def test_devices(tmp_path: Path) -> None:
    """The cards' names and sizes are read where the export has them."""
    gpu = """
    CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER,
        computeMajor INTEGER, computeMinor INTEGER);
    INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100 80GB HBM3', 85018279936, 132, 9, 0);
    """
    card = read_profile(export(tmp_path / "gpu.sqlite", OLD + gpu)).device(0)

    assert ("NVIDIA H100 80GB HBM3", 132, 85018279936, "9.0") == (
        card.name,
        card.sms,
        card.memory_bytes,
        card.compute,
    )


def test_reading_leaves_no_trace(tmp_path: Path) -> None:
    """The export is opened read only: its bytes stay, and nothing appears beside it."""
    path = export(tmp_path / "old.sqlite", OLD)
    before = path.read_bytes()
    read_profile(path)

    assert before == path.read_bytes()
    assert [path] == list(tmp_path.iterdir())


def test_other_sqlite_is_refused(tmp_path: Path) -> None:
    """A database of something else is named as such."""
    with pytest.raises(DataError, match="no export of Nsight Systems"):
        read_profile(export(tmp_path / "x.sqlite", "CREATE TABLE t (a); INSERT INTO t VALUES (1)"))


def test_a_cut_export_is_refused(tmp_path: Path) -> None:
    """A database that lacks its end is damaged, packed or not."""
    whole = gzip.decompress((FIXTURES / "mfu_2gpu_before.sqlite.gz").read_bytes())
    plain, packed = tmp_path / "cut.sqlite", tmp_path / "cut.sqlite.gz"
    plain.write_bytes(whole[:1_000_000])
    packed.write_bytes(gzip.compress(whole)[:300_000])

    with pytest.raises(DataError, match=r"cut\.sqlite is a damaged SQLite file"):
        read_profile(plain)
    with pytest.raises(DataError, match=r"cut\.sqlite\.gz is a damaged gzip file"):
        read_profile(packed)


@pytest.mark.parametrize(
    ("row", "missing"),
    [
        ("1600, NULL, 0", "1 activities without a sound start and end were left out"),
        ("1600, 1550, 0", "1 activities without a sound start and end were left out"),
        ("-5, 1550, 0", "1 activities without a sound start and end were left out"),
        ("1600, 1650, NULL", "1 activities of a device without a number were left out"),
    ],
    ids=["no end", "reversed", "negative", "no device"],
)
def test_a_row_that_has_no_place_is_left_out_and_told(row: str, missing: str, tmp_path: Path) -> None:
    """A kernel without a sound start, end or device is counted, the rest is read."""
    more = f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({row}, 0, 7, 12, 1, 4, 2, 1, 128, 1, 1);"
    found = read_profile(export(tmp_path / "old.sqlite", OLD + more))

    assert [1000, 2000] == found.activities.start_ns.tolist()
    assert missing in found.missing
