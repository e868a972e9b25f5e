"""A simulation as a whole: identities of its tables, repeatability, and the truth from paired runs."""

from dataclasses import replace

import numpy as np
import pyarrow.compute as pc
import pytest

from otel_attrib.analytics.filters import DIMENSIONS
from otel_attrib.analytics.metric import metric_named
from otel_attrib.analytics.period import rows_of
from otel_attrib.fleet import Simulation, load_scenario, paired, shipped, simulate
from otel_attrib.fleet.faults import FAMILIES
from otel_attrib.schema.attributes import STAGES

SMALL = ("windows.requests=400", "windows.warmup=3")


@pytest.fixture(scope="module")
def hogged() -> tuple[Simulation, Simulation]:
    """A CPU hog on one node, and the same requests without it."""
    return paired(load_scenario("cpu-hog", ("windows.requests=2000",)), 4)


def test_stages_add_up(hogged: tuple[Simulation, Simulation]) -> None:
    """The stages of every request add up to its TTFT, and those of a token to TPOT."""
    table = hogged[0].requests
    for name, parts in (
        ("ttft_us", [f"{stage}_us" for stage in STAGES]),
        ("tpot_us", [f"decode_{stage}_us" for stage in ("batch_wait", "forward", "sample", "egress")]),
    ):
        columns = [table[part].to_numpy() for part in parts]
        assert min(column.min() for column in columns) >= -1e-6
        np.testing.assert_allclose(np.sum(columns, axis=0), table[name].to_numpy(), rtol=0, atol=1e-5)


def test_end_to_end_is_first_token_and_the_rest(hogged: tuple[Simulation, Simulation]) -> None:
    """E2E = TTFT + TPOT × (tokens − 1), for every request."""
    table = hogged[0].requests
    later = table["tpot_us"].to_numpy() * (table["output_tokens"].to_numpy() - 1.0)

    np.testing.assert_allclose(
        table["ttft_us"].to_numpy() + later, table["e2e_us"].to_numpy(), rtol=0, atol=1e-4
    )


def test_rows_are_what_analytics_reads(hogged: tuple[Simulation, Simulation]) -> None:
    """`rows_of` takes the table: every request measured, each dimension there, nothing outside stages."""
    rows = rows_of(hogged[0].requests, metric_named("ttft"))

    assert hogged[0].run.requests.n == rows.n
    assert set(DIMENSIONS) == set(rows.dims)
    assert rows.observed.all()
    np.testing.assert_allclose(rows.stage("outside"), 0, atol=1e-6)


def test_same_seed_same_bytes() -> None:
    """The same scenario and seed give equal tables; another seed does not."""
    scenario = load_scenario("tokenizer", SMALL)
    first, second, other = simulate(scenario, 1), simulate(scenario, 1), simulate(scenario, 2)

    for name in ("requests", "steps", "samples", "marks"):
        assert getattr(first, name).equals(getattr(second, name))
    assert not first.requests.equals(other.requests)


def test_nothing_differs_before_the_fault(hogged: tuple[Simulation, Simulation]) -> None:
    """The paired runs are equal up to the last step that began before the fault; after it they differ."""
    on, off = hogged
    before = on.spans.baseline_end
    early = on.run.delivered[on.run.offsets[1:] - 1] < before - 1

    assert early.sum() > 500
    np.testing.assert_array_equal(on.run.served[early], off.run.served[early])
    np.testing.assert_array_equal(on.run.requests.arrival, off.run.requests.arrival)
    assert not np.array_equal(on.run.delivered, off.run.delivered)


def test_no_fault_is_a_fleet_without_one() -> None:
    """`fault=False` gives what the scenario without its [[fault]] gives."""
    scenario = load_scenario("power-cap", SMALL)

    assert simulate(scenario.without_faults(), 3).requests.equals(simulate(scenario, 3, fault=False).requests)


