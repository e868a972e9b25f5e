"""Derived limits against numpy on the same rows, and by the rule's own words."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics.filters import EVERY_REQUEST, parse_filter
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.objectives import Limit, Objective, load_objectives
from otel_attrib.analytics.objectives.derive import derive, derived_span
from otel_attrib.analytics.objectives.derived_object import ask_derive, derived_objectives
from otel_attrib.analytics.objectives.derived_text import (
    derived_headline,
    derived_notes,
    derived_rows,
    strips,
)
from otel_attrib.analytics.objectives.endpoint import Derived, proposed
from otel_attrib.analytics.objectives.writing import openslo_yaml
from otel_attrib.analytics.windows import Window
from otel_attrib.errors import UsageError
from otel_attrib.schema.store import Store

MAY = datetime(2026, 5, 1, tzinfo=UTC)
DAY = timedelta(days=1)
WEEK = Window(MAY, MAY + 7 * DAY)
# P95 within half of a bin's 1 %, and the division by 1000.
WITHIN = 0.00498


def week(n: int = 14_000, seed: int = 1, factor: float = 1.0) -> pa.Table:
    """A week of two models and two operations; the evening is slow, some requests stand for several."""
    rng = np.random.default_rng(seed)
    offsets = np.sort(rng.integers(0, 7 * 86_400, n))
    hours = offsets // 3600 % 24
    ttft = rng.lognormal(11, 0.4, n) * np.where((hours >= 18) & (hours < 21), 2.0, 1.0) * factor
    return pa.table(
        {
            "time": pa.array([MAY + timedelta(seconds=int(s)) for s in offsets], pa.timestamp("us", "UTC")),
            "service": ["chat"] * n,
            "model": rng.choice(["m0", "m1"], n).tolist(),
            "operation": rng.choice(["chat", "completions"], n, p=[0.9, 0.1]).tolist(),
            "tenant": rng.choice(["acme", "zen"], n).tolist(),
            "status": ["ok"] * n,
            "output_tokens": np.full(n, 9, dtype=np.uint32),
            "weight": rng.choice([1, 5], n).astype(np.uint32),
            "ttft_us": pa.array(ttft, mask=rng.random(n) < 0.05),
        }
    )


def oracle(table: pa.Table, **chosen: Any) -> float:
    """The P95 of repeated rows that numpy takes, at rank floor(0.95·(n−1))+1, in ms."""
    mine = np.ones(table.num_rows, dtype=bool)
    for name, value in chosen.items():
        mine &= _column(table, name) == value
    values = table["ttft_us"].to_numpy(zero_copy_only=False)[mine]
    weights = table["weight"].to_numpy()[mine]
    held = ~np.isnan(values)
    return float(np.quantile(np.repeat(values[held], weights[held]), 0.95, method="lower")) / 1000


def _column(table: pa.Table, name: str) -> Any:
    if name in ("hour", "day"):
        times = table["time"].to_pylist()
        return np.array([time.hour if name == "hour" else time.date() for time in times])
    return np.array(table[name].to_pylist())


def derived(store: Store, *objectives: Objective, where: tuple[str, ...] = ()) -> Derived:
    """What a week of TTFT says."""
    return derive(store, METRICS["ttft"], WEEK, parse_filter(where), objectives)


def promise(ms: float, *where: str) -> Objective:
    """An objective with one TTFT limit."""
    return Objective("promise", "", parse_filter(where), (Limit("ttft", ms),))


def test_hours_and_days_are_numpys(store: Store) -> None:
    """Every endpoint's P95 by hour and by day is within the bound of the weighted order statistic."""
    table = week()
    store.insert_arrow("requests", table)

    found = derived(store)

    assert ["chat/m0/chat", "chat/m0/completions", "chat/m1/chat", "chat/m1/completions"] == [
        endpoint.name for endpoint in found.endpoints
    ]
    for endpoint in found.endpoints:
        chosen = {"model": endpoint.model, "operation": endpoint.operation}
        for cell in endpoint.hours:
            assert cell.p95_ms == pytest.approx(oracle(table, hour=cell.at, **chosen), rel=WITHIN)
        for cell in endpoint.days:
            assert cell.p95_ms == pytest.approx(oracle(table, day=cell.at, **chosen), rel=WITHIN)


