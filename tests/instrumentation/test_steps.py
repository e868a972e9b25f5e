"""Steps come out of the log in order, packed into equal columns, at most 256 a slice."""

from typing import Any

from otel_attrib.instrumentation.steps import FIELDS, Row, StepLog
from otel_attrib.schema.attributes import STEP_COLUMNS, STEPS_PER_SPAN


def row(number: int, **values: int) -> Row:
    """A step that starts at its number in ms and takes 500 µs."""
    times = {"start_us": number * 1_000_000, "duration_us": 500_000}
    fields = dict.fromkeys(FIELDS, 0) | {"number": number} | times | values
    return tuple(fields.values())  # type: ignore[return-value] # sixteen by construction


def columns(attributes: dict[str, Any]) -> dict[str, list[str]]:
    """The packed columns, split."""
    return {name: attributes[f"slatag.steps.{name}"].split(",") for name in STEP_COLUMNS}


def test_columns_by_hand() -> None:
    """Times become µs from the span's start, −1 becomes an empty element, counts stay."""
    log = StepLog()
    log.append(row(7, batch_size=2, forward_us=1999, collective_us=-1))
    log.append(row(8, batch_size=3, forward_us=-1, collective_us=4000))

    (found,) = log.take()
    packed = columns(found.attributes)

    assert (7_000_000, 8_500_000) == (found.start, found.end)
    assert (7, 2) == (found.attributes["slatag.steps.first"], found.attributes["slatag.steps.count"])
    assert ["0", "1000"] == packed["start_us"]
    assert ["500", "500"] == packed["duration_us"]
    assert ["2", "3"] == packed["batch_size"]
    assert ["1", ""] == packed["forward_us"]
    assert ["", "4"] == packed["collective_us"]
    assert {2} == {len(values) for values in packed.values()}


def test_slices_of_256() -> None:
    """A slice holds at most 256 steps, all of them consecutive; a step is given out once."""
    log = StepLog()
    for number in [*range(1, 601), *range(700, 702)]:
        log.append(row(number))

    slices = [found.attributes for found in log.take()]
    taken = [(found["slatag.steps.first"], found["slatag.steps.count"]) for found in slices]

    assert [(1, STEPS_PER_SPAN), (257, STEPS_PER_SPAN), (513, 88), (700, 2)] == taken
    assert [] == list(log.take())


def test_overlapping_steps() -> None:
    """With two batches in flight a slice ends with the step that ends last."""
    log = StepLog()
    log.append(row(1, duration_us=9_000_000))
    log.append(row(2, duration_us=1_000_000))

    (found,) = log.take()

    assert 10_000_000 == found.end


def test_a_full_log_drops_and_counts() -> None:
    """When nobody takes the steps, the log stays bounded and says how many it lost."""
    log = StepLog(most=3)
    for number in range(5):
        log.append(row(number))

    (found,) = log.take()

    assert 2 == log.dropped
    assert 3 == found.attributes["slatag.steps.count"]