def test_a_neutral_fault_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault whose terms stay neutral leaves every time as it was."""
    from otel_attrib.fleet import faults

    scenario = load_scenario("clock-throttle", SMALL)
    neutral = replace(faults.family_named("clock_throttle"), effects=lambda severity, card: {"compute": 1.0})
    monkeypatch.setitem(faults._BY_NAME, "clock_throttle", neutral)

    assert simulate(scenario, 3, fault=False).requests.equals(simulate(scenario, 3).requests)


@pytest.mark.parametrize("metric", ["ttft", "tpot", "e2e"])
def test_truth_adds_up(hogged: tuple[Simulation, Simulation], metric: str) -> None:
    """Layers add up to the fault's change, so do stages, and with what windows differ by anyway to ΔP99."""
    truth = hogged[0].truth_of(metric, 0.99)

    assert {"cpu"} == set(truth.layers)
    assert truth.fault_ms == pytest.approx(sum(truth.layers.values()), abs=1e-9)
    assert truth.fault_ms == pytest.approx(sum(truth.stages.values()), abs=1e-9)
    assert truth.delta_ms == pytest.approx(truth.fault_ms + truth.workload_ms, abs=1e-9)


def test_truth_is_what_the_tables_say(hogged: tuple[Simulation, Simulation]) -> None:
    """P99 before and after are those of the tables' rows in the two windows, between nearby quantiles."""
    simulation = hogged[0]
    times = pc.cast(simulation.requests["time"], "int64").to_numpy()
    ttft = simulation.requests["ttft_us"].to_numpy() / 1e3
    for window, told in zip(
        simulation.windows, (simulation.truth.before_ms, simulation.truth.after_ms), strict=True
    ):
        bounds = window.bounds_us()
        inside = (times >= bounds["from_us"]) & (times < bounds["to_us"])
        low, high = np.quantile(ttft[inside], [0.98, 0.997])
        assert low <= told <= high


def test_two_faults_share_by_shapley() -> None:
    """Two faults' shares add up to both together, and are what each adds, alone or last, on average."""
    found = simulate(load_scenario("two-faults", ("windows.requests=1500",)), 2)
    q = {chosen: float(rows_quantile(found, chosen)) for chosen in found.alone}
    gpu = ((q[(0,)] - q[()]) + (q[(0, 1)] - q[(1,)])) / 2

    assert found.truth.layers["gpu"] == pytest.approx(gpu, abs=1e-6)
    assert q[(0, 1)] - q[()] == pytest.approx(sum(found.truth.layers.values()), abs=1e-6)


def rows_quantile(found: Simulation, chosen: tuple[int, ...]) -> float:
    """P99 of TTFT in the current window of the run with these faults."""
    from otel_attrib.fleet.truth import quantile_of

    run = found.alone[chosen]
    inside = (run.requests.arrival >= found.spans.baseline_end) & (run.requests.arrival < found.spans.end)
    first = run.delivered[run.offsets[:-1]] - run.requests.arrival
    return quantile_of(first[inside] * 1e3, 0.99)


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_scenario_runs(name: str) -> None:
    """Each scenario gives requests in both windows, steps and readings, and a right verdict is known."""
    found = simulate(load_scenario(name, SMALL), 1)
    times = pc.cast(found.requests["time"], "int64").to_numpy()

    for window in found.windows:
        bounds = window.bounds_us()
        assert ((times >= bounds["from_us"]) & (times < bounds["to_us"])).sum() > 150
    assert len(found.steps) > 100
    assert len(found.samples) > 100
    assert found.truth.verdicts


def test_every_family_has_a_scenario() -> None:
    """No fault family is without a shipped scenario of its name."""
    assert {family.name.replace("_", "-") for family in FAMILIES} <= set(shipped())


@pytest.mark.parametrize("family", [family.name for family in FAMILIES])
def test_faults_hurt_and_the_worse_the_more(family: str) -> None:
    """At severity 3 every fault's ΔP99 of TTFT is above zero and above that at severity 1."""
    name = family.replace("_", "-")
    mild, severe = (
        simulate(
            load_scenario(name, ("windows.requests=3000", f"fault.severity={severity}")), 1
        ).truth.fault_ms
        for severity in (1, 3)
    )

    assert severe > max(mild, 1.0)
