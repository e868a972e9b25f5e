"""The evidence of a window: rates of the places that served it, beside before and beside each other."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from otel_attrib.analytics.filters import parse_filter
from otel_attrib.analytics.join.window import PlaceLine, WindowEvidence, window_evidence
from otel_attrib.analytics.join.window_text import lines
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
NOW = Window(NOON + timedelta(seconds=100), NOON + timedelta(seconds=200))
SECOND = 1_000_000
CARDS = [(node, card) for node in ("n1", "n2") for card in ("0", "1")]


@pytest.fixture
def fleet(
    store: Store,
    put_samples: Callable[[Any], None],
    put_requests: Callable[..., None],
    request_row: Callable[..., dict[str, Any]],
) -> Store:
    """Two nodes of two cards; n1:1 throttles 40 % of the time from second 100 on, n2's threads wait then."""
    rows: list[Any] = []
    for second in range(260):
        late = max(0, second - 100)
        for node, card in CARDS:
            hot = (node, card) == ("n1", "1")
            rows += [
                (second * SECOND, "gpu_throttle_time", node, card, 5 + 0.4 * late * hot, {}),
                (second * SECOND, "gpu_clock", node, card, 1980.0, {}),
            ]
        for node, rate in (("n1", 0.0), ("n2", 0.3)):
            rows.append((second * SECOND, "run_queue_wait", node, "", 0.1 * second + rate * late, {}))
    put_samples(rows)
    put_requests(
        *(
            request_row(number, (105 + number) * SECOND, node=node, gpu_set=f"{node}:{card}")
            for number, (node, card) in enumerate(CARDS)
        )
    )
    return store


def of(told: WindowEvidence, key: str) -> dict[str, PlaceLine]:
    """The lines of one counter by place."""
    return {line.place: line for line in told.lines if line.counter.key == key}


def test_rates_and_what_stands_out(fleet: Store) -> None:
    """A total as its rate in the window and before; the card that stands out is first."""
    told = window_evidence(fleet, NOW)

    spent, waits = of(told, "gpu_throttle_time"), of(told, "run_queue_wait")
    assert pytest.approx({"n1:0": 0, "n1:1": 0.4, "n2:0": 0, "n2:1": 0}) == {
        place: line.value for place, line in spent.items()
    }
    assert pytest.approx((0.4, 0.0, 0.0, 1.0)) == (
        spent["n1:1"].value, spent["n1:1"].before, spent["n1:1"].others, spent["n1:1"].coverage
    )  # fmt: skip
    assert pytest.approx((0.4, 0.1, 30.0)) == (waits["n2"].value, waits["n2"].before, waits["n2"].z)
    assert pytest.approx((0.1, 0.0)) == (waits["n1"].value, waits["n1"].z)
    assert ["n1:1", "n2"] == [line.place for line in told.lines[:2]]
    assert (4, ("n1", "n2")) == (told.engines, told.nodes)


def test_only_what_was_chosen(fleet: Store) -> None:
    """With a condition only the cards and hosts that served those requests are told."""
    told = window_evidence(fleet, NOW, parse_filter(["node=n2"]))

    assert {"n2", "n2:0", "n2:1"} == {line.place for line in told.lines}


def test_in_words(fleet: Store) -> None:
    """The answer first, one row a counter, at most 80 columns, what was not read."""
    text = lines(window_evidence(fleet, NOW))

    assert "evidence: time throttled 400 ms/s on n1:1, 0 before, 0 on the others" == text[0]
    assert [] == [line for line in text if len(line) > 80]
    assert 1 == len([line for line in text if line.startswith("SM clock")])
    assert "not read: PCIe, NVLink, TCP, send queues" in " ".join(line.strip() for line in text)


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (300, "evidence: no request arrived in this window, so no card or host is meant"),
        (1000, "evidence: no counter of n1 was read in this window"),
    ],
)
def test_nothing_to_say(
    fleet: Store,
    put_requests: Callable[..., None],
    request_row: Callable[..., dict[str, Any]],
    start: int,
    expected: str,
) -> None:
    """Without requests no place is meant, without samples nothing was read: neither is a zero."""
    put_requests(request_row(50, 1001 * SECOND))
    window = Window(NOON + timedelta(seconds=start), NOON + timedelta(seconds=start + 60))

    assert expected == lines(window_evidence(fleet, window))[0]
