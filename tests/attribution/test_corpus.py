"""A run that is made, kept and read again, and its truth."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.attribution.case import read_case
from benchmarks.attribution.corpus import Corpus
from benchmarks.attribution.export import export
from benchmarks.attribution.judge import judge
from benchmarks.attribution.peers.answer import Answer
from benchmarks.attribution.plan import Planned, plan
from otel_attrib.fleet.scenario import Windows

SMALL = 600


def planned(family: str) -> Planned:
    """The first run of a family, on small windows."""
    run = next(run for run in plan(1, SMALL) if run.family == family)
    return replace(run, scenario=replace(run.scenario, windows=Windows(requests=SMALL, warmup=5.0)))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Corpus, list[Planned]]:
    """A corpus of one fault and one null."""
    runs = [planned("packet_loss"), planned("stationary")]
    corpus = Corpus(tmp_path_factory.mktemp("build"), SMALL)
    for run in runs:
        corpus.make_one(run)
    return corpus, runs


def test_truth_of_a_fault(made: tuple[Corpus, list[Planned]]) -> None:
    """Lost packets are the network's, on one node; layers and the rest are the whole change."""
    corpus, (fault, null) = made
    truth, quiet = corpus.truth(fault), corpus.truth(null)

    assert ("network",) == truth.culprits
    assert {"node": "node-0"} == truth.where or {"node": "node-1"} == truth.where
    assert pytest.approx(truth.delta_ms) == sum(truth.layers_ms.values()) + truth.rest_ms
    assert ((), {}) == (quiet.culprits, quiet.where)
    assert "NO_REGRESSION" in quiet.verdicts


def test_case_holds_its_two_windows_and_no_truth(made: tuple[Corpus, list[Planned]]) -> None:
    """Both windows hold about as many requests as asked; nothing in the folder tells the truth."""
    corpus, (fault, _) = made
    case = read_case(corpus.case(fault))

    assert pytest.approx(SMALL, rel=0.2) == case.baseline.rows.n
    assert case.baseline.window.end == case.current.window.start
    assert len(case.current.samples) > 0
    assert {"baseline", "current"} == set(json.loads((corpus.case(fault) / "run.json").read_text()))


def test_same_plan_same_bytes(made: tuple[Corpus, list[Planned]], tmp_path: Path) -> None:
    """A run that is made again is the same, byte for byte."""
    corpus, (fault, _) = made
    again = Corpus(tmp_path, SMALL)
    again.make_one(fault)

    for name in ("requests", "steps", "samples", "marks"):
        files = [each.case(fault) / f"{name}.parquet" for each in (corpus, again)]
        assert files[0].read_bytes() == files[1].read_bytes()


def test_judged_slice_is_over_requests(made: tuple[Corpus, list[Planned]]) -> None:
    """Naming the broken node overlaps wholly; a run without a slice has none to overlap."""
    corpus, runs = made
    node = corpus.truth(runs[0]).where
    answers = {"peer": {run.name: Answer("network", where=node) for run in runs}}

    assert [1.0, None] == [outcome.overlap for outcome in judge(corpus, runs, answers)["peer"]]


def test_export_is_one_set(made: tuple[Corpus, list[Planned]], tmp_path: Path) -> None:
    """The exported tables hold every run's rows, and a label for each run."""
    import pyarrow.parquet as pq

    corpus, runs = made
    export(corpus, runs, tmp_path)
    labels = pq.read_table(tmp_path / "runs.parquet").to_pylist()
    requests = pq.read_table(tmp_path / "requests.parquet")

    assert [(run.name, run.kind) for run in runs] == [(row["run"], row["kind"]) for row in labels]
    assert ["network", ""] == [row["culprits"] for row in labels]
    assert {run.name for run in runs} == set(requests["run"].to_pylist())
