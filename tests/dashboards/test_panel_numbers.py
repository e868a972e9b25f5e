"""Panels' numbers against the commands' own and against sums over the rows themselves."""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.analytics.filters import parse_filter
from otel_attrib.analytics.objectives.attained import attain
from otel_attrib.analytics.objectives.objective import Limit, Objective
from otel_attrib.analytics.windows import Window
from otel_attrib.cli import main
from otel_attrib.dashboards.boards import texts
from otel_attrib.fleet import load_scenario, simulate
from otel_attrib.fleet.deliver import deliver_fast
from otel_attrib.schema.attributes import STAGES
from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.store import Store, open_store

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.dashboards.macros import View

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
END = NOON + timedelta(minutes=4)
LIMITS = (Limit("ttft", 150.0), Limit("tpot", 22.0))
INSIDE = "time >= '2026-05-01 12:00:00' AND time < '2026-05-01 12:04:00'"
GIVEN = Objective(
    "chat-gold", "Gold's $1 chat", parse_filter(["tenant=chat"]), LIMITS, window=timedelta(hours=1)
)
BOARDS: dict[str, dict[str, Any]] = {name: json.loads(text) for name, text in texts(given=(GIVEN,)).items()}


@pytest.fixture(scope="module")
def fleet() -> Iterator[Store]:
    """A model fleet of two nodes with a card that throttles; four minutes and what came before."""
    settings = ("windows.requests=1000", "windows.warmup=1", "workload.rate=16")
    simulation = simulate(load_scenario("clock-throttle-node", settings), 3).starting(NOON)
    with open_store("chdb://memory/dashboards_numbers") as store:
        migrate(store)
        deliver_fast(simulation, store, lambda _: None)
        yield store


def view(interval_s: int = 60, **chosen: str | list[str]) -> View:
    """The four minutes, under the limits above unless others are chosen."""
    typed = {"ttft_limit_ms": "150", "tpot_limit_ms": "22", "target": "0.9"}
    return View(NOON, END - timedelta(seconds=1), interval_s, {**typed, **chosen})


def shown(store: Store, name: str, title: str, at: View, ref_id: str = "A") -> list[dict[str, Any]]:
    """The rows that a panel draws."""
    panel = next(one for one in BOARDS[name]["panels"] if one["title"] == title)
    (target,) = [one for one in panel["targets"] if one["refId"] == ref_id]
    return store.rows(at.expanded(target["rawSql"]))


