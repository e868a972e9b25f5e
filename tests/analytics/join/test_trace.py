"""The evidence of one request: its controls, its words, and a model fleet whose truth is known."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from otel_attrib.analytics.join.findings import RequestEvidence
from otel_attrib.analytics.join.stretches import REQUEST
from otel_attrib.analytics.join.text import lines
from otel_attrib.analytics.join.trace import request_evidence
from otel_attrib.analytics.trace_lookup import find
from otel_attrib.fleet import Simulation, load_scenario, simulate
from otel_attrib.fleet.deliver import deliver_fast
from otel_attrib.schema.store import Store

Put = Callable[..., None]
SECOND = 1_000_000


def evidence(store: Store, row: dict[str, Any]) -> RequestEvidence:
    """What the store says of one request."""
    return request_evidence(store, find(store, row["trace_id"]))


@pytest.fixture
def throttled(
    put_samples: Put, put_requests: Put, request_row: Callable[..., dict[str, Any]]
) -> dict[str, Any]:
    """A request at second 100 whose card throttles from second 99 on; 20 earlier ones; n2 is quiet."""
    asked = request_row(99, 100 * SECOND)
    earlier = [request_row(number, (50 + 2 * number) * SECOND, status="ok") for number in range(20)]
    put_requests(asked, *earlier, request_row(77, 100 * SECOND, node="n2", gpu_set="n2:0"))
    rows: list[Any] = []
    for tenth in range(1300):
        at = tenth * SECOND // 10
        for node in ("n1", "n2"):
            slow = node == "n1" and at >= 99 * SECOND
            rows += [
                (at, "gpu_clock", node, "0", 1200.0 if slow else 1980.0 + tenth % 3, {}),
                (at, "gpu_throttle_time", node, "0", 0.4 * max(0.0, at / 1e6 - 99) if slow else 0.0, {}),
                (at, "run_queue_wait", node, "", 0.01 * at / 1e6, {}),
            ]
    rows += [(tenth, "clock_uncertainty", node, "", 1e-3, {}) for tenth in (99, 100) for node in ("n1", "n2")]
    put_samples(rows)
    return asked


def test_a_request_beside_its_controls(store: Store, throttled: dict[str, Any]) -> None:
    """Values in its own time, what is usual for as long a time, what the other engine saw then."""
    told = evidence(store, throttled)

    found = {(each.stage, each.counter.key): each for each in told.findings}
    clock, spent = found["prefill", "gpu_clock"], found["decode", "gpu_throttle_time"]
    assert clock.before is not None
    assert pytest.approx((1200, 1981), abs=1) == (clock.value, clock.before.median)
    assert pytest.approx(0.6) == spent.value
    assert spent.before is not None
    assert spent.beside is not None
    assert (0.0, 0.0, 20, 1) == (spent.before.median, spent.beside.median, spent.before.n, spent.beside.n)
    assert (clock.z or 0) < -15
    assert (spent.z or 0) > 15
    assert abs(found["decode", "run_queue_wait"].z or 0) < 1
    assert ["gpu_clock", "gpu_throttle_time"] == sorted({each.counter.key for each in told.findings[:8]})
    assert (20, 1, True, ("n1:0",)) == (told.earlier, told.engines, told.named, told.devices)


def test_stages_add_up_to_the_request(store: Store, throttled: dict[str, Any]) -> None:
    """What a total grew by in the stages is what it grew by in the whole request."""
    told = evidence(store, throttled)
    for key in ("gpu_throttle_time", "run_queue_wait"):
        by_stage = {each.stage: each.value for each in told.findings if each.counter.key == key}

        assert pytest.approx(by_stage.pop(REQUEST)) == sum(by_stage.values())


def test_in_words(store: Store, throttled: dict[str, Any]) -> None:
    """The most unusual first, tables of at most 80 columns, whose clocks, and what was not read."""
    text = lines(evidence(store, throttled))

    assert "evidence: SM clock" in text[0] or "evidence: time throttled" in text[0]
    assert [] == [line for line in text if len(line) > 80]
    assert "  clocks: one clock: n1" in text
    whole = " ".join(line.strip() for line in text)
    assert "not read: PCIe, NVLink, TCP, send queues; `otel-attrib agent` on n1 reads" in whole
    assert [line for line in text if line.startswith("prefill, 400.0 ms")]


def test_more_samples_than_are_fetched(
    store: Store, throttled: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Past the limit they come from less far around, then in cells of time: totals hold, coverage says it."""
    exact = {(each.stage, each.counter.key): each for each in evidence(store, throttled).findings}
    for most, covered in ((1000, 0.9), (60, 0.3)):
        monkeypatch.setattr("otel_attrib.analytics.join.fetch.SAMPLES_AT_MOST", most)
        found = {(each.stage, each.counter.key): each for each in evidence(store, throttled).findings}

        spent, before = found[REQUEST, "gpu_throttle_time"], exact[REQUEST, "gpu_throttle_time"]
        assert pytest.approx(before.value, abs=0.02) == spent.value
        assert covered < spent.coverage <= before.coverage


def test_nothing_was_read(
    store: Store, put_requests: Put, request_row: Callable[..., dict[str, Any]]
) -> None:
    """Without samples there is no value, and what would read them is said."""
    row = request_row(5, 0)
    put_requests(row)
    told = evidence(store, row)

    assert () == told.findings
    text = " ".join(lines(told))
    assert text.startswith("evidence: no counter of n1 was read in that time")
    assert "`otel-attrib agent` on n1" in text


