"""Numbers and names as people read them."""

import re
from pathlib import Path

import pytest

from otel_attrib import analytics
from otel_attrib.analytics.wording import count, digits, milliseconds, percent, probability, reach, wrapped

SHORT = re.compile(r":[+,]?\.\dg\}")


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0.01234, "0.0123"),
        (4.5, "4.5"),
        (103.4, "103"),
        (999.4, "999"),
        (7283.0, "7283"),
        (2e5, "200,000"),
        (0.0, "0"),
    ],
)
def test_digits(number: float, expected: str) -> None:
    """Three digits that matter, and thousands are no powers of ten."""
    assert expected == digits(number)


@pytest.mark.parametrize(
    ("ms", "expected"),
    [
        (871.3, "871"),
        (10.44, "10.4"),
        (0.005, "0.01"),
        (-0.001, "0.00"),
        (-12.3, "-12.3"),
        (4e6, "4,000,000"),
    ],
)
def test_milliseconds(ms: float, expected: str) -> None:
    """Three digits that matter, and nought has no sign of its own."""
    assert expected == milliseconds(ms)


@pytest.mark.parametrize(("number", "expected"), [(29.9, "29"), (50.0, "50"), (49.999, "49")])
def test_count(number: float, expected: str) -> None:
    """A count is whole, and never more than there is."""
    assert expected == count(number)


def test_no_power_of_ten_is_shown() -> None:
    """Numbers for people go through `digits`; g with a precision writes thousands as 1.2e+03."""
    files = sorted(Path(analytics.__file__).resolve().parent.rglob("*.py"))
    written = [path.name for path in files if SHORT.search(path.read_text())]

    assert ["promql.py", "notes.py", "wording.py"] == written  # a query, shares in percent, `digits` itself


def test_shares_and_probabilities_are_never_surer_than_they_are() -> None:
    """A probability is not written as 0 or 1; a share is whole percent, without a minus nought."""
    assert [">0.99", "0.99", "0.50", "0.01", "<0.01"] == [
        probability(p) for p in (0.999, 0.991, 0.5, 0.009, 0.004)
    ]
    assert ["87 %", "0 %", "-2 %", "145 %"] == [percent(share) for share in (0.867, -0.001, -0.02, 1.45)]


def test_an_interval_without_end_is_unknown() -> None:
    """Too few blocks give no interval, and it is not written as a number."""
    assert ("unknown", "430…489") == (reach(float("-inf"), float("inf")), reach(430.1, 488.9))


def test_a_number_stays_with_its_unit() -> None:
    """Lines break elsewhere than before `%`, `ms`, or the value of p, and hold plain blanks only."""
    for length in range(60, 82):
        lines = list(wrapped(f"{'x' * length} (66 %, p >0.99) takes 12.5 ms, and p 0.4"))

        assert [] == [line for line in lines[1:] if line.startswith(("%", "ms", ">0.99", "0.4"))]
        assert all(len(line) <= max(80, length) and "\u00a0" not in line for line in lines)
