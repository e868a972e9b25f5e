"""The tables' own points come back exactly, and between them nothing leaves its neighbours."""

import csv
import gzip
from importlib.resources import files

import pytest

from otel_attrib.analytics.profiles.collective_tables import measured, table_of

RAW = files("otel_attrib.analytics.profiles").joinpath("data", "collectives.csv.gz").read_bytes()
ROWS = list(csv.DictReader(gzip.decompress(RAW).decode().splitlines()))


def test_every_point_is_exact() -> None:
    """All 3,820 measured points, read here a second time, are answered with their own time."""
    wrong = []
    for row in ROWS:
        library = row["library"].split()[0]
        width = 1 if row["dtype"] == "int8" else 2
        size = int(row["bytes"])
        found = measured(row["card"], library, row["collective"], width, int(row["ranks"]), size)
        if float(row["us"]) != found.us:
            wrong.append((row, found))

    assert 3820 == len(ROWS)
    assert [] == wrong


def test_halfway_is_the_geometric_mean() -> None:
    """At the geometric mean of two sizes the time is the geometric mean of theirs (a line in logarithms)."""
    table = table_of("h100_sxm", "NCCL", "all_reduce", 2, 8)
    assert table is not None
    place = len(table.bytes) // 2
    low, high = table.bytes[place], table.bytes[place + 2]
    assert high == 4 * low
    sparse = type(table)(table.library, table.dtype, (low, high), (table.us[place], table.us[place + 2]))

    assert (table.us[place] * table.us[place + 2]) ** 0.5 == pytest.approx(sparse.time_us(2 * low))


def test_beyond_the_ends() -> None:
    """Smaller than measured takes as long as the smallest; larger grows with its bytes."""
    table = table_of("a100_sxm", "NCCL", "all_gather", 2, 4)
    assert table is not None

    assert table.us[0] == table.time_us(1)
    assert 3 * table.us[-1] == pytest.approx(table.time_us(3 * table.bytes[-1]))


def test_bus_bandwidth_of_eight_h100() -> None:
    """The largest all-reduce in halves ran at 445 GB/s on the bus: bytes are bytes, not elements."""
    table = table_of("h100_sxm", "NCCL", "all_reduce", 2, 8)
    assert table is not None

    assert 512 * 2**20 == table.bytes[-1]
    assert 445 == pytest.approx(table.bytes[-1] * 2 * 7 / 8 / table.us[-1] / 1e3, abs=1)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (("", "NCCL", "all_reduce", 2, 8, 1024), "no table for this card"),
        (
            ("h100_sxm", "NCCL", "all_reduce", 2, 3, 1024),
            "no NCCL table of all_reduce with 3 ranks for h100_sxm",
        ),
        (
            ("h100_sxm", "NCCL", "broadcast", 2, 8, 1024),
            "no NCCL table of broadcast with 8 ranks for h100_sxm",
        ),
    ],
)
def test_says_what_is_not_measured(question: tuple[str, str, str, int, int, int], said: str) -> None:
    """Where there is no measurement there is no time, and the reason is told."""
    found = measured(*question)

    assert (None, said) == (found.us, found.source)
