"""Layers of made-up faults: the layer named, sums that are exact, and what missing sensors do."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_attrib.analytics.analysis import analyse
from otel_attrib.analytics.books import Books, no_change
from otel_attrib.analytics.evidence import Layers, judge_layers
from otel_attrib.analytics.intervals import Estimate
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.period import NO_TABLE, Period, rows_of
from otel_attrib.schema.attributes import LAYERS

Scenes = Callable[..., Any]

FAULTS: dict[str, dict[str, Any]] = {
    "gpu": {
        "stages": {"prefill": 1.5, "decode_forward": 1.05},
        "counters": {"gpu_clock": 1320.0, "gpu_throttled": 0.8},
        "steps": {"forward_us": 20_000.0},
    },
    "pcie": {
        "stages": {"kv_init": 30.0},
        "counters": {"copy_time": 0.2, "pcie_width": 4.0},
        "steps": {"copy_us": 1500.0, "forward_us": 16_400.0},
    },
    "nvlink": {
        "ranks": 4,
        "stages": {"prefill": 1.4, "decode_forward": 1.03},
        "counters": {"nvlink_links": 9.0, "collective_time": 0.5},
        "steps": {"collective_us": 8000.0, "forward_us": 21_000.0},
    },
    "cpu": {
        "hit": lambda node, engine: node == 0,
        "stages": {"tokenize": 8.0, "ingress": 8.0, "egress": 8.0, "prefill": 1.05},
        "counters": {"run_queue_wait": 0.3, "cpu_pressure": 0.4},
        "steps": {"schedule_us": 3000.0, "output_us": 2000.0},
    },
    "network": {
        "hit": lambda node, engine: node == 0,
        "stages": {"ingress": 50.0},
        "counters": {"tcp_retransmits": 20.0, "tcp_rtt": 0.05},
    },
    "scheduler": {
        "stages": {"queue": 20.0},
        "steps": {"preemptions": 0.3, "kv_usage": 0.99},
        "figures": {"preemptions": 1.0},
        "replay_valid": True,
    },
}


@pytest.mark.parametrize("layer", FAULTS)
def test_fault_is_named(scene: Scenes, layer: str) -> None:
    """Each kind of trouble gets most of its ms, and its own counter is quoted for it."""
    found: Layers = scene(**FAULTS[layer]).judged()
    top = found.ranked[0]

    assert (layer, True, True) == (
        top,
        found.lines[top].share >= 0.7,
        any(e.own and e.speaks_for for e in found.evidence if e.layer == layer),
    )


@pytest.mark.parametrize("layer", FAULTS)
def test_sums_are_exact(scene: Scenes, layer: str) -> None:
    """Layers, workload, load and unexplained add up to the change; each stage is divided whole."""
    made = scene(**FAULTS[layer])
    found: Layers = made.judged()

    assert made.balance().delta.value == pytest.approx(found.delta, abs=1e-9)
    assert [1.0] * len(found.pi) == pytest.approx([sum(row.values()) for row in found.pi.values()])
    assert set(LAYERS) == set(found.lines)


@pytest.mark.parametrize("layer", ["gpu", "cpu", "network"])
def test_missing_sensor_caps_and_says_so(scene: Scenes, layer: str) -> None:
    """Without its sensors a layer gets at most 0.6 of any stage, and what would decide it is said."""
    found: Layers = scene(**FAULTS[layer], unread=True).judged()

    assert layer in found.missing_sensors
    assert max(row[layer] for row in found.pi.values()) <= 0.6 + 1e-9
    assert found.lines[layer].p <= 0.6 + 1e-9
    assert found.lines[layer].share < 0.61


def test_missing_sensor_is_told(scene: Scenes) -> None:
    """The sensor to add is named with its host."""
    found: Layers = scene(**FAULTS["gpu"], unread=True).judged()

    wanted = "no GPU clock or throttle counters of node0: run `otel-attrib agent` there, or import them"
    assert wanted in found.deciding


def test_queue_without_replay_stays_unexplained(scene: Scenes) -> None:
    """Waiting whose replay missed its gate is no layer's unless the scheduler's counters say so."""
    found: Layers = scene(stages={"queue": 20.0}, replay_valid=False).judged()

    assert found.pi["queue"]["unexplained"] > 0.95
    assert found.pi["queue"]["gpu"] < 1e-9


def test_neighbour_on_the_link(scene: Scenes) -> None:
    """Link traffic beyond the engine's own copies is a neighbour's, and PCIe's."""
    found: Layers = scene(
        stages={"kv_init": 30.0}, counters={"copy_time": 0.15, "pcie_receive": 4e10}
    ).judged()

    assert "pcie" == found.ranked[0]
    assert "pcie_neighbour" in [e.name for e in found.speaking("pcie", True)]


