"""Columns called just like a duration: read where all they hold is numbers, in a unit that is said."""

import io
from collections.abc import Sequence

import pytest

from otel_attrib.collector.imports.mapping import DURATIONS, NAMES, Mapping, pairs, said_units, units
from otel_attrib.collector.imports.requests_table import rehearse
from otel_attrib.collector.imports.survey import Options, Surveyed, survey


def surveyed(text: str, unit: Sequence[str] = (), mapped: Sequence[str] = ()) -> Surveyed:
    """The survey of a table."""
    mapping = Mapping(pairs("--map", mapped, NAMES), units(unit), {}, said_units(unit))
    return survey(io.BytesIO(text.encode()), mapping, Options(), None)


@pytest.mark.parametrize("name", DURATIONS)
def test_every_duration_maps_itself(name: str) -> None:
    """A column of numbers is read in seconds, and the unit is said to be assumed."""
    text = f"arrival,{name}\n1790000001,0.25\n1790000002,\n1790000003,1e-1\n"

    found = surveyed(text)
    (first, *_), tally = rehearse(io.BytesIO(text.encode()), found.plan, 3)

    assert (name, []) == (found.plan.mapping.columns[name], list(found.unused))
    assert [f"{name} read in s; --unit {name}:ms if not"] == list(found.notes)
    assert ({name: 250_000.0}, 0) == (first.given, tally.bad)


@pytest.mark.parametrize("unit", ["ms", "ttft:ms"])
def test_a_unit_that_is_said(unit: str) -> None:
    """--unit for all or for this one counts, and nothing is assumed."""
    text = "arrival,ttft\n2026-09-21T14:13:21Z,250\n"

    found = surveyed(text, [unit])
    (first,), _ = rehearse(io.BytesIO(text.encode()), found.plan, 3)

    assert ({"ttft": 250_000.0}, []) == (first.given, list(found.notes))


@pytest.mark.parametrize(
    ("cell", "shown"), [("chat", "'chat'"), ("2026-09-21T14:13:21Z", "'2026-09-21T14:13:21Z'"), ("-", "'-'")]
)
def test_a_column_of_texts_is_left(cell: str, shown: str) -> None:
    """One text among numbers leaves the column unread, which breaks no row and is said with its line."""
    text = f"arrival,ttft,queue\n1790000001,0.25,7\n1790000002,0.25,{cell}\n"

    found = surveyed(text, ["ttft:s"])
    _, tally = rehearse(io.BytesIO(text.encode()), found.plan, 3)

    assert [f"queue is not read: line 3 holds {shown}, no number"] == list(found.notes)
    assert (["queue"], 2, 0) == (list(found.unused), tally.rows, tally.bad)


def test_what_is_mapped_goes_before_a_name() -> None:
    """--map, a column with a unit in its name and a column mapped to something else are not overruled."""
    text = "arrival,ttft,ttft_ms,e2e,queue\n1790000001,9,250,8,7\n"

    found = surveyed(text, mapped=["e2e=queue", "tpot=e2e"])

    assert {"arrival": "arrival", "ttft": "ttft_ms", "e2e": "queue", "tpot": "e2e"} == dict(
        found.plan.mapping.columns
    )
    assert ["ttft"] == list(found.unused)


def test_true_is_no_number() -> None:
    """A column of truths in JSON is no duration; an empty one is unread without a word."""
    text = '{"arrival": 1790000001, "queue": true, "e2e": null, "tpot": NaN}\n'

    found = surveyed(text)

    assert ["queue is not read: line 1 holds true, no number"] == list(found.notes)
    assert ["queue", "e2e", "tpot"] == list(found.unused)