@pytest.mark.parametrize("metric", ["ttft", "tpot", "tbt", "e2e"])
def test_p99_is_what_the_command_says(metric: str, fleet: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """A panel's P99 of a minute is the number that `otel-attrib quantiles` gives for that minute."""
    words = ["quantiles", "--metric", metric, "--window", "1m", "--step", "1m", "--last", "4m", "--json"]
    assert main([*words, "--at", END.isoformat(), "--dsn", f"chdb://memory/{fleet.database}"]) == 0
    told = {
        datetime.fromisoformat(point["end"]) - timedelta(minutes=1): point["ms"]
        for point in json.loads(capsys.readouterr().out)["points"]
    }

    assert 3 == len(told)
    rows = shown(fleet, "fleet", f"{metric.upper()}: P50, P95, P99", view())
    assert told == {row["time"]: row["p99"] for row in rows}


def test_the_table_of_nodes_is_what_top_says(fleet: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """Requests and P99s of each node are those of `otel-attrib top`."""
    words = ["top", "--by", "node", "--window", "4m", "--once", "--json", "--at", END.isoformat()]
    assert main([*words, "--dsn", f"chdb://memory/{fleet.database}"]) == 0
    told = json.loads(capsys.readouterr().out)["groups"]

    rows = shown(fleet, "fleet", "Nodes", view())
    assert {one["node"]: one["ttft_p99"] for one in told} == {row["node"]: row["ttft_p99_ms"] for row in rows}


def test_a_dot_is_a_request_at_the_p99(fleet: Store) -> None:
    """Each dot is a real request: of those that reach the P99 of its interval, less 1 %, the fastest."""
    p99 = {row["time"]: row["p99"] for row in shown(fleet, "fleet", "TTFT: P50, P95, P99", view())}
    dots = shown(fleet, "fleet", "TTFT: P50, P95, P99", view(), "B")
    times = defaultdict(list)
    for row in fleet.rows("SELECT toStartOfMinute(time) AS minute, trace_id, ttft_us FROM requests"):
        times[row["minute"].astimezone(UTC)].append((row["ttft_us"] / 1000, row["trace_id"]))

    assert set(p99) == {dot["time"] for dot in dots}
    for dot in dots:
        reached = [one for one in times[dot["time"]] if one[0] >= 0.99 * p99[dot["time"]]]
        assert min(reached) == (dot["at_p99"], dot["trace_id"])


def test_the_stages_of_the_tail_add_up_to_its_ttft(fleet: Store) -> None:
    """The stacked parts of an interval are the mean TTFT of the slowest hundredth of its requests."""
    times = defaultdict(list)
    for row in fleet.rows("SELECT toStartOfMinute(time) AS minute, ttft_us FROM requests"):
        times[row["minute"].astimezone(UTC)].append(row["ttft_us"] / 1000)

    for row in shown(fleet, "fleet", "Stages of the slowest hundredth", view()):
        ordered = sorted(times[row["time"]])
        slowest = ordered[int(0.99 * len(ordered)) :]
        whole = sum(value for name, value in row.items() if name != "time")
        assert sum(slowest) / len(slowest) == pytest.approx(whole, rel=1e-3)


def test_the_waterfall_is_the_request(fleet: Store) -> None:
    """Bars lie end to end: the stages reach TTFT, the decode the end; an absent stage has no bar."""
    (one,) = fleet.rows("SELECT * FROM requests ORDER BY ttft_us DESC LIMIT 1")
    rows = shown(fleet, "request", "Waterfall of stages", view(trace=one["trace_id"]))
    bars = {row["stage"]: (row["begins"], row[row["stage"]]) for row in rows}

    present = [stage for stage in STAGES if one[f"{stage}_us"] is not None]
    assert [*present, "decode"] == list(bars)
    at = 0.0
    for stage in (*present, "decode"):
        assert at == pytest.approx(bars[stage][0])
        at += bars[stage][1]
    assert one["e2e_us"] / 1000 == pytest.approx(at)
    assert one["ttft_us"] / 1000 == pytest.approx(bars["decode"][0], abs=0.002)


def test_the_heat_map_counts_every_request(fleet: Store) -> None:
    """Cells of an interval add up to its requests, and a request lies under the edge that its TTFT says."""
    rows = shown(fleet, "fleet", "TTFT heat map", view())
    minutes = defaultdict(list)
    for row in fleet.rows("SELECT toStartOfMinute(time) AS minute, ttft_us FROM requests"):
        minutes[row["minute"].astimezone(UTC)].append(row["ttft_us"] / 1000)

    for row in rows:
        edges = [float(name) for name in row if name != "time"]
        assert len(minutes[row["time"]]) == sum(row[name] for name in row if name != "time")
        upto = [name for name in row if name != "time" and float(name) <= 100]
        assert 100.0 in edges
        assert sum(ms < 100 for ms in minutes[row["time"]]) == sum(row[name] for name in upto)


def test_rates_times_the_interval_are_counts(fleet: Store) -> None:
    """Requests a second times the interval are the requests."""
    rows = shown(fleet, "fleet", "Requests and failures", view())
    (counted,) = fleet.rows(f"SELECT count() AS n FROM requests WHERE {INSIDE}")

    assert counted["n"] == round(sum(row["requests"] for row in rows) * 60)


def test_a_gauge_is_the_mean_of_its_readings(fleet: Store) -> None:
    """The SM clock of a card is the mean of what was read of it in the interval, in Hz."""
    read = defaultdict(list)
    for row in fleet.rows(
        "SELECT toStartOfMinute(time) AS minute, concat(node, ' ', device) AS name, value FROM samples "
        f"WHERE metric = 'hw.gpu.clock.graphics' AND {INSIDE}"
    ):
        read[row["minute"].astimezone(UTC), row["name"]].append(row["value"])

    rows = shown(fleet, "devices", "SM clock", view())
    assert {key: pytest.approx(1e6 * sum(values) / len(values)) for key, values in read.items()} == {
        (row["time"], row["name"]): row["value"] for row in rows
    }


def test_a_total_grows_by_what_was_read(fleet: Store) -> None:
    """Over one interval the rate of a total is what it gained between its first and last reading."""
    at = view(interval_s=86_400)
    drawn = shown(fleet, "devices", "Engine threads runnable, not running", at)
    found = fleet.rows(
        "SELECT node, attributes, min(samples.time) AS a, max(samples.time) AS b, min(value) AS low, "
        "max(value) AS high FROM samples "
        f"WHERE metric = 'slatag.process.run_queue_wait' AND {INSIDE} GROUP BY node, attributes"
    )
    grown: dict[str, float] = defaultdict(float)
    for one in found:
        grown[one["node"]] += (one["high"] - one["low"]) / (one["b"] - one["a"]).total_seconds()

    assert grown == pytest.approx({row["name"]: row["rate"] for row in drawn})


def test_attainment_is_what_the_objectives_say(fleet: Store) -> None:
    """Joint and marginal shares of the range are those that objectives with these limits have."""
    objective = Objective("all", "", parse_filter([]), LIMITS, target=0.9)
    held = attain(fleet, objective, Window(NOON, END))
    (row,) = shown(fleet, "slo", "The range against the limits", View(NOON, END, 60, view().chosen))

    assert (held.whole.value, held.marginal["ttft"].value, held.marginal["tpot"].value) == (
        row["joint"],
        row["ttft"],
        row["tpot"],
    )
    assert 0 < row["joint"] < 1
    assert held.whole.total == row["requests"]
    assert 1 - (1 - row["joint"]) / 0.1 == pytest.approx(row["budget_left"])


def test_an_objective_from_a_file_has_its_own_row(fleet: Store) -> None:
    """Its filter, limits, target and window are its own; quotes and dollars of its title survive."""
    (row,) = shown(fleet, "slo", "Objectives", View(NOON, END, 60))
    held = attain(fleet, GIVEN, Window(END - GIVEN.window, END))

    assert ("chat-gold", "Gold's $1 chat", 0.99) == (row["objective"], row["title"], row["target_share"])
    assert held.whole.value == row["attained_share"]


def test_burn_is_bad_requests_over_budget(fleet: Store) -> None:
    """At the end the burn of an hour is the share of bad requests of that hour over 1 − target."""
    at = View(NOON, END, 60, view().chosen)
    last = shown(fleet, "slo", "Burn rate", at)[-1]
    objective = Objective("all", "", parse_filter([]), LIMITS, target=0.9)
    held = attain(fleet, objective, Window(END - timedelta(hours=1), END + timedelta(seconds=1)))

    assert (1 - (held.whole.value or 0)) / 0.1 == pytest.approx(last["burn_1h"])


def test_the_choice_narrows_every_number(fleet: Store) -> None:
    """With a tenant and a node chosen the requests of the two alone are counted."""
    rows = shown(fleet, "fleet", "Requests and failures", view(tenant=["chat"], node=["node-0"]))
    (counted,) = fleet.rows(
        f"SELECT count() AS n FROM requests WHERE tenant = 'chat' AND node = 'node-0' AND {INSIDE}"
    )

    assert 0 < counted["n"] == round(sum(row["requests"] for row in rows) * 60)
