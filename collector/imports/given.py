"""Durations that a table holds as such (`queue_ms`, `ttft`), beside those that its stamps give.

What a table says of a duration goes before what its stamps say. A table with stages of TTFT and no TTFT
gets their sum. What the stages leave of a TTFT is `outside`; more than 1 % above it makes a bad row.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from otel_attrib.collector.imports.durations import Durations
from otel_attrib.collector.imports.mapping import DURATIONS
from otel_attrib.collector.imports.stamps import UNITS, number
from otel_attrib.collector.imports.table import Row
from otel_attrib.schema.attributes import STAGES

__all__ = ["durations_of", "with_given"]

_MOST_US: Final = 1e15
_SLACK: Final = 0.01
_DECODE: Final = "decode_"


def durations_of(row: Row, columns: Mapping[str, str], units: Mapping[str, str]) -> dict[str, float]:
    """Return µs by name; empty cells are left out, ValueError names the column whose cell is no duration."""
    found = {}
    for name in DURATIONS:
        if name not in columns:
            continue
        try:
            value = number(row.cells.get(columns[name]))
        except ValueError as fault:
            raise ValueError(f"{name} (column {columns[name]}): {fault}") from None
        if value is None:
            continue
        us = float(value) * UNITS[units[name]] / 1e3
        if not 0 <= us < _MOST_US:
            raise ValueError(f"{name} is {value} {units[name]}, below zero or beyond thirty years")
        found[name] = us
    return found


def with_given(took: Durations, given: Mapping[str, float]) -> Durations:
    """Return `took` with what the table says itself; ValueError when its stages exceed its TTFT."""
    if not given:
        return took
    stages = {name: us for name, us in took.stages.items() if name != "outside"}
    stages |= {name: given[name] for name in STAGES if name in given}
    ttft = given.get("ttft", took.ttft_us)
    if ttft is None and stages:
        ttft = sum(stages.values())
    if ttft is not None and stages:
        stages["outside"] = _left(ttft, sum(stages.values()))
    decode = {name.removeprefix(_DECODE): us for name, us in given.items() if name.startswith(_DECODE)}
    return replace(
        took,
        ttft_us=ttft,
        e2e_us=given.get("e2e", took.e2e_us),
        tpot_us=given.get("tpot", took.tpot_us),
        stages=stages,
        decode={**took.decode, **decode},
        last_stage="egress" if "ttft" in given or "e2e" in given else took.last_stage,
    )


def _left(ttft: float, stages: float) -> float:
    if stages > ttft * (1 + _SLACK) + 1:
        raise ValueError(f"the stages add up to {stages / 1e3:,.3f} ms, TTFT is {ttft / 1e3:,.3f} ms")
    return max(0.0, ttft - stages)
