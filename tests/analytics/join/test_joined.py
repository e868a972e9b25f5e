"""All counters of places: what is added, what is averaged, which source counts, which clock forbids."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics.evidence.series import one_source, read_series
from otel_attrib.analytics.join.clocks import read_clocks
from otel_attrib.analytics.join.joined import Joined, join
from otel_attrib.schema.context_counters import EVERY_COUNTER, registered

SECOND = 1_000_000
Row = tuple[int, str, str, str, float, dict[str, str]]


def table(rows: Sequence[Row]) -> pa.Table:
    """Samples of (second, key, node, device, value, attributes)."""
    counters = [registered(row[1]) for row in rows]
    attributes = [
        list((row[5] | (dict([counter.select]) if counter.select else {})).items())
        for row, counter in zip(rows, counters, strict=True)
    ]
    return pa.table(
        {
            "time": pa.array([row[0] * SECOND for row in rows], pa.int64()).cast(pa.timestamp("us", "UTC")),
            "metric": [counter.metric for counter in counters],
            "node": [row[2] for row in rows],
            "device": [row[3] for row in rows],
            "service": [""] * len(rows),
            "attributes": pa.array(attributes, pa.map_(pa.string(), pa.string())),
            "value": pa.array([row[4] for row in rows], pa.float64()),
        }
    )


def joined(
    rows: Sequence[Row], places: Sequence[tuple[str, str]], **more: Any
) -> dict[tuple[str, str], Joined]:
    """Every counter of these places from second 2 to second 6, by key and device."""
    (readings,) = one_source(read_series(table(rows), EVERY_COUNTER)[0])
    found = join(readings, places, np.array([2 * SECOND]), np.array([6 * SECOND]), **more)
    return {(each.counter.key, each.place[1]): each for each in found}


def total(key: str, rate: float, device: str = "", node: str = "n1", **attributes: str) -> list[Row]:
    """A total that grows by `rate` a second, read every second."""
    named = {name.replace("__", "."): value for name, value in attributes.items()}
    return [(second, key, node, device, 100 + rate * second, named) for second in range(10)]


def test_processes_of_a_host_add_up() -> None:
    """Run-queue wait of a host is the sum over the engine's processes, never their mean."""
    rows = [
        row
        for role, rate in (("api_server", 0.01), ("engine_core", 0.2), ("worker", 0.3))
        for row in total("run_queue_wait", rate, slatag__process__role=role)
    ]

    found = joined(rows, [("n1", "")])["run_queue_wait", ""]

    assert (pytest.approx(4 * 0.51), 3, 1.0) == (
        found.measured.value[0], found.series[0], found.measured.coverage[0]
    )  # fmt: skip


def test_a_process_that_begins_meanwhile() -> None:
    """A process that starts inside the stretch adds what it was seen to add."""
    rows = total("run_queue_wait", 0.1, process__pid="1") + total("run_queue_wait", 0.2, process__pid="2")[4:]

    assert (
        pytest.approx(4 * 0.1 + 2 * 0.2) == joined(rows, [("n1", "")])["run_queue_wait", ""].measured.value[0]
    )


def test_links_and_reasons_add_up_and_levels_do_not() -> None:
    """Gauges of one card: link throughputs and throttle reasons are added, temperatures averaged."""
    rows: list[Row] = []
    for second in range(10):
        for link in ("0", "1"):
            rows.append((second, "nvlink_receive", "n1", "0", 2e9, {"slatag.link": link}))
        for reason in ("power", "thermal"):
            rows.append((second, "gpu_throttled", "n1", "0", 0.7, {"hw.gpu.throttle_reasons": reason}))
        for sensor, degrees in (("a", 60.0), ("b", 70.0)):
            rows.append((second, "gpu_temperature", "n1", "0", degrees, {"hw.name": sensor}))

    found = joined(rows, [("n1", "0")])

    assert {
        ("nvlink_receive", "0"): pytest.approx(4e9),
        ("gpu_throttled", "0"): 1.0,
        ("gpu_temperature", "0"): pytest.approx(65.0),
    } == {key: each.measured.value[0] for key, each in found.items()}


def test_reasons_that_hold_at_once() -> None:
    """A card is never throttled for longer than the time that passed, however its reasons overlap."""
    rows = [
        row
        for reason in ("power", "thermal")
        for row in total("gpu_throttle_time", 0.8, "0", hw__gpu__throttle_reasons=reason)
    ]

    assert pytest.approx(4.0) == joined(rows, [("n1", "0")])["gpu_throttle_time", "0"].measured.value[0]


def test_two_sources_count_once() -> None:
    """The same wait by eBPF and by /proc is the wait, not twice; the one read more often is taken."""
    rows = total("run_queue_wait", 0.2) + total("run_queue_wait", 0.21, slatag__source="ebpf")[:9]

    assert pytest.approx(0.8) == joined(rows, [("n1", "")])["run_queue_wait", ""].measured.value[0]


def test_what_is_no_measurement_does_not_count() -> None:
    """An idle card that reports more than PCIe can carry is passed over."""
    rows: list[Row] = [(second, "pcie_receive", "n1", "0", 1e9, {}) for second in range(10)]
    rows[4] = (4, "pcie_receive", "n1", "0", 2.1e17, {})

    assert pytest.approx(1e9) == joined(rows, [("n1", "0")])["pcie_receive", "0"].measured.value[0]


def test_another_clock() -> None:
    """On a clock that may be off, bounds widen; by a quarter of the stretch, or unknown, nothing is said."""
    rows = total("gpu_throttle_time", 0.5, "0", "n2")
    place = [("n2", "0")]
    exact, wide, lost = (
        joined(rows, place, slack=lambda node, us=us: us)["gpu_throttle_time", "0"].measured
        for us in (0.0, 500_000.0, 1_000_001.0)
    )

    assert (2.0, 2.0, 2.0) == (exact.value[0], exact.low[0], exact.high[0])
    assert (2.0, 1.0, 3.0) == (wide.value[0], wide.low[0], wide.high[0])
    assert np.isnan(lost.value[0])
    assert 0.0 == lost.coverage[0]
    assert {} == joined(rows, place, slack=lambda node: None)


def test_what_nodes_say_of_their_clocks() -> None:
    """The counter in seconds and the attribute in µs, the larger of both; silence is no zero."""
    rows: list[Row] = [
        (0, "clock_uncertainty", "n1", "", 0.0004, {}),
        (1, "clock_uncertainty", "n1", "", 0.0009, {}),
        (0, "cpu_utilization", "n2", "", 0.5, {"slatag.clock_uncertainty_us": "250"}),
        (0, "cpu_utilization", "n3", "", 0.5, {}),
    ]
    samples = table(rows)

    clocks = read_clocks(samples, read_series(samples, EVERY_COUNTER)[0])

    assert {"n1": pytest.approx(900.0), "n2": 250.0} == clocks.by_node


def test_a_reading_keeps_its_series_when_its_clock_gets_better() -> None:
    """The attribute of the clock's quality does not part a series, so its total goes on."""
    rows = total("gpu_throttle_time", 0.5, "0")
    rows = [(*row[:5], {"slatag.clock_uncertainty_us": str(row[0])}) for row in rows]

    found = joined(rows, [("n1", "0")])["gpu_throttle_time", "0"]

    assert (2.0, 1) == (found.measured.value[0], found.series[0])
