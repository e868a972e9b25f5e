"""Every mapping file against the registry and the captures that it was made for."""

import re
from importlib.resources import files
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from otel_attrib.collector.sources.scrape.__main__ import page as table
from otel_attrib.collector.sources.scrape.mapping import KINDS, mapping, parse
from otel_attrib.collector.sources.scrape.units import SCALES, factor
from otel_attrib.errors import OtelAttribError
from otel_attrib.schema.attributes import ATTRIBUTES
from otel_attrib.schema.context_counters import EVERY_COUNTER

from .conftest import page

PAGES = {
    "dcgm": ("dcgm", "dcgm_shared"),
    "amd": ("amd",),
    "ascend": ("ascend", "ascend_mock"),
    "tpu": ("tpu",),
    "vllm": ("vllm", "vllm_preempt"),
    "sglang": ("sglang", "sglang_llama31_8b"),
    "tgi": ("tgi",),
    "triton": ("triton", "triton_trtllm"),
}
ACCUMULATING_GAUGES = {"amd", "ascend", "tpu"}
"""Exporters whose every metric is a gauge on the page."""


def test_every_file_is_a_kind_and_every_kind_a_file() -> None:
    """No mapping is left out of the list, and none is missing."""
    folder = files("otel_attrib.collector.sources.scrape")
    found = {entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")}

    assert set(KINDS) == found


@pytest.mark.parametrize("kind", KINDS)
def test_a_mapping_fits_the_registry(kind: str) -> None:
    """Counters are registered with that kind, units convert, attributes have names, and cards an id."""
    rules = mapping(kind)
    registered = {counter.key: counter for counter in EVERY_COUNTER}
    named = {attribute.name for attribute in ATTRIBUTES}

    assert rules.metrics
    for metric in (metric for each in rules.metrics.values() for metric in each):
        assert registered[metric.counter.key] is metric.counter
        assert metric.kind == metric.counter.kind
        assert metric.factor == factor(metric.unit, metric.counter.unit)
        assert {*metric.attributes, *metric.fixed, *filter(None, [metric.attribute])} <= named
        assert bool(metric.attribute) == bool(metric.bits or metric.states)
        assert not metric.counter.per_device or rules.device, metric.name


@pytest.mark.parametrize("kind", KINDS)
def test_a_mapping_says_where_its_names_come_from(kind: str) -> None:
    """Source, version and licence stand in the file."""
    rules = mapping(kind)

    assert re.search(r"(github|gitee)\.com/", rules.source)
    assert re.search(r"\d", rules.version)
    assert rules.licence in ("Apache-2.0", "BSD-3-Clause")


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_page_calls_a_counter_becomes_a_total(kind: str) -> None:
    """The page's own TYPE agrees with the declared kind, save where an exporter has gauges only."""
    rules = mapping(kind)
    compared = 0
    for family in (family for name in PAGES[kind] for family in text_string_to_metric_families(page(name))):
        for sample in family.samples:
            for metric in rules.metrics.get(sample.name) or rules.metrics.get(family.name, ()):
                says = {"counter": "total", "histogram": "total", "gauge": "gauge"}.get(family.type)
                if says is None or kind in ACCUMULATING_GAUGES:
                    continue
                compared += 1
                assert says == metric.kind, sample.name
    assert compared or kind in ACCUMULATING_GAUGES


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ('counter = "no_such"', "no_such"),
        ('counter = "gpu_power"\nunit = "Cel"', "Cel cannot be turned into W"),
        ('counter = "gpu_power"\nkind = "total"', "a total is no gauge"),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused(entry: str, says: str) -> None:
    """An unknown counter, a unit that cannot be converted and a wrong kind are named with the metric."""
    head = 'name = "x"\nsource = "x"\nversion = "1"\nlicence = "x"\nrecognised = ["x_"]\n'

    with pytest.raises(OtelAttribError, match=f"x.toml: x_power: .*{says}"):
        parse("x", f'{head}[[metric]]\nname = "x_power"\n{entry}\n')


def test_units_are_what_the_international_system_says() -> None:
    """Prefixes are powers of ten, binary ones of two, percent a hundredth."""
    prefixes = {"m": 1e-3, "u": 1e-6, "n": 1e-9, "k": 1e3, "M": 1e6, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
    for unit, (base, scale) in SCALES.items():
        if unit == "%":
            assert (base, scale) == ("1", 0.01)
        elif unit == "Hz":
            assert (base, scale) == ("MHz", 1e-6)
        else:
            assert prefixes[unit.removesuffix(base)] == scale


def test_the_page_shows_every_mapping_as_it_is() -> None:
    """The table of docs/scrape.md is what the mappings say, and its ports those that are tried."""
    text = (Path(__file__).parents[3] / "docs/scrape.md").read_text()

    assert text.endswith(f"<!-- table: python -m otel_attrib.collector.sources.scrape -->\n{table()}\n")
    for rules in map(mapping, KINDS):
        if rules.here:
            assert f"| {rules.port} | {' or '.join(f'`{name}`' for name in rules.here)} |" in text
