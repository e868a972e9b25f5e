"""Scenario files: read strictly, replaced field by field, refused with the place that is wrong."""

from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.errors import UsageError
from otel_attrib.fleet import load_scenario, scenario, simulate, work
from otel_attrib.fleet.bounds import BOUNDS


def _number(entry: "Field[Any]") -> bool:
    """Whether a scenario's field is a number."""
    return "int" in str(entry.type) or "float" in str(entry.type).partition("[")[0]


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
        ("fault.severity=4", "[[fault]] 1: severity is 4; it goes from 1 to 3"),
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


SECTIONS = {
    "Fleet": "[fleet]",
    "Workload": "[workload]",
    "Windows": "[windows]",
    "Fault": "[[fault]]\nkind = 'rtt'",
    "Shift": "[shift]",
    "Sensors": "[sensors]",
}
NUMBERS = [
    (kind, entry.name) for kind in BOUNDS for entry in fields(getattr(scenario, kind)) if _number(entry)
]


@pytest.mark.parametrize(("kind", "name"), NUMBERS)
def test_every_number_has_bounds(tmp_path: Path, kind: str, name: str) -> None:
    """No field takes nan, an infinite number or one beyond its ends; the refusal names file and field."""
    low, high = BOUNDS[kind][name]
    whole = "int" in str(next(entry.type for entry in fields(getattr(scenario, kind)) if entry.name == name))
    said = [f"{high + 1:.0f}", f"{low - 1:.0f}", "9" * 400, *([] if whole else ["nan", "inf", "-inf"])]
    for value in said:
        with pytest.raises(UsageError) as caught:
            load_scenario(written(tmp_path, f"{SECTIONS[kind]}\n{name} = {value}\n"))
        assert "mine.toml: [" in str(caught.value)
        assert f": {name} is " in str(caught.value)
        assert len(str(caught.value)) < 200 + len(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[workload]\ntenants = {}", "[workload]: tenants are 0"),
        ("[workload]\ntenants = {a = nan}", "[workload]: tenants: a = nan is no share"),
        ("[workload]\ntenants = {a = -1}", "[workload]: tenants: a = -1 is no share"),
        ("[workload]\ntenants = {a = 0}", "the shares add up to 0"),
        ("[workload]\ntenants = {a = true}", "a = True is no share"),
        ("[fleet]\nmodel = []", "names no model"),
        (
            "[windows]\nstart = '9999-12-31T23:59:59Z'",
            "[windows]: start: '9999-12-31T23:59:59Z' is after 2105",
        ),
        ("[windows]\nstart = 'noon'", "[windows]: start: 'noon' is no time"),
        (
            "[[fault]]\nkind = 'rtt'\nstart = 0.5\nend = 0.5",
            "[[fault]] 1: start = 0.5 is not before end = 0.5",
        ),
        ("[[fault]]\nkind = 'rtt'\nstart = 1", "start = 1 is not before end = 1"),
        ("[shift]\nkind = 'routing'\nstart = 0.9\nend = 0.1", "start = 0.9 is not before end = 0.1"),
        (f"x = {'[' * 20_000}", "is nested too deeply"),
        (f"x = {'9' * 5000}", "holds a number or a date that cannot be read"),
        (f"[fleet]\nnodes = 0x{'f' * 9000}", "nodes is a number of more than 15 digits"),
        (f"[fleet]\nnodes = {[1] * 999}", "nodes = a list of 999 must be"),
    ],
)
def test_what_makes_no_fleet_is_refused_when_read(tmp_path: Path, text: str, told: str) -> None:
    """Empty, contrary, endless and unreadable values are told with the file, in a short line."""
    with pytest.raises(UsageError) as caught:
        load_scenario(written(tmp_path, text))

    assert told in str(caught.value)
    assert "mine.toml" in str(caught.value)
    assert len(str(caught.value)) < 200 + len(str(tmp_path))


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (("windows.requests=20000000",), "requests, and 20,000,000 are the most"),
        (("workload.rate=1000000", "windows.baseline=600000"), "requests, and 20,000,000 are the most"),
        (("workload.rate=0.0000001", "windows.requests=50"), "readings, and 200,000,000 are the most"),
        (("fleet.nodes=4096", "fleet.gpus_per_node=64"), "262,144 cards; at most 4,096"),
        (
            ("fleet.nodes=1024", "sensors.interval=0.05", "windows.baseline=100", "workload.rate=50"),
            "readings, and 200,000,000 are the most",
        ),
        (("shift.kind=arrival_burst", "shift.amount=20", "windows.requests=1000000"), "requests, and"),
        (("fleet.gpus_per_node=6", "fleet.tp=3"), "tp = 3 was never measured"),
    ],
)
def test_too_much_work_is_refused_before_it_begins(overrides: tuple[str, ...], told: str) -> None:
    """What would make too many requests, readings or cards is refused at once, with the figures."""
    with pytest.raises(UsageError) as caught:
        simulate(load_scenario("rtt", overrides))

    assert told in str(caught.value)


def test_a_machine_too_small_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the run would not fit the memory there is, both sizes are said."""
    monkeypatch.setattr(work, "_memory", lambda: 1e6)

    with pytest.raises(UsageError, match="GB of memory, and this machine has 0"):
        simulate(load_scenario("rtt", ("windows.requests=3000",)))


def test_estimates_are_upper_ones() -> None:
    """A run has the requests that were estimated, and of the steps no more and no less than a tenth."""
    found = simulate(load_scenario("rtt", ("windows.requests=2000",)))
    guess = work.work_of(found.scenario, found.rate, found.spans)

    assert 0.9 * guess.requests <= found.run.requests.n <= 1.1 * guess.requests
    assert len(found.run.steps) <= guess.steps <= 10 * len(found.run.steps)


@pytest.mark.parametrize("override", ["title.x=1", "fleet.nodes.x=1", "fleet.nodes=[[[["])
def test_overrides_of_what_is_no_table(override: str) -> None:
    """An override below a value, or with a value that is none, is refused, not a fault."""
    with pytest.raises(UsageError):
        load_scenario("rtt", (override,))
