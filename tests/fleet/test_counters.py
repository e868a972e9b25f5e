"""Counters of a simulation: the registry's, within its bounds, moved by the faults they are evidence of."""

import numpy as np
import polars as pl
import pytest

from otel_attrib.analytics.columns import Floats
from otel_attrib.fleet import Simulation, load_scenario, simulate
from otel_attrib.fleet.faults import FAMILIES, family_named
from otel_attrib.schema.counters import COUNTERS, counter_named

# Of each family, the counters that must move, and which way; the engine's own settings have none.
OWN = {
    "clock_throttle": {"gpu_clock": -1, "gpu_throttle_time": 1, "gpu_throttled": 1},
    "power_cap": {"gpu_clock": -1, "gpu_power_limit": -1},
    "hbm_bandwidth": {"remapped_rows": 1},
    "pcie_width": {"pcie_width": -1, "copy_time": 1},
    "pcie_generation": {"pcie_generation": -1, "copy_time": 1},
    "pcie_replay_storm": {"pcie_replays": 1, "copy_time": 1},
    "pcie_neighbour": {"pcie_receive": 1, "copy_time": 1},
    "nvlink_degraded": {"nvlink_crc": 1, "nvlink_replays": 1, "collective_time": 1},
    "nvlink_inactive": {"nvlink_links": -1, "collective_time": 1},
    "nvlink_neighbour": {"nvlink_receive": 1, "collective_time": 1},
    "cpu_steal": {"cpu_steal": 1},
    "cpu_hog": {"run_queue_wait": 1, "cpu_pressure": 1, "cpu_utilization": 1},
    "cgroup_quota": {"cpu_throttled": 1},
    "gc_pause": {"gc_time": 1},
    "cpu_clock": {"cpu_clock": -1},
    "tokenizer": {"tokenize_cpu": 1},
    "packet_loss": {"tcp_retransmits": 1, "tcp_rtt": 1},
    "rtt": {"tcp_rtt": 1},
    "slow_client": {"tcp_zero_window": 1, "send_queue": 1},
}


def readings(found: Simulation, key: str) -> Floats:
    """(2,) the counter at the first card or host in baseline and current: a gauge's mean, a total's rate."""
    counter = counter_named(key)
    frame = pl.DataFrame(found.samples.drop(["attributes"])).with_columns(
        said=pl.Series([dict(pairs) for pairs in found.samples["attributes"].to_pylist()], dtype=pl.Object)
    )
    chosen = frame.filter(
        (pl.col("metric") == counter.metric)
        & (pl.col("node") == "node-0")
        & (pl.col("device") == ("GPU-0" if counter.per_device else ""))
    )
    if counter.select:
        name, value = counter.select
        chosen = chosen.filter(pl.Series([said.get(name) == value for said in chosen["said"]]))
    means = []
    for window in found.windows:
        inside = chosen.filter((pl.col("time") >= window.start) & (pl.col("time") < window.end))[
            "value"
        ].to_numpy()
        means.append(inside.mean() if counter.kind == "gauge" else (inside[-1] - inside[0]) / len(inside))
    return np.array(means)


@pytest.mark.parametrize("family", OWN)
def test_faults_move_their_own_counters(family: str) -> None:
    """Each fault moves the counters that are evidence of it by more than a tenth, the right way."""
    found = simulate(load_scenario(family.replace("_", "-"), ("windows.requests=2500",)), 1)
    for key, way in OWN[family].items():
        before, after = readings(found, key)

        assert way == np.sign(after - before), key
        assert abs(after - before) > 0.1 * abs(before), key


def test_every_family_with_own_counters_is_tested() -> None:
    """Only the scheduler's faults have no counter of a card or host."""
    assert {family.name for family in FAMILIES if family.layer != "scheduler"} == set(OWN)


def test_own_counters_are_the_layers() -> None:
    """Of the counters that must move, one at least is registered as evidence for the fault's layer."""
    for family, own in OWN.items():
        assert family_named(family).layer in {counter_named(key).layer for key in own}


@pytest.fixture(scope="module")
def quiet() -> Simulation:
    """A fleet with NVLink in use in which nothing happens."""
    return simulate(load_scenario("decoy-nvlink-crc", ("windows.requests=600",)).without_faults(), 1)


def test_the_whole_registry_is_read(quiet: Simulation) -> None:
    """Every registered counter has readings where there are NVLinks and collectives."""
    assert {counter.metric for counter in COUNTERS} == set(quiet.samples["metric"].to_pylist())


def test_readings_are_possible(quiet: Simulation) -> None:
    """No reading is below zero or above what the registry takes for a measurement."""
    frame = pl.DataFrame(quiet.samples.drop(["attributes"]))
    most = {counter.metric: counter.most for counter in COUNTERS}

    assert frame["value"].to_numpy().min() >= 0
    assert all(value <= most[metric] for metric, value in zip(frame["metric"], frame["value"], strict=True))


def test_totals_only_grow(quiet: Simulation) -> None:
    """What counts up never falls."""
    totals = {counter.metric for counter in COUNTERS if counter.kind == "total"}
    frame = pl.DataFrame(quiet.samples.drop(["attributes"])).with_columns(
        said=pl.Series([str(pairs) for pairs in quiet.samples["attributes"].to_pylist()])
    )
    steps = (
        frame.filter(pl.col("metric").is_in(list(totals)))
        .sort("time")
        .select(pl.col("value").diff().over("metric", "node", "device", "said"))
    )

    assert steps["value"].drop_nulls().to_numpy().min() >= 0


@pytest.mark.parametrize("decoy", ["throttle_flag", "pcie_replays", "retransmits", "utilization", "cpu_busy"])
def test_decoys_cost_nothing(decoy: str) -> None:
    """A decoy changes readings and not one latency."""
    name = f"decoy-{decoy.replace('_', '-')}"
    with_it = simulate(load_scenario(name, ("windows.requests=300",)), 2)
    scenario = load_scenario("null-stationary", ("windows.requests=300",))
    without = simulate(scenario, 2)

    np.testing.assert_array_equal(without.run.delivered, with_it.run.delivered)
    assert not without.samples["value"].equals(with_it.samples["value"])


def test_sensors_as_asked() -> None:
    """Missing layers have no readings, coarse sensors read seldom, a skewed node's clock is ahead."""
    small = ("windows.baseline=40", "windows.current=40", "windows.warmup=0", "workload.rate=5")
    plain = simulate(load_scenario("null-stationary", small), 1)
    missing = simulate(load_scenario("null-stationary", (*small, 'sensors.missing=["gpu", "tcp_rtt"]')), 1)
    coarse = simulate(load_scenario("null-stationary", (*small, "sensors.interval=10")), 1)
    skewed = simulate(
        load_scenario("null-stationary", (*small, "sensors.skew=3", 'sensors.skewed=["node-1"]')), 1
    )
    gone = {counter.metric for counter in COUNTERS if counter.layer == "gpu"} - {"hw.errors"} | {
        "slatag.tcp.rtt"
    }

    assert set() == gone & set(missing.samples["metric"].to_pylist())
    assert len(plain.samples) == 10 * len(coarse.samples)
    ahead = pl.DataFrame(
        {"node": skewed.samples["node"], "t": skewed.samples["time"], "u": plain.samples["time"]}
    )
    shifts = ahead.with_columns((pl.col("t") - pl.col("u")).dt.total_milliseconds().alias("by"))
    assert {("node-0", 0), ("node-1", 3000)} == set(shifts.select("node", "by").unique().iter_rows())
