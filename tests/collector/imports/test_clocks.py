"""Which stamps share a clock: found from the whole table, or declared and checked."""

from collections.abc import Sequence

import pytest

from otel_attrib.collector.imports.clocks import Clock, Survey, declared, detected
from otel_attrib.collector.imports.mapping import STAMPS
from otel_attrib.collector.imports.stamps import Stamp
from otel_attrib.errors import UsageError

EPOCH = 1_777_142_838.0
S = 1_000_000_000


def surveyed(*rows: Sequence[float | None]) -> Survey:
    """A survey of rows whose cells are seconds in the order of `STAMPS`."""
    survey = Survey()
    for row in rows:
        cells = zip(STAMPS, row, strict=False)
        survey.add({name: Stamp(round(value * S)) for name, value in cells if value is not None})
    return survey


def groups(survey: Survey) -> list[tuple[str, tuple[str, ...]]]:
    """Name and stamps of the clocks that are found."""
    return [(clock.name, clock.stamps) for clock in detected(list(survey.columns), survey)]


def test_one_clock() -> None:
    """Stamps in order and near each other are of one clock."""
    survey = surveyed((EPOCH, EPOCH + 0.1, EPOCH + 0.2, EPOCH + 0.5, EPOCH + 9))

    assert (Clock("wall", STAMPS, True),) == detected(STAMPS, survey)


def test_wall_and_monotonic() -> None:
    """A Unix time and an uptime are two clocks, and the reason names both values."""
    survey = surveyed((EPOCH, 479_748.34, 479_748.35, 479_748.51, 479_764.0))
    wall, engine = detected(STAMPS, survey)

    assert Clock("wall", ("arrival",), True) == wall
    assert ("engine", STAMPS[1:], False) == (engine.name, engine.stamps, engine.wall)
    assert "arrival is 2026-04-25 18:47:18, queued is 479,748.340 s" == engine.why


def test_two_uptimes() -> None:
    """Two hosts' uptimes lie hours apart in every row."""
    survey = surveyed(*[(None, 100.0 + i, 100.1 + i, 50_000.0 + i, 50_001.0 + i) for i in range(9)])

    assert [
        ("engine-queued", ("queued", "scheduled")),
        ("engine-first_token", ("first_token", "last_token")),
    ] == (groups(survey))


def test_skewed_wall_clocks() -> None:
    """Two wall clocks whose skew puts more than 1 % of the rows in the wrong order are parted."""
    rows = [(EPOCH + i, EPOCH + i + (-0.02 if i < 4 else 0.01)) for i in range(100)]

    assert [("wall-arrival", ("arrival",)), ("wall-queued", ("queued",))] == groups(surveyed(*rows))


def test_a_bad_row_parts_no_clock() -> None:
    """One row in the wrong order among a hundred is a bad row, not a second clock."""
    rows = [(EPOCH + i, EPOCH + i + (-0.02 if i == 4 else 0.01)) for i in range(100)]

    assert [("wall", ("arrival", "queued"))] == groups(surveyed(*rows))


def test_interleaved_clocks() -> None:
    """A stamp joins the clock that it agrees with, not the one just before it."""
    survey = surveyed((EPOCH, 10.0, 10.1, EPOCH + 0.4, None))

    assert [("wall", ("arrival", "first_token")), ("engine", ("queued", "scheduled"))] == groups(survey)


def test_zero_means_not_reached_far_from_the_rest() -> None:
    """0 among uptimes of days is no moment; 0 in a table that starts there is one."""
    far = surveyed((None, 479_748.0), (None, 0.0), (None, 479_750.0)).columns["queued"]
    near = surveyed((0.0,), (5.0,)).columns["arrival"]

    assert (True, 1, 479_748 * S) == (far.zero_is_absent, far.zeros, far.first)
    assert (False, 0) == (near.zero_is_absent, near.first)


def test_declared() -> None:
    """A declared clock keeps its name, whatever the values look like."""
    survey = surveyed((EPOCH, EPOCH + 0.1, EPOCH + 0.2))
    found = declared(["gateway=arrival", "engine=scheduled,queued"], STAMPS[:3], survey)

    assert (Clock("gateway", ("arrival",), True), Clock("engine", ("queued", "scheduled"), True)) == found


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["wall=arrival"], "'queued' is in no clock"),
        (["wall=arrival", "engine=queued,first_token"], "'first_token' is not mapped"),
        (["wall=arrival", "engine=queued,arrival"], "'arrival' is not mapped or stands twice"),
        (["wall=arrival,queued"], "10.000 s"),
        (["one=arrival,queued"], "is not one clock"),
        (["wall"], "name=stamp,stamp"),
    ],
)
def test_wrong_declarations(given: list[str], message: str) -> None:
    """A declaration that leaves stamps out, repeats them or contradicts the values is refused."""
    with pytest.raises(UsageError, match=message):
        declared(given, ("arrival", "queued"), surveyed((EPOCH, 10.0)))


@pytest.mark.parametrize(
    ("unit", "value", "advice"),
    [
        ("s", 1_777_142_838_338, "arrival:ms"),
        ("s", 1_777_142_838_338_653, "arrival:us"),
        ("ms", 1_777_142_838_338_653_000, "arrival:ns"),
    ],
)
def test_wrong_unit_is_refused_with_the_right_one(unit: str, value: int, advice: str) -> None:
    """A column of impossible moments is refused, and the unit that would fit is named."""
    from otel_attrib.collector.imports.stamps import parse_stamp

    survey = Survey()
    stamp = parse_stamp(value, unit)
    assert stamp is not None
    survey.add({"arrival": stamp})

    with pytest.raises(UsageError, match=advice):
        survey.check_units({"arrival": unit})
