"""XID events: counted per card, said in words, never waited for."""

import re
from typing import Any

import pytest

from otel_attrib.collector.sources.xid import XIDS, explain


def test_events_are_counted_per_card(
    fake: Any, plain_card: Any, told_of: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Two of one card and none of the other; the newest number is told beside the count."""
    fake.script("gpus 2", *plain_card(0), *plain_card(1), "at 1", "xid 1 13", "at 2", "xid 1 79")
    source = fake.source()
    counts = []
    for second in range(4):
        fake.at(second)
        told = told_of(source.read())
        counts.append((told["xid", "0", ""], told["xid", "1", ""], told.get(("last_xid", "1", ""))))

    assert [(0, 0, None), (0, 1, 13), (0, 2, 79), (0, 2, 79)] == counts
    assert [
        "GPU 1: XID 13: an exception in a kernel, mostly an illegal address or instruction of the program "
        "(the card itself is seldom at fault)",
        "GPU 1: XID 79: the card has fallen off the bus: power, seating, heat or the PCIe slot",
    ] == [record.getMessage() for record in caplog.records]


def test_a_storm_of_events_is_counted_and_said_once(
    fake: Any, plain_card: Any, told_of: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A prime number of events of one kind: all counted over some reads, one line."""
    fake.script("gpus 1", *plain_card(), *["xid 0 94"] * 149)
    source = fake.source()
    counts = [told_of(source.read())["xid", "0", ""] for _ in range(4)]

    assert [64, 128, 149, 149] == counts
    assert 1 == len(caplog.records)


def test_events_that_may_not_be_registered(
    fake: Any, plain_card: Any, told_of: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The card is read without them, and the user is told."""
    fake.script("gpus 1", *plain_card(), "gpu 0 register 4")
    told = told_of(fake.source().read())

    assert ("xid", "0", "") not in told
    assert ["GPU 0: its XID events cannot be seen: Insufficient Permissions"] == [
        r.getMessage() for r in caplog.records
    ]


def test_explanations_are_of_numbers_seen_in_logs() -> None:
    """Kernel logs of real failures name XIDs 13, 43 and 119; each is explained, none is guessed."""
    seen = re.findall(
        r"\): (\d+),", "Xid (PCI:0000:38:00): 13, Xid (PCI:0000:38:00): 43, Xid (PCI:0000:9b:00): 119,"
    )

    assert [False, False, True] == [XIDS[int(number)].matters for number in seen]
    assert "XID 9999: see NVIDIA's guide to XID errors" == explain(9999)