def test_own_bytes_at_the_same_speed_clear_the_link(scene: Scenes) -> None:
    """An engine that copies four times as much as fast as before is busy; its link is not slow."""
    found: Layers = scene(
        stages={"kv_init": 30.0},
        counters={"copy_time": 0.2, "copy_bytes": 8e9, "pcie_receive": 8e9, "pcie_transmit": 4e9},
    ).judged()

    assert {"copies_more", "copies_steady"} <= {e.name for e in found.speaking("pcie", False)}


def test_peers_that_moved_alike_clear_a_counter(scene: Scenes) -> None:
    """A clock that fell on every card alike says nothing of the one engine that became slow."""
    hot = scene(hit=lambda node, engine: True, counters={"gpu_clock": 1320.0})
    slow = scene(stages={"prefill": 1.5})
    after = replace(slow.period(True), samples=hot.period(True).samples)
    found = judge_layers(slow.balance(), slow.period(False), after, None)

    assert "clock_down" not in [e.name for e in found.evidence]


def test_coarse_counters_still_speak(scene: Scenes) -> None:
    """Read every 30 s instead of 5 s, the same fault is named."""
    found: Layers = scene(**FAULTS["gpu"], every=30.0).judged()

    assert "gpu" == found.ranked[0]


def test_change_for_the_better_is_judged_backwards(scene: Scenes) -> None:
    """What was wrong in the baseline is named, with the sign of the relief."""
    made = scene(**FAULTS["pcie"])
    books = made.balance()
    turned = Books(
        "ttft",
        replace(books.delta, value=-books.delta.value),
        {name: replace(e, value=-e.value) for name, e in books.stages.items()},
        no_change(),
        no_change(),
        no_change(),
    )
    found = judge_layers(turned, made.period(True), made.period(False), None)

    assert ("pcie", True) == (min(LAYERS, key=lambda name: found.lines[name].ms), found.lines["pcie"].ms < 0)


def test_same_input_same_answer(scene: Scenes) -> None:
    """Nothing depends on chance or on the order of a set."""
    made = scene(**FAULTS["cpu"])

    assert repr(made.judged()) == repr(made.judged())


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("named", [True, False], ids=["dims", "no dims"])
def test_hardly_a_row(scene: Scenes, n: int, named: bool) -> None:
    """With hardly a row, or rows that say nothing of where they were served, the lines still add up."""
    made = scene(stages={"prefill": 1.5})
    periods = []
    for after in (False, True):
        period = made.period(after)
        rows = period.rows.take(slice(0, n))
        rows = rows if named else replace(rows, dims={})
        periods.append(replace(period, rows=rows, requests=period.requests.slice(0, n)))
    found = judge_layers(made.balance(), periods[0], periods[1], None)

    assert made.balance().delta.value == pytest.approx(found.delta)


