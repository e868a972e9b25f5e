"""A moment is read exactly, whatever it is written in."""

from decimal import Decimal
from typing import Any

import pytest

from otel_attrib.collector.imports.stamps import Stamp, number, parse_stamp, wall_nanoseconds


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (Decimal("1777142838.338653"), "s", 1_777_142_838_338_653_000),
        ("479748.340626232", "s", 479_748_340_626_232),
        (1_777_142_838_338, "ms", 1_777_142_838_338_000_000),
        (17, "us", 17_000),
        ("17", "ns", 17),
        ("1e3", "s", 10**12),
    ],
)
def test_numbers_keep_every_nanosecond(value: Any, unit: str, expected: int) -> None:
    """A number is scaled by its unit without passing through a float."""
    assert Stamp(expected) == parse_stamp(value, unit)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:01Z", Stamp(10**9, dated=True)),
        ("1970-01-01T01:00:00.5+01:00", Stamp(5 * 10**8, dated=True)),
        ("1969-12-31T23:00:00-0100", Stamp(0, dated=True)),
        ("2023-11-16 18:17:03.9799600", Stamp(1_700_158_623_979_960_000, dated=True, zoned=False)),
        ("2023-11-16T18:17:03,1234567899Z", Stamp(1_700_158_623_123_456_789, dated=True)),
    ],
)
def test_dates(text: str, expected: Stamp) -> None:
    """RFC 3339 in any zone, with any number of decimals; without a zone it is UTC, and that is kept."""
    assert expected == parse_stamp(text, "ms")


@pytest.mark.parametrize("empty", [None, "", "  ", "NaN", Decimal("NaN")])
def test_empty_cells(empty: Any) -> None:
    """What tables write for nothing is no moment, and no fault."""
    assert parse_stamp(empty, "s") is None


@pytest.mark.parametrize("wrong", ["soon", True, [1], {}, "2023-11-16"])
def test_refused(wrong: Any) -> None:
    """Anything else is said not to be a number."""
    with pytest.raises(ValueError, match="is no number"):
        number(wrong)


@pytest.mark.parametrize("wrong", ["inf", "-Infinity", "1e999999999", 10**31])
def test_too_large(wrong: Any) -> None:
    """A number that no column can hold is refused before it is worked out."""
    with pytest.raises(ValueError, match="too large"):
        number(wrong)


def test_impossible_date_is_refused() -> None:
    """A date that the calendar lacks is a fault."""
    with pytest.raises(ValueError, match="day"):
        parse_stamp("2023-02-30T00:00:00Z", "s")


def test_start_must_be_a_moment() -> None:
    """What places a table on the wall is RFC 3339."""
    assert 1_700_158_623_000_000_000 == wall_nanoseconds("2023-11-16T18:17:03Z")
    with pytest.raises(ValueError, match="RFC 3339"):
        wall_nanoseconds("yesterday")


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        (Decimal("1E+40"), "1E+40 is too large a number"),
        (10**40, f"1{'0' * 39}… (41 characters) is too large a number"),
        ("inf", "'inf' is too large a number"),
        (True, "true is no number"),
        ([Decimal("1.5")], "a list is no number"),
        ({"a": Decimal("1.5")}, "an object is no number"),
        ("x" * 50, f"'{'x' * 39}… (52 characters) is no number"),
    ],
)
def test_a_refusal_shows_the_cell_as_the_file_does(cell: Any, told: str) -> None:
    """No type of Python's stands in a message, and no cell makes it long."""
    with pytest.raises(ValueError) as caught:
        number(cell)

    assert told == str(caught.value)
