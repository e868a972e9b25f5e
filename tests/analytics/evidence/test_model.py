"""The evidence model: rows that sum to one, more evidence never less, and weights that are read strictly."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_attrib.analytics.evidence import weights as weights_module
from otel_attrib.analytics.evidence.layers import SIGNALS
from otel_attrib.analytics.evidence.model import layer_of, softmax, stage_logits
from otel_attrib.analytics.evidence.signal import COLUMNS, saturate
from otel_attrib.analytics.evidence.weights import load_weights, parse_weights
from otel_attrib.schema.attributes import LAYERS
from otel_attrib.schema.counters import COUNTERS

FILE = Path(weights_module.__file__).with_name("weights.json")
STAGES = sorted(load_weights().prior)


def test_signals_are_named_once_and_weighed() -> None:
    """Every signal has its own name and a weight in the file, and the file weighs nothing else."""
    names = [signal.name for signal in SIGNALS]

    assert sorted(set(names)) == sorted(names)
    assert set(names) == set(load_weights().weights)


def test_every_layer_can_be_spoken_for_and_against() -> None:
    """Each layer has evidence of its own for it, and something that speaks against it."""
    for_it = {layer_of(s.layer) for s in SIGNALS if s.speaks_for and s.own}
    against = {layer_of(s.layer) for s in SIGNALS if not s.speaks_for}

    assert set(LAYERS) == for_it == against


def test_signals_read_counters_that_exist() -> None:
    """What a signal says it reads is in the registry, or a column of steps, requests, stages or marks."""
    known = {counter.key for counter in COUNTERS}
    other = ("steps.", "requests.")
    words = {"slice", "stages", "marks", "replay"}

    assert set() == {
        s.counter for s in SIGNALS if s.counter not in known | words and not s.counter.startswith(other)
    }


@given(st.sampled_from(STAGES), st.sampled_from(SIGNALS), st.floats(0, 1), st.floats(0, 1))
def test_more_evidence_is_never_less(stage: str, signal: Any, one: float, two: float) -> None:
    """A stronger signal for a layer never lowers its probability; against it, never raises it."""
    weak, strong = sorted((one, two))
    column = COLUMNS.index(signal.layer)
    low, high = (
        softmax(stage_logits(stage, {signal.name: size}, load_weights()))[column] for size in (weak, strong)
    )

    assert high >= low - 1e-12 if signal.speaks_for else high <= low + 1e-12


@given(st.lists(st.floats(-50, 50), min_size=9, max_size=9))
def test_softmax_sums_to_one(logits: list[float]) -> None:
    """Probabilities sum to one and keep the order of the log-odds."""
    row = softmax(np.array(logits))

    assert 1.0 == pytest.approx(row.sum())
    assert row[int(np.argmax(logits))] == row.max()


@pytest.mark.parametrize(("size", "expected"), [(-1.0, 0.0), (0.0, 0.0), (2.0, 0.5), (18.0, 0.9)])
def test_saturate(size: float, expected: float) -> None:
    """Half strength at the half size, never above one, nothing for a change for the better."""
    assert expected == saturate(size, 2.0)


@pytest.mark.parametrize(
    ("key", "value"), [("schema", "another/1"), ("weights", {"clock_down": -1.0})], ids=["schema", "sign"]
)
def test_wrong_weights_are_refused(key: str, value: Any) -> None:
    """An unknown schema, or a weight that would turn evidence round, is refused."""
    with pytest.raises(ValueError, match="weight"):
        parse_weights({**json.loads(FILE.read_text()), key: value})


def test_shipped_weights_say_what_they_were_fitted_on() -> None:
    """The file tells how it was made."""
    assert json.loads(FILE.read_text())["fitted_on"]["how"]


def test_every_signal_is_documented() -> None:
    """The page of evidence lists each signal: its layer, side, source, and whether it is its own."""
    page = (Path(__file__).parents[3] / "docs/evidence.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    told = [
        f"| `{s.name}` | {s.layer} | {'for' if s.speaks_for else 'against'} | `{s.counter}` |"
        f" {'yes' if s.own else ''} |"
        for s in SIGNALS
    ]

    assert told == rows