def test_nothing_but_books(scene: Scenes) -> None:
    """Without requests, steps and samples every layer lacks its sensors, and each is said to."""
    made = scene(stages={"prefill": 1.5})
    bare = [
        replace(made.period(after), requests=NO_TABLE, steps=NO_TABLE, samples=NO_TABLE)
        for after in (False, True)
    ]
    found = judge_layers(made.balance(), bare[0], bare[1], None)

    assert set(LAYERS) - {"nvlink"} == set(found.missing_sensors)
    assert len(found.deciding) >= 2


def test_any_books_balance(quiet_pair: tuple[Period, Period]) -> None:
    """Whatever the books hold, of whatever sign, the lines add up to the change."""
    names = ("ingress", "tokenize", "queue", "kv_init", "prefill", "sample", "egress")

    @settings(max_examples=25, deadline=None)
    @given(
        st.lists(st.floats(-1e4, 1e4), min_size=7, max_size=7),
        st.floats(-1e3, 1e3),
        st.floats(-1e3, 1e3),
        st.booleans() | st.none(),
    )
    def balance(stages: list[float], workload: float, load: float, replayed: bool | None) -> None:
        parts = {name: Estimate(ms, 1.0, 19.0) for name, ms in zip(names, stages, strict=True)}
        delta = sum(stages) + workload + load
        rest = Estimate(workload, 1.0, 19.0), Estimate(load, 1.0, 19.0), no_change()
        books = Books("ttft", Estimate(delta, 1.0, 19.0), parts, *rest, replayed)
        found = judge_layers(books, *quiet_pair, None)

        assert delta == pytest.approx(found.delta, abs=1e-6)
        assert all(np.isclose(sum(row.values()), 1.0) for row in found.pi.values())

    balance()


@pytest.mark.parametrize("unread", [False, True])
@pytest.mark.parametrize("without_steps", [False, True])
@pytest.mark.parametrize("layer", FAULTS)
def test_no_ms_without_own_evidence(scene: Scenes, layer: str, unread: bool, without_steps: bool) -> None:
    """A layer that gets anything of any stage is spoken for by itself, or by the replayed queue."""
    found: Layers = scene(**FAULTS[layer], unread=unread, without_steps=without_steps).judged()
    heard = {e.layer for e in found.evidence if e.own and e.speaks_for}

    for stage, row in found.pi.items():
        allowed = heard | ({"scheduler"} if stage == "queue" and found.replay_valid else set())
        assert {name for name in LAYERS if row[name]} <= allowed
    assert {name for name in LAYERS if found.lines[name].ms} <= heard | {"scheduler"}


@pytest.mark.parametrize("kept", [(), ("queue_us", "prefill_us")], ids=["no stages", "two stages"])
def test_latencies_alone_blame_no_layer(scene: Scenes, kept: tuple[str, ...]) -> None:
    """Where only latencies (or two stages) are known every layer gets 0 ms, and all is unexplained."""
    made = scene(stages={"prefill": 1.6}, hit=lambda node, engine: True, without_steps=True, unread=True)
    before, after = (bare(made.period(after), kept) for after in (False, True))
    report = analyse(before, after, metric=METRICS["ttft"])

    assert report.delta is not None and report.delta.interval()[0] > 5
    assert dict.fromkeys(LAYERS, 0.0) == {name: line.ms for name, line in report.layers.items()}
    assert {(0.0, 0.0)} == {line.ci for line in report.layers.values()}
    assert report.delta.value == pytest.approx(sum(report.rest.values()), abs=1e-6)
    assert "GLOBAL" == report.verdict.word


def bare(period: Period, kept: tuple[str, ...]) -> Period:
    """The period as an import of latencies gives it: other stages and figures unknown."""
    known = ("ttft_us", "tpot_us", *kept)
    figures = {"preemptions", "prefill_chunks", "batch_size_mean", "cached_tokens"}
    requests = period.requests
    for at, name in enumerate(requests.column_names):
        if (name.endswith("_us") and name not in known) or name in figures:
            requests = requests.set_column(at, name, pa.nulls(len(requests), pa.float64()))
    return replace(period, requests=requests, rows=rows_of(requests, METRICS["ttft"]))