def test_counts_are_weights_of_measured_requests(store: Store) -> None:
    """`n` adds up to what the measured requests stand for, by hour and by day."""
    table = week()
    store.insert_arrow("requests", table)
    measured = ~np.isnan(table["ttft_us"].to_numpy(zero_copy_only=False))
    expected = int(table["weight"].to_numpy()[measured].sum())

    found = derived(store).endpoints

    assert expected == sum(endpoint.n for endpoint in found)
    assert expected == sum(cell.n for endpoint in found for cell in endpoint.hours)
    assert expected == sum(cell.n for endpoint in found for cell in endpoint.days)


def test_the_proposal_is_the_peak_and_a_fifth(store: Store) -> None:
    """The peak is an evening hour, the proposal its P95 × 1.2, rounded up to two digits."""
    table = week()
    store.insert_arrow("requests", table)

    for endpoint in derived(store, where=("operation=chat",)).endpoints:
        peak, proposal = endpoint.peak, endpoint.proposal_ms
        assert peak is not None
        assert proposal is not None
        assert peak.at in (18, 19, 20)
        assert peak.p95_ms == max(cell.p95_ms for cell in endpoint.hours if not cell.few)
        assert 1.2 * peak.p95_ms <= proposal < 1.1 * 1.2 * peak.p95_ms


@pytest.mark.parametrize(
    ("peak", "expected"),
    [(97.3, 120), (100, 120), (1234, 1500), (8.2, 9.9), (0.5, 0.6), (0.0123, 0.015), (82.5, 99), (83.4, 110)],
)
def test_rounding_is_up_to_two_digits(peak: float, expected: float) -> None:
    """What lies on two digits stays there; what does not goes up."""
    assert expected == proposed(peak)


def test_an_endpoint_of_few_requests_has_no_proposal(store: Store) -> None:
    """With fewer than 100 requests in every hour nothing is proposed, and the table says so."""
    store.insert_arrow("requests", week(n=300))

    found = derived(store, where=("operation=completions",))

    assert {None} == {endpoint.proposal_ms for endpoint in found.endpoints}
    assert "0 of 2 endpoints have a TTFT to promise" == derived_headline(found)
    assert [("-", "-", "-")] * 2 == [row[2:5] for row in derived_rows(found)]


def test_three_days_running_near_the_limit_want_a_new_one(store: Store) -> None:
    """Above 0.9 × the limit on the last three whole days: re-calibrate; a limit with room is left alone."""
    table = week()
    store.insert_arrow("requests", table)
    last = [oracle(table, model="m0", operation="chat", day=date(2026, 5, day)) for day in (5, 6, 7)]
    near, far = min(last) / 0.9 * 0.99, min(last) / 0.9 * 1.02

    def days(ms: float) -> list[tuple[str, int, bool]]:
        found = derived(store, promise(ms, "model=m0"), where=("operation=chat",))
        return [(e.model, p.days_near, p.recalibrate) for e in found.endpoints for p in e.promised]

    ((model, running, recalibrate),) = days(near)
    assert ("m0", True) == (model, recalibrate)
    assert running >= 3
    ((_, running, recalibrate),) = days(far)
    assert not recalibrate
    assert running < 3


def test_the_running_day_and_thin_days_count_for_nothing(store: Store) -> None:
    """A run ends yesterday, and a day with fewer than 100 requests ends it."""
    store.insert_arrow("requests", week(n=14_000))
    store.command("ALTER TABLE requests DELETE WHERE toDate(time) = '2026-05-06' SETTINGS mutations_sync = 1")
    tight = promise(1.0)

    chats = parse_filter(["operation=chat"])
    whole = derive(store, METRICS["ttft"], WEEK, chats, [tight])
    early = derive(store, METRICS["ttft"], Window(MAY, MAY + 5.5 * DAY), chats, [tight])

    assert {1} == {each.days_near for end in whole.endpoints for each in end.promised}
    assert {5} == {each.days_near for end in early.endpoints for each in end.promised}


