"""What the pages say of scenarios is what the code does."""

import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from benchmarks.attribution.fleet_check import RUNS, errors, recorded, simulated
from otel_attrib.fleet import load_scenario, simulate
from otel_attrib.fleet import scenario as sections
from otel_attrib.fleet.page import MEANINGS, page

DOCS = Path(__file__).parents[2] / "docs"


def test_reference_is_current() -> None:
    """The page of scenarios is what the code says."""
    assert page() == (DOCS / "reference/scenarios.md").read_text()


def test_every_field_is_explained() -> None:
    """Each field of each section has its meaning, and no other has."""
    for name, meanings in MEANINGS.items():
        assert {entry.name for entry in fields(getattr(sections, name))} == set(meanings)


def test_the_example_is_a_scenario(tmp_path: Path) -> None:
    """The scenario file shown to a reader runs, and its fault slows the tail."""
    text = re.search(r"```toml\n(.*?)```", (DOCS / "simulate.md").read_text(), re.DOTALL)
    assert text
    (tmp_path / "shown.toml").write_text(text[1])
    found = simulate(load_scenario(str(tmp_path / "shown.toml"), ("windows.requests=500",)))

    assert "Nightly jobs on the first node" == found.scenario.title
    assert ("cpu",) == tuple(found.truth.layers)


@pytest.mark.parametrize(("model", "title"), [("llama-3.1-8b", "Llama-3.1-8B"), ("qwen3-32b", "Qwen3-32B")])
def test_errors_told_are_those_measured(model: str, title: str) -> None:
    """The table of errors against recorded runs is what the benchmark gives."""
    text = (DOCS / "simulate.md").read_text()
    real = recorded(model)
    made = simulated(model, real)
    found = errors(real, made)

    assert model in RUNS
    for name, value in real.times().items():
        row = re.search(rf"^\| {title}, {name} \|(.*)\|$", text, re.MULTILINE)
        if name == "TTFT":
            continue
        assert row, name
        cells = [cell.split() for cell in row[1].split("|")]
        told = [
            float(number.replace(",", "")) * {"s": 1e3, "ms": 1, "%": 0.01}[unit] for number, unit in cells
        ]
        mine = made.times()[name]
        times = [np.median(value), np.median(mine), np.quantile(value, 0.99), np.quantile(mine, 0.99)]
        shares = [np.median(found[name]), np.quantile(found[name], 0.9)]
        np.testing.assert_allclose(told, [*(1e3 * np.array(times)), *shares], rtol=0.02, err_msg=name)
