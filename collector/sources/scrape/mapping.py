"""What the metrics of one exporter mean: a declared file (`*.toml` in this folder), read once and checked.

A file names where its names come from (`source`, `version`), how its page is recognised, which labels are the
card and which become attributes, and for each metric the counter of the registry, the unit and the kind.
"""

import tomllib
from collections.abc import Mapping as Table
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, cast

from otel_attrib.collector.sources.scrape.units import factor
from otel_attrib.errors import OtelAttribError
from otel_attrib.schema.context_counters import registered
from otel_attrib.schema.counters import Counter, Kind

__all__ = ["KINDS", "Fold", "Mapping", "Metric", "mapping", "parse"]

KINDS: Final = ("dcgm", "amd", "ascend", "tpu", "vllm", "sglang", "tgi", "triton")
"""The exporters and engines that have a mapping."""

Fold = Literal["sum", "max", "min"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of an exporter and the counter that it becomes."""

    name: str
    counter: Counter
    unit: str
    kind: Kind
    factor: float
    """What a value is multiplied with to be in the counter's unit."""
    fold: Fold
    """What becomes of several samples of one series."""
    where: Table[str, tuple[str, ...]]
    """Label → values; a sample that has the label with another value is left out."""
    must: frozenset[str]
    """Labels without which a sample is left out."""
    attributes: Table[str, str]
    """Attribute → label; an empty label gives no attribute."""
    fixed: Table[str, str]
    """Attributes that every sample of it has."""
    bits: Table[str, int]
    """Value of `attribute` → mask: one series each, 1 where a bit of it is set."""
    states: Table[str, tuple[float, ...]]
    """Value of `attribute` → numbers: one series each, 1 where the sample is one of them."""
    attribute: str
    absent: tuple[float, ...]
    """Numbers that say that there is no value."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """The declared meaning of one exporter's page."""

    kind: str
    name: str
    source: str
    version: str
    licence: str
    recognised: tuple[str, ...]
    """A page with a metric that begins so is this exporter's."""
    port: int
    path: str
    here: tuple[str, ...]
    """Files that exist where this exporter's devices are."""
    device: str
    """Label that is `hw.id`; empty for an engine."""
    part: str
    """Label of a part of a card: `hw.id` is then `card:part`."""
    device_pattern: str
    """What of the label is the number of the card; its first group."""
    absent: tuple[tuple[float, float], ...]
    """Ranges of numbers that say that there is no value."""
    metrics: Table[str, tuple[Metric, ...]] = field(default_factory=dict)
    """Name on the page → what it becomes."""


@cache
def mapping(kind: str) -> Mapping:
    """Return the mapping of this kind; the file is read once."""
    return parse(kind, files(__package__).joinpath(f"{kind}.toml").read_text("utf-8"))


def parse(kind: str, text: str) -> Mapping:
    """Read a mapping; an error names what in it does not fit the registry."""
    table = tomllib.loads(text)
    metrics: dict[str, list[Metric]] = {}
    for entry in table["metric"]:
        for name in _names(entry, table.get("prefixes", [""])):
            metrics.setdefault(name, []).append(_metric(kind, name, entry, table))
    return Mapping(
        kind=kind,
        name=table["name"],
        source=table["source"],
        version=table["version"],
        licence=table["licence"],
        recognised=tuple(table["recognised"]),
        port=int(table.get("port", 0)),
        path=table.get("path", "/metrics"),
        here=tuple(table.get("here", ())),
        device=table.get("device", ""),
        part=table.get("part", ""),
        device_pattern=table.get("device_pattern", "(.+)"),
        absent=tuple((float(low), float(high)) for low, high in table.get("absent", ())),
        metrics={name: tuple(each) for name, each in metrics.items()},
    )


def _names(entry: dict[str, Any], prefixes: list[str]) -> list[str]:
    names = [entry["name"]] if isinstance(entry["name"], str) else list(entry["name"])
    return [prefix + name for name in names for prefix in prefixes]


def _metric(kind: str, name: str, entry: dict[str, Any], table: dict[str, Any]) -> Metric:
    try:
        counter = registered(entry["counter"])
        as_kind, unit = entry.get("kind", counter.kind), entry.get("unit", counter.unit)
        if as_kind != counter.kind:
            raise OtelAttribError(f"a {as_kind} is no {counter.kind}")
        scale = factor(unit, counter.unit)
    except (KeyError, OtelAttribError) as fault:
        raise OtelAttribError(f"{kind}.toml: {name}: {fault}") from fault
    attributes = {**table.get("attributes", {}), **entry.get("attributes", {})}
    return Metric(
        name=name,
        counter=counter,
        unit=unit,
        kind=as_kind,
        factor=scale,
        fold=cast("Fold", entry.get("fold", table.get("fold", "sum"))),
        where={
            label: tuple(values)
            for label, values in {**table.get("where", {}), **entry.get("where", {})}.items()
        },
        must=frozenset(entry.get("must", ())),
        attributes=attributes,
        fixed=entry.get("fixed", {}),
        bits=entry.get("bits", {}),
        states={state: tuple(map(float, numbers)) for state, numbers in entry.get("states", {}).items()},
        attribute=entry.get("attribute", ""),
        absent=tuple(map(float, entry.get("absent", ()))),
    )