def test_an_objective_is_held_against_its_own_requests_alone(store: Store) -> None:
    """One on a tenant says nothing about all requests of an endpoint; asked for the tenant, it does."""
    store.insert_arrow("requests", week(n=3000))
    tenant = promise(1.0, "tenant=acme")

    assert [] == [each for end in derived(store, tenant).endpoints for each in end.promised]
    assert 4 == len(
        [each for end in derived(store, tenant, where=("tenant=acme",)).endpoints for each in end.promised]
    )
    assert [] == [
        each for end in derived(store, promise(1.0, "service=other")).endpoints for each in end.promised
    ]


def test_the_file_reads_back(store: Store, tmp_path: Path) -> None:
    """What `--yaml` writes are objectives on endpoint and chosen requests, 95 of 100 in the limit."""
    store.insert_arrow("requests", week())
    found = derived(store, where=("tenant=acme",))
    objectives = derived_objectives(found, parse_filter(["tenant=acme"]))
    (tmp_path / "slo.yaml").write_text(openslo_yaml(objectives))

    read = load_objectives(tmp_path / "slo.yaml")

    assert tuple(objectives) == read
    proposals = [end.proposal_ms for end in found.endpoints if end.proposal_ms is not None]
    assert proposals == [each.limits[0].ms for each in read]
    assert {0.95} == {each.target for each in read}
    assert "model=m0 operation=chat service=chat tenant=acme" == str(read[0].where)
    assert "chat-m0-chat-ttft" == read[0].name


def test_names_that_meet_are_numbered(store: Store) -> None:
    """Two endpoints whose names differ in signs that OpenSLO does not take are both there."""
    table = week(n=8000)
    models = pa.array([f"m{'.' if i % 2 else '_'}1" for i in range(table.num_rows)])
    table = table.set_column(table.schema.get_field_index("model"), "model", models)
    store.insert_arrow("requests", table)

    names = [
        each.name for each in derived_objectives(derived(store, where=("operation=chat",)), EVERY_REQUEST)
    ]
    assert ["chat-m-1-chat-ttft", "chat-m-1-chat-ttft-2"] == names


def test_text_keeps_to_eighty_columns(store: Store) -> None:
    """Strips have a shade for each hour of the day, and nothing is wider than a terminal."""
    store.insert_arrow("requests", week())
    found = derived(store)

    lines = [*strips(found), *derived_notes(found), derived_headline(found)]
    assert max(map(len, lines)) <= 80
    shades = [line.rpartition("  ")[2] for line in strips(found)][1:]
    assert [24] * 4 == [len(shade) for shade in shades]
    assert {18, 19, 20} >= {shade.index("█") for shade in shades}


def test_the_span_begins_with_a_whole_day(store: Store) -> None:
    """7d back from noon begins at midnight; spans that are no days are refused."""
    span = derived_span(store, "7d", EVERY_REQUEST, "2026-05-08T12:00:00Z")

    assert Window(MAY, datetime(2026, 5, 8, 12, tzinfo=UTC)) == span
    for last in ("1h", "93d"):
        with pytest.raises(UsageError, match="from 1 day to 92 days"):
            derived_span(store, last, EVERY_REQUEST, "now")


def test_nothing_measured_is_said(store: Store) -> None:
    """An empty store gives an empty answer, not a proposal."""
    body = ask_derive(store, "tpot", "7d", EVERY_REQUEST, "2026-05-08T00:00:00Z")

    assert [] == body["endpoints"]
    assert "no TTFT was measured from 2026-05-01T00:00:00Z on" == derived_headline(derived(store))
