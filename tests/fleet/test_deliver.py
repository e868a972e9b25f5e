"""A simulation in a store: the wire's own path and the tables straight in leave the same rows."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from otel_attrib.collector.imports.store_delivery import StoreDelivery
from otel_attrib.fleet import Simulation, load_scenario, simulate
from otel_attrib.fleet.deliver import deliver, deliver_fast, stored_requests, write_parquet
from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.store import Store, open_store

TABLES = {
    "requests": ("trace_id",),
    "steps": ("replica", "step"),
    "samples": ("metric", "node", "device", "attributes", "time"),
    "marks": ("time",),
}


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    """A few requests with copies from the host among them, and a deploy."""
    small = ("windows.requests=60", "windows.warmup=1", "fleet.host_cache_share=0.5")
    return simulate(load_scenario("tokenizer", small), 3)


def stored(name: str, put: Callable[[Store], object]) -> dict[str, pl.DataFrame]:
    """Every table of a store of its own after `put`, in a stable order."""
    with open_store(f"chdb://memory/fleet_{name}") as store:
        migrate(store)
        put(store)
        columns = {
            "samples": "* REPLACE (toString(attributes) AS attributes)",
            "marks": "* EXCEPT attributes",
        }
        return {
            table: pl.DataFrame(store.arrow(f"SELECT {columns.get(table, '*')} FROM {table}")).sort(key)
            for table, key in TABLES.items()
        }


@pytest.fixture(scope="module")
def both(simulation: Simulation) -> tuple[dict[str, pl.DataFrame], dict[str, pl.DataFrame]]:
    """The rows by the wire and the rows by tables."""
    wire = stored("wire", lambda store: deliver(simulation, StoreDelivery(store), lambda done: None))
    fast = stored("fast", lambda store: deliver_fast(simulation, store, lambda done: None))
    return wire, fast


@pytest.mark.parametrize("table", TABLES)
def test_both_ways_leave_the_same_rows(
    both: tuple[dict[str, pl.DataFrame], dict[str, pl.DataFrame]], table: str
) -> None:
    """Words and counts are equal, times within the microsecond to which steps are packed."""
    wire, fast = (way[table] for way in both)

    assert wire.height == fast.height > 0
    assert wire.columns == fast.columns
    for name in wire.columns:
        ours, theirs = wire[name], fast[name]
        assert ours.is_null().to_list() == theirs.is_null().to_list(), name
        if name == "gaps_us":
            assert ours.list.len().to_list() == theirs.list.len().to_list()
            close = np.isclose(ours.explode().to_numpy(), theirs.explode().to_numpy(), rtol=1e-4)
            assert close.mean() > 0.999  # a gap within a nanosecond of a bucket's edge may be in the next
        elif ours.dtype.is_float():
            np.testing.assert_allclose(ours.to_numpy(), theirs.to_numpy(), atol=1.0, err_msg=name)
        elif ours.dtype.is_temporal():
            assert (ours - theirs).abs().dt.total_microseconds().to_numpy().max() <= 2
        else:
            assert ours.to_list() == theirs.to_list(), name


def test_requests_are_exact_to_the_nanosecond(
    both: tuple[dict[str, pl.DataFrame], dict[str, pl.DataFrame]],
) -> None:
    """Every time of a request over the wire is the simulated one but for its stamps' nanoseconds."""
    wire, fast = (way["requests"] for way in both)
    times = [name for name in wire.columns if name.endswith("_us") and name != "gaps_us"]

    assert len(times) == 19
    for name in times:
        np.testing.assert_allclose(wire[name].to_numpy(), fast[name].to_numpy(), atol=0.003, err_msg=name)


def test_what_came_is_what_was_simulated(
    simulation: Simulation, both: tuple[dict[str, pl.DataFrame], dict[str, pl.DataFrame]]
) -> None:
    """The store's tables are the simulation's, row by row."""
    for name, key in TABLES.items():
        if name in ("samples", "marks"):
            assert len(getattr(simulation, name)) == both[1][name].height
            continue
        table: pa.Table = getattr(simulation, name)
        frame = pl.DataFrame(table).sort(key)
        times = [column for column in frame.columns if column.endswith("_us") and column != "gaps_us"]
        np.testing.assert_array_equal(frame.select(times).to_numpy(), both[1][name].select(times).to_numpy())


def test_whole_series_of_gaps(simulation: Simulation) -> None:
    """With `sensors.timeline` the store has each gap in order, to the microsecond, both ways."""
    scenario = replace(simulation.scenario, sensors=replace(simulation.scenario.sensors, timeline=True))
    kept = simulate(scenario, 3)
    ways = (
        stored("wire", lambda store: deliver(kept, StoreDelivery(store), lambda done: None)),
        stored("fast", lambda store: deliver_fast(kept, store, lambda done: None)),
    )
    wire, fast = (way["requests"]["gaps_us"].explode().to_numpy() for way in ways)

    assert kept.run.requests.output.sum() - kept.run.requests.n == wire.size
    np.testing.assert_allclose(wire, fast, atol=1.0)


def test_parquet(simulation: Simulation, tmp_path: Path) -> None:
    """`--out` writes the four tables; read back they are equal."""
    told = write_parquet(simulation, tmp_path / "made", lambda done: None)

    assert len(simulation.requests) == told.requests
    for name in TABLES:
        table = stored_requests(simulation) if name == "requests" else getattr(simulation, name)
        assert table.equals(pq.read_table(tmp_path / "made" / f"{name}.parquet"))
