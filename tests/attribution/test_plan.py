"""The corpus as planned: balanced, enough of it with nothing broken, and split once and for all."""

from collections import Counter

import pytest

from benchmarks.attribution.plan import LOADS, SEVERITIES, Planned, folds, plan
from otel_attrib.fleet.faults import FAMILIES
from otel_attrib.schema.attributes import LAYERS

NINE = plan(9)


def test_two_fifths_have_nothing_broken() -> None:
    """At least 40 % of the runs are nulls or decoys, and none of these has a fault."""
    clean = [run for run in NINE if run.kind != "fault"]

    assert len(clean) >= 0.4 * len(NINE)
    assert all(not run.scenario.faults for run in clean)


def test_every_fault_at_every_strength_and_load() -> None:
    """Nine seeds hold each family once at every severity and load."""
    square = {(severity, load) for severity in SEVERITIES for load in LOADS}

    for family in FAMILIES:
        assert Counter(square) == Counter(pair(run) for run in NINE if run.family == family.name)


def pair(run: Planned) -> tuple[float, float]:
    """The severity and load of a run."""
    return run.severity, run.load


def test_cross_is_the_whole_square() -> None:
    """With `cross` one seed has all nine pairs of a family."""
    runs = [run for run in plan(1, cross=True) if run.family == "rtt"]

    assert {(severity, load) for severity in SEVERITIES for load in LOADS} == {pair(run) for run in runs}


def test_every_layer_is_broken() -> None:
    """Each layer is at fault in some family: none can be right by never being asked for."""
    assert set(LAYERS) == {family.layer for family in FAMILIES}


def test_names_and_chances_are_unique() -> None:
    """No two runs share a folder, or their requests."""
    assert len(NINE) == len({run.name for run in NINE}) == len({run.chance for run in NINE})


def test_halves_are_fixed() -> None:
    """A run's half depends on its family and seed alone, and about half of the runs are in each."""
    halves = {(run.family, run.seed): run.frozen for run in plan(3, requests=500, cross=True)}

    assert halves == {(run.family, run.seed): run.frozen for run in plan(3)}
    assert pytest.approx(0.5, abs=0.06) == sum(run.frozen for run in NINE) / len(NINE)


def test_folds_hold_no_frozen_run() -> None:
    """What is fitted on are calibration runs, each in its family's fold."""
    found = folds(NINE)

    assert sum(not run.frozen for run in NINE) == sum(map(len, found.values()))
    assert all(run.family == family and not run.frozen for family, runs in found.items() for run in runs)
