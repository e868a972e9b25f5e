"""How counters combine: the rules name counters that there are, and fit their kinds."""

from otel_attrib.schema.context_counters import EVERY_COUNTER, registered
from otel_attrib.schema.counter_rules import MEANS, PASSING, SUMMED, summed, table, wraps


def test_rules_name_counters_of_their_kind() -> None:
    """What is added or is a mean is a gauge, what passes is a total of seconds."""
    assert {"gauge"} == {registered(key).kind for key in SUMMED | MEANS}
    assert {("total", "s")} == {(registered(key).kind, registered(key).unit) for key in PASSING}


def test_rates_are_means() -> None:
    """A gauge of bytes a second is over the time since its last reading: it cannot be a level."""
    assert {counter.key for counter in EVERY_COUNTER if counter.unit == "By/s"} <= MEANS


def test_totals_are_added_and_only_whole_numbers_wrap() -> None:
    """Every total is summed over its series; times do not wrap, their counters have 64 bits."""
    totals = [counter for counter in EVERY_COUNTER if counter.kind == "total"]

    assert {True} == {summed(counter) for counter in totals}
    assert {"By"} == {
        counter.unit for counter in totals if wraps(counter) and not counter.unit.startswith("{")
    }
    assert not any(wraps(counter) for counter in EVERY_COUNTER if counter.kind == "gauge")


def test_the_views_know_every_counter() -> None:
    """The registry in SQL has one row a counter, in order."""
    rows = table().splitlines()[1:-1]

    assert [f"('{counter.key}', " for counter in EVERY_COUNTER] == [
        row.strip()[: len(counter.key) + 5] for row, counter in zip(rows, EVERY_COUNTER, strict=True)
    ]
