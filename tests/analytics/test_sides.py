"""The two sides of `diff`, from what users type."""

from datetime import UTC, datetime, timedelta

import pytest

from otel_attrib.analytics.sides import parse_sides
from otel_attrib.errors import UsageError

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
MORNING = "2026-05-01T08:00:00Z..2026-05-01T09:00:00Z"
LATER = "2026-05-01T10:00:00Z..2026-05-01T11:00:00Z"
HOURS = "2026-05-01T10:00:00Z..2026-05-01T12:00:00Z"


def parse(a: str, b: str, window: str = "2h") -> list[tuple[str, str]]:
    """Window and selection of both sides, as text."""
    compared = parse_sides(a, b, window, NOON)
    return [(str(side.window), str(side.selection)) for side in (compared.a, compared.b)]


def test_two_versions_in_one_window() -> None:
    """Sides without a window have that of --window."""
    expected = [(HOURS, "version=1.0"), (HOURS, "version=1.1")]

    assert expected == parse("version=1.0", "version=1.1")


def test_two_windows() -> None:
    """A side may be a window alone, with or without `@`."""
    assert [(MORNING, ""), (LATER, "")] == parse(MORNING, LATER) == parse(f"@{MORNING}", f"@{LATER}")


def test_a_duration_reaches_back_from_the_end() -> None:
    """`1h` as a side is the last hour."""
    assert "2026-05-01T11:00:00Z..2026-05-01T12:00:00Z" == parse(MORNING, "1h")[1][0]


def test_a_selection_in_its_own_window() -> None:
    """`SELECTION@WINDOW` is both; several dimensions are joined by commas, one named twice is either."""
    a, b = parse(f"version=1.0,model=m0@{MORNING}", "version=1.1,version=1.2@2h")

    assert (MORNING, "model=m0 version=1.0") == a
    assert (HOURS, "version=1.1 version=1.2") == b


@pytest.mark.parametrize("tenant", ["ops@example.org", "a@b=c@d.e"])
def test_an_at_sign_may_belong_to_a_value(tenant: str) -> None:
    """What follows the last `@` is a window only if it looks like one."""
    assert f"tenant={tenant}" == parse(f"tenant={tenant}", "tenant=zen")[0][1]
    assert (MORNING, f"tenant={tenant}") == parse(f"tenant={tenant}@{MORNING}", "tenant=zen")[0]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("1h", "2h"),
        ("version=1.0", "version=1.0"),
        ("version=1.0", "model=m0"),
        ("version=1.0", "1h"),
        ("version=1.0,version=1.1", "version=1.1,version=1.2"),
        (MORNING, "2026-05-01T08:59:59Z..2026-05-01T10:00:00Z"),
    ],
)
def test_sides_that_may_share_requests(a: str, b: str) -> None:
    """Requests counted on both sides would make the difference look surer than it is: refused."""
    with pytest.raises(UsageError, match="may share requests"):
        parse(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (f"version=1.0@{MORNING}", f"version=1.0@{LATER}"),
        ("version=1.0,model=m0", "version=1.1,model=m0"),
        (MORNING, "2026-05-01T09:00:00Z..2026-05-01T10:00:00Z"),
    ],
)
def test_sides_that_cannot_share_requests(a: str, b: str) -> None:
    """Windows that only touch, or one dimension with other values, are enough."""
    assert 2 == len(parse(a, b))


@pytest.mark.parametrize(
    ("a", "told"),
    [
        ("", "a side is empty; write it as dimension=value, as a window, or as both: version=1.0@2h"),
        ("soon", "'soon' is no duration"),
        ("colour=red", "no dimension 'colour'"),
        ("version=1.0,m0", "'m0' chooses no requests: write it as dimension=value"),
        ("version=1.0@2x", "'2x' is no duration"),
    ],
)
def test_what_is_no_side(a: str, told: str) -> None:
    """A side that cannot be read is answered with what is wrong with it."""
    with pytest.raises(UsageError, match=told):
        parse(a, "version=9")


def test_windows_are_as_long_as_asked() -> None:
    """--window gives its length to both sides."""
    compared = parse_sides("version=1", "version=2", "90s", NOON)

    assert timedelta(seconds=90) == compared.a.window.length == compared.b.window.length
