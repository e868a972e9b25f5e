"""The JSON of a report is a contract: its keys, its sums, its hash."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.attribution.peers.product import read_report
from otel_attrib.analytics.findings import SliceLine
from otel_attrib.analytics.intervals import Estimate
from otel_attrib.analytics.matrix import matrix_of
from otel_attrib.analytics.report import Report
from otel_attrib.analytics.report_text import render
from otel_attrib.analytics.verdict import RULE
from otel_attrib.schema.attributes import LAYERS

CASES = "cause cause_set mix load global no_regression fell insufficient likely empty diff".split()
KEYS = (
    "schema verdict headline metric quantile definition baseline current delta_ms delta_ci_ms p_regression"
    " stages layers workload_ms load_ms unexplained_ms slice evidence exemplars tail_accounting_ms deciding"
    " golden_ms matrix checks seed hash"
)
Make = Callable[..., Report]


@pytest.mark.parametrize("name", CASES)
def test_keys_are_the_same_for_every_verdict(case: Make, name: str) -> None:
    """No key comes or goes with the answer; all of it is JSON without NaN."""
    body = case(name).as_dict()

    assert KEYS.split() == list(body)
    assert ("otel-attrib/why/1", case(name).verdict.word) == (body["schema"], body["verdict"])
    assert body == json.loads(json.dumps(body, allow_nan=False))


@pytest.mark.parametrize("name", CASES)
def test_the_headline_is_what_the_text_begins_with(case: Make, name: str) -> None:
    """A page or an alert that shows `headline` says the same sentence as the command."""
    body = case(name).as_dict()
    text = render(case(name))

    assert body["headline"] == " ".join(text.split(f"\n{body['verdict']}: ")[0].split())


def test_the_shape_of_each_part(case: Make) -> None:
    """The parts are as specified, down to their keys."""
    body = case("cause").as_dict()

    assert {"from": "2026-05-01T12:00:00Z", "to": "2026-05-01T12:15:00Z", "n": 20000, "ms": 412.0} == body[
        "baseline"
    ]
    assert list(LAYERS) == list(body["layers"])
    assert ["ms", "share", "p", "ci_ms", "of_it"] == list(body["layers"]["gpu"])
    assert ["ms", "share", "p", "ci_ms"] == list(body["layers"]["pcie"])
    assert ["ms", "ci_ms"] == list(body["stages"]["prefill"])
    assert {
        "where": {"node": "node3", "gpu_set": "GPU-5"},
        "requests": 2510,
        "share_of_delta": 0.94,
    } == body["slice"]
    assert {
        "layer": "gpu",
        "for": True,
        "counter": "hw.gpu.throttled",
        "text": "power cap 62 % of the window, 0 % before and on 7 peers",
    } == body["evidence"][0]
    assert ["4bf92f3577b34da6a3ce929d0e0e4736", "5b8efff798038103d269b633813fc60c"] == body["exemplars"]
    assert RULE == body["checks"]["rule"]


@pytest.mark.parametrize("name", [name for name in CASES if name != "empty"])
def test_lines_add_up_to_the_change(case: Make, name: str) -> None:
    """Layers, and stages, each with workload, load and their own unexplained, make the change to 1e-6 ms."""
    body = case(name).as_dict()
    rest = body["workload_ms"] + body["load_ms"]
    layers = sum(line["ms"] for line in body["layers"].values())
    stages = sum(line["ms"] for line in body["stages"].values())

    assert body["delta_ms"] == pytest.approx(layers + rest + body["unexplained_ms"], abs=1e-6)
    assert body["delta_ms"] == pytest.approx(
        stages + rest + body["checks"]["stages_unexplained_ms"], abs=1e-6
    )
    assert body["delta_ms"] == pytest.approx(sum(body["golden_ms"].values()), abs=1e-6)


@pytest.mark.parametrize(
    "changed",
    [
        {"unexplained": Estimate(23.4 + 1e-5, 1.0, 18.0)},
        {"stages_unexplained": Estimate(11.6 - 1e-5, 1.0, 18.0)},
        {"delta": Estimate(459.3 + 2e-6, 1.0, 18.0)},
        {"load": Estimate(float("nan"), 1.0, 18.0)},
    ],
    ids=["unexplained", "stages", "delta", "nan"],
)
def test_lines_that_miss_the_change_are_refused(case: Make, changed: dict[str, Any]) -> None:
    """No report can exist whose lines do not add up."""
    with pytest.raises(AssertionError, match="miss the change by"):
        replace(case("cause"), **changed)


def test_an_unknown_number_is_null(case: Make) -> None:
    """Without a baseline there is no change, and nothing is invented."""
    body = case("empty").as_dict()

    assert [None] * 6 == [
        body[key] for key in ("delta_ms", "p_regression", "workload_ms", "load_ms", "unexplained_ms", "slice")
    ]
    assert ([None, None], {}, {}, {}) == (
        body["delta_ci_ms"],
        body["layers"],
        body["stages"],
        body["golden_ms"],
    )
    assert (None, 412.0) == (body["baseline"]["ms"], body["current"]["ms"])


def test_hash_is_of_everything_else(case: Make) -> None:
    """`hash` is the SHA-256 of the compact JSON without it, so anyone can check a report."""
    body = case("cause").as_dict()
    claimed = body.pop("hash")
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))

    assert hashlib.sha256(text.encode()).hexdigest() == claimed
    assert claimed != replace(case("cause"), level=0.95).as_dict()["hash"]


def test_sides_of_a_comparison_carry_name_and_selection(case: Make) -> None:
    """`diff` names its sides; `why` has none."""
    body = case("diff").as_dict()

    assert ("A", {"version": "1.0"}) == (body["baseline"]["name"], body["baseline"]["where"])
    assert ("B", {"version": "1.1"}) == (body["current"]["name"], body["current"]["where"])
    assert {"model": "llama-8b"} == body["checks"]["where"]


def test_further_slices_are_kept(case: Make) -> None:
    """The strongest slice stands where the contract has it, the others among the checks."""
    slices = (SliceLine({"node": "a"}, 10, 0.6), SliceLine({"tenant": "t"}, 5, 0.3))
    body = case("global", slices=slices).as_dict()

    assert {"node": "a"} == body["slice"]["where"]
    assert [{"tenant": "t"}] == [found["where"] for found in body["checks"]["more_slices"]]


def test_golden_formula(case: Make) -> None:
    """Compute and memory are the GPU's parts, transfer the links, scheduling the scheduler and the CPU."""
    golden = case("cause").as_dict()["golden_ms"]
    pair = case("cause_set").as_dict()["golden_ms"]

    assert (390.0, 8.2, 6.3, 0.0) == tuple(
        golden[term] for term in ("compute", "memory", "transfer", "scheduling")
    )
    assert (30.0, 180.0, 210.0) == tuple(
        pair[term] for term in ("gpu, not told apart", "transfer", "scheduling")
    )


