"""Counters on a grid of time: levels, rates, restarts, coarse readings and readings that cannot be."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics.evidence.board import Board, grid_of, read_board, read_boards
from otel_attrib.analytics.windows import Window

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
MINUTE = Window(NOON, NOON + timedelta(seconds=60))
START = MINUTE.bounds_us()["from_us"]
GPU = ("node0", "GPU-0")

Row = tuple[float, str, str, str, dict[str, str], float]


def table_of(rows: Sequence[Row]) -> pa.Table:
    """Samples of (seconds, metric, node, device, attributes, value) rows."""
    seconds, metric, node, device, attributes, value = zip(*rows, strict=True)
    return pa.table(
        {
            "time": pa.array([START + round(at * 1e6) for at in seconds], pa.timestamp("us", "UTC")),
            "metric": list(metric),
            "node": list(node),
            "device": list(device),
            "service": [""] * len(rows),
            "attributes": pa.array([list(a.items()) for a in attributes], pa.map_(pa.string(), pa.string())),
            "value": pa.array(value, pa.float64()),
        }
    )


def board(rows: Sequence[Row], window: Window = MINUTE) -> Board:
    """The board of such rows."""
    return read_board(table_of(rows), window)


def clock(at: float, mhz: float, **attributes: str) -> Row:
    """A reading of a card's clock."""
    return at, "hw.gpu.clock.graphics", *GPU, attributes, mhz


def replays(at: float, count: float, kind: str = "pcie_replay", **attributes: str) -> Row:
    """A reading of a card's total of errors."""
    return at, "hw.errors", *GPU, {"error.type": kind, **attributes}, count


def test_gauge_is_weighted_by_time() -> None:
    """A reading that held 1 s of 10 counts a ninth of one that held 9 s."""
    found = board([clock(0, 1000.0), clock(1, 2000.0), clock(10, 3000.0), clock(20, 3000.0)])

    assert 1900.0 == pytest.approx(found.take("gpu_clock", (GPU,))[0, 0])


def test_gauge_read_every_ten_seconds_covers_every_cell() -> None:
    """A coarse counter gives its level in each cell, whatever the phase of its readings."""
    found = board([clock(3 + 10 * k, 100.0 * k) for k in range(6)])

    assert [0.0, 100.0, 200.0, 300.0, 400.0, 500.0] == found.take("gpu_clock", (GPU,))[0].tolist()


def test_gauge_that_stopped_is_missing() -> None:
    """A reading is held for six cells and no longer: silence is not a level."""
    window = Window(NOON, NOON + timedelta(seconds=120))
    found = board([clock(0, 7.0)], window).take("gpu_clock", (GPU,))[0]

    assert ([7.0] * 7, True) == (found[:7].tolist(), bool(np.isnan(found[7:]).all()))


def test_total_is_a_rate() -> None:
    """The increase between two readings is spread over the time between them."""
    found = board([replays(0, 100.0), replays(60, 220.0)])

    assert [2.0] * 6 == pytest.approx(found.take("pcie_replays", (GPU,))[0].tolist())


def test_restart_counts_from_nought() -> None:
    """A total that fell was restarted: what it shows after is its increase, never a negative rate."""
    found = board([replays(0, 900.0), replays(10, 1000.0), replays(20, 50.0), replays(30, 150.0)])

    assert [10.0, 5.0, 10.0] == pytest.approx(found.take("pcie_replays", (GPU,))[0, :3].tolist())


def test_one_reading_of_a_total_says_nothing() -> None:
    """A rate needs two readings."""
    assert np.isnan(board([replays(5, 1e9)]).take("pcie_replays", (GPU,))).all()


def test_series_are_told_apart_by_attributes() -> None:
    """Two processes' totals interleaved are two series whose rates add up, not restarts."""
    rows = [replays(at, at * 1.0, pid="1") for at in range(0, 61, 10)]
    rows += [replays(at + 0.1, 1e6 - 60 + at * 2.0, pid="2") for at in range(0, 60, 10)]

    assert 3.0 == pytest.approx(board(rows).take("pcie_replays", (GPU,))[0, 2])


def test_select_tells_counters_apart() -> None:
    """One metric name holds several counters, told apart by an attribute."""
    rows = [replays(at, at * 1.0) for at in (0, 60)] + [replays(at, at * 5.0, "xid") for at in (0, 60)]
    found = board(rows)

    first = [float(found.take(key, (GPU,))[0, 0]) for key in ("pcie_replays", "xid")]

    assert [1.0, 5.0] == pytest.approx(first)


def test_what_cannot_be_is_refused_and_counted() -> None:
    """An idle card's 209,713 MB/s over PCIe is no measurement."""
    way = {"network.io.direction": "receive"}
    rows: list[Row] = [
        (at, "hw.gpu.pcie.throughput", *GPU, way, value)
        for at, value in ((0, 1e9), (10, 209_713e6), (20, 3e9), (30, float("nan")))
    ]
    found = board(rows)

    assert (2, [1e9, 1e9, 3e9]) == (
        found.refused["pcie_receive"],
        found.take("pcie_receive", (GPU,))[0, :3].tolist(),
    )