def test_a_request_without_any_time(
    store: Store, put_requests: Put, request_row: Callable[..., dict[str, Any]]
) -> None:
    """A request of which nothing was timed has no stretch to read in: that is said, and nothing fails."""
    nothing = {name: None for name in request_row(8, 0) if name.endswith("_us") and name != "time_us"}
    row = request_row(8, 0, **nothing)
    put_requests(row, request_row(9, 0))

    assert "no time of this request was observed" in lines(evidence(store, row))[0]


def test_cards_of_a_node_whose_clock_is_unknown(
    store: Store, put_samples: Put, put_requests: Put, request_row: Callable[..., dict[str, Any]]
) -> None:
    """Times of another node are not set against the request's until both say how far their clocks are off."""
    row = request_row(6, 0, gpu_set="n2:0")
    put_requests(row)
    put_samples([(tenth * 100_000, "gpu_clock", "n2", "0", 1980.0, {}) for tenth in range(60)])
    assert (("n2",), ()) == (evidence(store, row).unplaced, evidence(store, row).findings)
    text = " ".join(line.strip() for line in lines(evidence(store, row)))
    assert (
        "nothing of n2 is placed in time: unknown: n1 and n2 do not say how far their clocks are off" in text
    )

    put_samples([(0, "clock_uncertainty", node, "", 0.02, {}) for node in ("n1", "n2")])
    told = evidence(store, row)

    cards = [each for each in told.findings if each.counter.key == "gpu_clock"]
    assert {"request", "prefill", "decode"} == {each.stage for each in cards}
    assert {40_000.0} == {each.clock_us for each in cards}
    assert {"n1": "one clock: n1", "n2": "n1 and n2 within 40 ms"} == dict(told.clocks)
    short = tuple(each.stage for each in told.stretches if each.length_us < 160_000)
    assert {"n2": short} == dict(told.too_short)
    whole = " ".join(line.strip() for line in lines(told))
    assert f"too short for the clocks to place n2 in it: {', '.join(short)}" in whole
    assert "shorter than the readings are apart" not in whole


def test_few_earlier_requests_are_no_usual(
    store: Store, put_samples: Put, put_requests: Put, request_row: Callable[..., dict[str, Any]]
) -> None:
    """Where fewer requests came before than a usual value takes, there is none, and the text says why."""
    asked = request_row(6, 100 * SECOND)
    put_requests(asked, *(request_row(number, (90 + number) * SECOND) for number in range(3)))
    put_samples([(tenth * 100_000, "gpu_clock", "n1", "0", 1980.0, {}) for tenth in range(1200)])
    told = evidence(store, asked)

    assert {None} == {each.before for each in told.findings}
    whole = " ".join(line.strip() for line in lines(told))
    assert "usual: 3 earlier requests like it on the same cards, and 5 are needed" in whole


@pytest.fixture(scope="module")
def hot_card() -> Simulation:
    """A fleet of eight cards, one of which throttles in the second window; read twice a second."""
    changes = ("windows.requests=1200", "sensors.interval=0.5", "sensors.noise=0.0")
    return simulate(load_scenario("clock-throttle", changes), 3)


@pytest.fixture
def fleet_store(store: Store, hot_card: Simulation) -> Iterator[Store]:
    """The simulation in the store."""
    deliver_fast(hot_card, store, lambda rows: None)
    yield store
    store.command("TRUNCATE TABLE steps")


def test_throttled_requests_show_it_and_only_those(fleet_store: Store, hot_card: Simulation) -> None:
    """Requests on the throttled card while it throttled show it; on other cards, and before, none does."""
    middle = hot_card.windows[1].start
    rows = fleet_store.rows(
        "SELECT * FROM requests WHERE e2e_us > 1500000 ORDER BY cityHash64(trace_id) LIMIT 400"
    )
    hit = [row for row in rows if row["gpu_set"] == "GPU-0" and row["node"] == "node-0"]
    groups = {
        True: [row for row in hit if row["time"] >= middle][:4],
        False: [row for row in rows if row not in hit][:4]
        + [row for row in hit if (middle - row["time"]).total_seconds() * 1e6 > row["e2e_us"] + 5e5][:4],
    }
    assert [4, 8] == [len(groups[True]), len(groups[False])]
    for shows, chosen in groups.items():
        for row in chosen:
            told = evidence(fleet_store, row)
            whole = {each.counter.key: each for each in told.of(REQUEST)}
            seconds = told.stretches[0].length_us / 1e6

            assert shows == (whole["gpu_throttle_time"].value > 0.3 * seconds)
            assert shows == (whole["gpu_throttled"].value > 0.3)


def test_the_fleets_own_totals(fleet_store: Store, hot_card: Simulation) -> None:
    """Between two readings a request's increase lies within its bounds of what the model's samples say."""
    table = hot_card.samples
    rows = fleet_store.rows("SELECT * FROM requests WHERE e2e_us > 2000000 ORDER BY trace_id LIMIT 5")
    for row in rows:
        told = evidence(fleet_store, row)
        (whole,) = [each for each in told.of(REQUEST) if each.counter.key == "gpu_throttle_time"]
        mine = [
            (time.timestamp() * 1e6, value)
            for time, metric, node, device, value in zip(
                *(table[name].to_pylist() for name in ("time", "metric", "node", "device", "value")),
                strict=True,
            )
            if (metric, node, device) == ("slatag.gpu.throttle_time", row["node"], row["gpu_set"])
        ]
        time, value = np.array(mine).T
        start = row["time"].timestamp() * 1e6
        expected = np.diff(np.interp([start, start + row["e2e_us"]], time, value))[0]

        assert pytest.approx(expected, abs=1e-5) == whole.value
        assert whole.low is not None
        assert whole.high is not None
        assert whole.low <= whole.value <= whole.high