def test_matrix_of_bottlenecks(case: Make) -> None:
    """Each column's lines add up to its change; CPU, GPU, PCIe and NVLink have rows of their own."""
    matrix = matrix_of({"ttft": case("cause"), "tpot": case("global"), "tbt": case("empty")})

    assert ["CPU", "GPU", "PCIe", "NVLink", "other layers", "workload", "load", "unexplained"] == list(
        matrix["ttft"]["lines"]
    )
    for column in (matrix["ttft"], matrix["tpot"]):
        lines = column["lines"].values()
        assert column["delta_ms"] == pytest.approx(sum(line["ms"] for line in lines), abs=1e-6)
        assert 1 == pytest.approx(sum(line["share"] for line in lines), abs=1e-6)
    assert (398.2, 90.0) == (matrix["ttft"]["lines"]["GPU"]["ms"], matrix["tpot"]["lines"]["CPU"]["ms"])
    assert ({}, None) == (matrix["tbt"]["lines"], matrix["tbt"]["delta_ms"])
    assert matrix == case("cause", matrix=matrix).as_dict()["matrix"]


def test_the_proof_reads_what_is_named(case: Make) -> None:
    """The proof takes the layer that the verdict names, not the largest, and guesses none that has 0 ms."""
    surer = read_report(case("cause_set", word="CAUSE", blamed=("network",)))
    nothing = read_report(case("global", layers={}))

    assert ("network", "network", 0.55) == (surer.layer, surer.guess, surer.score)
    assert (None, None, 0.0) == (nothing.layer, nothing.guess, nothing.score)
