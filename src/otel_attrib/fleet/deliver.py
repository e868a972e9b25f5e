"""A simulation into a store: over the wire's own path, or its tables straight in.

`deliver` sends spans and metrics as OTLP to a running service or through the store's own decoding;
`deliver_fast` inserts the tables. Both leave the same rows, but for rounding to whole µs and ns. Marks, for
which OTLP has no word, are inserted where the store can be written to.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from otel_attrib.collector.imports.delivery import Delivery
from otel_attrib.collector.signals import METRICS, TRACES
from otel_attrib.errors import DataError, UsageError
from otel_attrib.fleet.otlp import metric_exports, request_exports, step_exports
from otel_attrib.fleet.simulation import Simulation
from otel_attrib.fleet.tables import gap_sketch
from otel_attrib.schema.store import Store

__all__ = ["Delivered", "deliver", "deliver_fast", "stored_requests", "write_parquet"]

Advance = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Delivered:
    """How many rows went where."""

    where: str
    requests: int
    steps: int
    samples: int
    marks: int


def deliver(simulation: Simulation, to: Delivery, advance: Advance) -> Delivered:
    """Send everything as OTLP; return when it can be queried. Refused items are a `DataError`."""
    counts: list[int] = []
    refused = 0
    exports = (
        (TRACES, request_exports(simulation)),
        (TRACES, step_exports(simulation)),
        (METRICS, metric_exports(simulation)),
    )
    for signal, bodies in exports:
        sent = 0
        for count, body in bodies:
            refused += to.send(signal, body)
            sent += count
            advance(count)
        counts.append(sent)
    to.finish()
    if refused:
        raise DataError(f"{to.shown} refused {refused:,} items")
    marks = _marks(simulation, to.store) if to.shown.startswith("store ") else 0
    requests, steps, samples = counts
    return Delivered(to.shown, requests, steps, samples, marks)


def deliver_fast(simulation: Simulation, store: Store, advance: Advance) -> Delivered:
    """Insert the tables as they are."""
    tables = {
        "requests": stored_requests(simulation),
        "steps": simulation.steps,
        "samples": simulation.samples,
    }
    for name, table in tables.items():
        store.insert_arrow(name, table)
        advance(len(table))
    requests, steps, samples = (len(table) for table in tables.values())
    return Delivered(f"store {store.dsn.shown}", requests, steps, samples, _marks(simulation, store))


def write_parquet(simulation: Simulation, folder: Path, advance: Advance) -> Delivered:
    """Write the four tables as Parquet files into a folder that is made when it is not there."""
    names = ("requests", "steps", "samples", "marks")
    tables = {name: getattr(simulation, name) for name in names}
    tables["requests"] = stored_requests(simulation)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            pq.write_table(table, folder / f"{name}.parquet", compression="zstd")
            advance(len(table))
    except OSError as fault:
        raise UsageError(f"--out {folder}: {fault.strerror or fault}") from fault
    return Delivered(str(folder), *(len(tables[name]) for name in names))


def stored_requests(simulation: Simulation) -> pa.Table:
    """Return `requests` as the store keeps them: gaps between tokens in order, or as a sketch gives them."""
    table = simulation.requests
    if simulation.scenario.sensors.timeline:
        return table
    return table.set_column(table.column_names.index("gaps_us"), "gaps_us", gap_sketch(simulation.run))


def _marks(simulation: Simulation, store: Store) -> int:
    marks = simulation.marks
    if len(marks):
        store.insert_arrow("marks", marks)
    return len(marks)
