"""Marks that a scenario's faults leave: a deploy, a changed configuration."""

import pyarrow as pa

from otel_attrib.fleet.faults import family_named
from otel_attrib.fleet.placing import Spans
from otel_attrib.fleet.scenario import Scenario
from otel_attrib.fleet.tables import epoch_us

__all__ = ["mark_table"]


def mark_table(scenario: Scenario, spans: Spans) -> pa.Table:
    """Return one row a mark, with the columns of `marks`; what breaks by itself leaves none."""
    rows = []
    for fault in scenario.faults:
        family = family_named(fault.kind)
        if family.mark:
            at = epoch_us(scenario) + round(spans.of(fault.start, fault.end)[0] * 1e6)
            name = scenario.fleet.next_version if family.mark == "deploy" else "engine settings"
            rows.append((at, family.mark, name, scenario.fleet.service))
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    return pa.table(
        {
            "time": pa.array(columns[0], pa.int64()).cast(pa.timestamp("us", "UTC")),
            "kind": pa.array(columns[1], pa.string()),
            "name": pa.array(columns[2], pa.string()),
            "service": pa.array(columns[3], pa.string()),
            "attributes": pa.array([[] for _ in rows], pa.map_(pa.string(), pa.string())),
        }
    )