def test_clock_uncertainty_is_the_largest() -> None:
    """The worst clock of all samples counts, and does not split a series."""
    rows = [
        (at, "hw.errors", *GPU, {"error.type": "xid", "slatag.clock_uncertainty_us": str(at)}, at * 1.0)
        for at in (0, 30, 60)
    ]
    found = board([(float(row[0]), *row[1:]) for row in rows])

    assert 60.0 == found.uncertainty_us
    assert 1.0 == pytest.approx(found.take("xid", (GPU,))[0, 0])


def waits(at: float, total: float, **attributes: str) -> Row:
    """Run-queue wait of the host."""
    return at, "slatag.process.run_queue_wait", "node1", "", attributes, total


def test_processes_of_a_host_add_up() -> None:
    """The wait of a host is that of all its engine's processes together, never their mean."""
    roles = {"api_server": 0.01, "engine_core": 0.2, "worker": 0.3}
    rows = [
        waits(at, at * rate, **{"slatag.process.role": role})
        for at in range(0, 61, 5)
        for role, rate in roles.items()
    ]

    assert [pytest.approx(0.51)] * 6 == board(rows).take("run_queue_wait", (("node1", ""),))[0].tolist()


def test_two_sources_count_once() -> None:
    """The same wait read by /proc and by eBPF is one wait, and by the same source on both sides."""
    proc = [waits(at, 7 + at * 0.2) for at in range(0, 61, 5)]
    ebpf = [waits(at, at * 0.22, **{"slatag.source": "ebpf"}) for at in range(0, 61)]
    host = (("node1", ""),)

    assert [pytest.approx(0.22)] * 6 == board(proc + ebpf).take("run_queue_wait", host)[0].tolist()
    before, after = read_boards((table_of(proc), MINUTE), (table_of(proc + ebpf), MINUTE))
    assert [pytest.approx(0.2)] * 6 == before.take("run_queue_wait", host)[0].tolist()
    assert [pytest.approx(0.2)] * 6 == after.take("run_queue_wait", host)[0].tolist()


def test_a_source_that_another_took_over_from() -> None:
    """Where the sides have no source in common, each is read by its own rather than not at all."""
    proc = [waits(at, 7 + at * 0.2) for at in range(0, 61, 5)]
    ebpf = [waits(at, at * 0.22, **{"slatag.source": "ebpf"}) for at in range(0, 61)]
    before, after = read_boards((table_of(proc), MINUTE), (table_of(ebpf), MINUTE))

    assert [pytest.approx(0.2)] * 6 == before.take("run_queue_wait", (("node1", ""),))[0].tolist()
    assert [pytest.approx(0.22)] * 6 == after.take("run_queue_wait", (("node1", ""),))[0].tolist()


def test_links_of_a_card_add_up() -> None:
    """Throughput that is read link by link is the sum of the links."""
    rows = [
        (float(at), "hw.gpu.interconnect.throughput", *GPU,
         {"network.io.direction": "receive", "slatag.link": link}, 2e9)
        for at in range(60) for link in ("0", "1", "2")
    ]  # fmt: skip

    assert [6e9] * 6 == board(rows).take("nvlink_receive", (GPU,))[0].tolist()


def test_order_of_rows_does_not_matter() -> None:
    """The same samples shuffled give the same bytes."""
    rng = np.random.default_rng(5)
    rows = [replays(at, at * 1.5, pid=str(at % 3)) for at in range(60)]
    rows += [clock(at, 1000.0 + at) for at in range(60)]
    shuffled = [rows[place] for place in rng.permutation(len(rows))]
    first, second = board(rows), board(shuffled)

    assert {key: grid.tobytes() for key, grid in first.values.items()} == {
        key: grid.tobytes() for key, grid in second.values.items()
    }


def test_nothing_sampled() -> None:
    """Without samples nothing was read, and nothing is nought."""
    found = read_board(pa.table({}), MINUTE)

    assert ({}, True) == (found.values, bool(np.isnan(found.take("gpu_clock", (GPU,))).all()))


@pytest.mark.parametrize(("seconds", "cells"), [(60, 6), (65, 7), (1200, 120), (7200, 120)])
def test_grid(seconds: int, cells: int) -> None:
    """Cells are 10 s, longer where there would be more than 120; they cover the window."""
    window = Window(NOON, NOON + timedelta(seconds=seconds))
    grid = grid_of(window)
    edges = grid.edges()

    assert (cells, True, {grid.cell_us}) == (
        grid.cells,
        bool(edges[-1] >= window.bounds_us()["to_us"]),
        {int(b - a) for a, b in pairwise(edges)},
    )


def test_rates_integrate_to_the_increase() -> None:
    """Over irregular readings the rates times the cells' length give back the whole increase."""
    rng = np.random.default_rng(9)
    at = np.unique(np.concatenate([[0.0, 60.0], np.sort(rng.random(40) * 60).round(3)]))
    grown = np.cumsum(rng.exponential(3.0, at.size))
    found = board([replays(t, v) for t, v in zip(at.tolist(), grown.tolist(), strict=True)])

    assert grown[-1] - grown[0] == pytest.approx(10 * found.take("pcie_replays", (GPU,))[0].sum())
