"""Scenario files: read strictly, replaced field by field, refused with the place that is wrong."""

from pathlib import Path

import pytest

from otel_attrib.errors import UsageError
from otel_attrib.fleet import load_scenario, simulate


def written(folder: Path, text: str) -> str:
    """A file with this text."""
    file = folder / "mine.toml"
    file.write_text(text)
    return str(file)


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    """Fields that are not given keep their defaults."""
    found = load_scenario(written(tmp_path, "title = 'mine'\n[fleet]\nnodes = 3\n[[fault]]\nkind = 'rtt'\n"))

    assert ("mine", 3, 4, "rtt", 2.0) == (
        found.title,
        found.fleet.nodes,
        found.fleet.gpus_per_node,
        found.faults[0].kind,
        found.faults[0].severity,
    )


def test_overrides() -> None:
    """`--set` replaces numbers, texts and fields of the n-th fault."""
    found = load_scenario(
        "two-faults",
        ("fault.severity=3", "fault.2.where=fleet", "workload.source=servegen", "windows.requests=50"),
    )

    assert (3.0, "fleet", "servegen", 50) == (
        found.faults[0].severity,
        found.faults[1].where,
        found.workload.source,
        found.windows.requests,
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[fleet]\nnode = 3", "mine.toml: [fleet]: unknown field 'node'"),
        ("[flet]\nnodes = 3", "mine.toml: unknown section 'flet'"),
        ("[fleet]\nnodes = 'three'", "nodes = 'three' must be a whole number"),
        ("[workload]\ncv = true", "cv = True must be a number"),
        ("[[fault]]\nseverity = 2", "missing 1 required positional argument: 'kind'"),
        ("[fault]\nkind = 'rtt'", "write [[fault]]"),
        ("[fleet\n", "is no TOML"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, told: str) -> None:
    """A mistake in a file names the file, the section and the field."""
    with pytest.raises(UsageError) as caught:
        load_scenario(written(tmp_path, text))

    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("fault.kind=melted", "no fault 'melted'"),
        ("fault.severity=4", "severity of rtt is 4; it goes from 1 to 3"),
        ("fault.where=node:node-9", "where = 'node:node-9' is nothing here"),
        ("fleet.card=abacus", "no card 'abacus'"),
        ("fleet.model=eliza", "no model 'eliza'"),
        ("fleet.tp=3", "tp = 3 does not divide"),
        ("workload.source=rumour", "no source 'rumour'"),
        ("workload.arrivals=never", "no arrivals 'never'"),
        ("shift.kind=odd", "no shift 'odd'"),
        ("shift.kind=model_mix", "needs two models"),
        ("fleet.kv_blocks=3", "3 KV blocks of 16 tokens do not hold"),
        ("fleet.model=llama-3.1-70b", "does not fit 1"),
    ],
)
def test_what_cannot_be_simulated_is_said(override: str, told: str) -> None:
    """A value that makes no fleet is refused with what would be right."""
    with pytest.raises(UsageError) as caught:
        simulate(load_scenario("rtt", ("windows.requests=50", override)))

    assert told in str(caught.value)


@pytest.mark.parametrize("override", ["severity=3", "fault.severity", "fault.2.severity=1"])
def test_overrides_that_name_nothing(override: str) -> None:
    """An override without a section, a value or a fault of its number is refused."""
    with pytest.raises(UsageError):
        load_scenario("rtt", (override,))


def test_unknown_names() -> None:
    """A name that is no scenario points to the list, a missing file is named."""
    with pytest.raises(UsageError, match="--list"):
        load_scenario("nothing-of-that-name")
    with pytest.raises(UsageError, match="No such file"):
        load_scenario("/nowhere/at/all.toml")
