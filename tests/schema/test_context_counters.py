"""The counters that are kept: one meaning a name over both registries, and a page that is current."""

from pathlib import Path

import pytest

from otel_attrib.schema.attributes import ATTRIBUTES, LAYERS
from otel_attrib.schema.context_counters import CONTEXT, EVERY_COUNTER, registered
from otel_attrib.schema.context_page import page

ROOT = Path(__file__).parents[2]


def test_a_counter_is_told_apart() -> None:
    """No two counters of either registry share a key, or a metric with the same attribute."""
    keys = [counter.key for counter in EVERY_COUNTER]
    places = [(counter.metric, counter.select) for counter in EVERY_COUNTER]

    assert sorted(set(keys)) == sorted(keys)
    assert len(set(places)) == len(places)


def test_every_key_is_found() -> None:
    """A key names its counter; an unknown one is an error."""
    assert list(EVERY_COUNTER) == [registered(counter.key) for counter in EVERY_COUNTER]
    with pytest.raises(KeyError):
        registered("nothing")


def test_layers_and_attributes_are_known() -> None:
    """Every counter belongs to a layer, and what tells it apart is a registered attribute."""
    names = {attribute.name for attribute in ATTRIBUTES}

    assert {counter.layer for counter in CONTEXT} <= set(LAYERS)
    assert {counter.select[0] for counter in EVERY_COUNTER if counter.select} <= names


def test_the_page_is_current() -> None:
    """The reference page is the one made from the registry."""
    assert page() == (ROOT / "docs/reference/context.md").read_text(encoding="utf-8")
