"""Each peer that needs nothing else answers runs whose cause is plain, and is not handed the truth."""

import importlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.attribution.case import Case
from benchmarks.attribution.peers import answering, install, roster
from benchmarks.attribution.peers.answer import Answer
from benchmarks.attribution.peers.stage_layers import ATTRIBUTE_LAYER, COUNTER_LAYER, STAGE_LAYER
from otel_attrib.schema.attributes import DECODE_STAGES, LAYERS, STAGES
from otel_attrib.schema.counters import COUNTERS

Made = Callable[..., Case]
STAGE_PEERS = ("tail_accounting", "mean_difference", "cte_difference", "rif_regression")


def ask(name: str, case: Case) -> Answer:
    """Ask one peer."""
    method = importlib.import_module(f"benchmarks.attribution.peers.{name}").answer
    found: Answer = method(case.baseline, case.current, 0.99)
    return found


@pytest.mark.parametrize("name", STAGE_PEERS)
def test_stage_peers_name_the_slow_stage(name: str, made: Made) -> None:
    """Prefill three times slower on one node of four: its stage has the most ms, and its owner is the GPU."""
    found = ask(name, made({"prefill": 3.0}))

    assert found.stages_ms is not None
    assert "prefill" == max(found.stages_ms, key=lambda stage: (found.stages_ms or {})[stage])
    assert "gpu" == found.layer


@pytest.mark.parametrize("name", STAGE_PEERS[:3])
def test_accounting_adds_up(name: str, made: Made) -> None:
    """The lines of the accounting peers add up to the change that they explain."""
    found = ask(name, made({"queue": 30.0}))

    assert found.sum_error_ms is not None and found.sum_error_ms < 1e-9
    assert "scheduler" == found.layer


def test_counter_ratio_reads_the_bad_direction(made: Made) -> None:
    """A clock that falls to a half is the largest ratio; nothing is named where none moved."""
    assert "gpu" == ask("counter_ratio", made(counter="gpu_clock")).layer
    assert None is ask("counter_ratio", made()).layer


def test_error_counter_blames_the_card(made: Made) -> None:
    """The card with CRC errors is blamed, whatever the latency did."""
    found = ask("error_counter", made(counter="nvlink_crc"))

    assert ("nvlink", {"node": "n1", "gpu_set": "GPU-0"}) == (found.layer, found.where)
    assert None is ask("error_counter", made()).layer


def test_event_deltas_finds_the_slow_node(made: Made) -> None:
    """The value that slow requests have in common is the slow node or its card."""
    found = ask("event_deltas", made({"prefill": 5.0}))

    assert found.where in ({"node": "n1"}, {"gpu_set": "n1:GPU-0"})


def test_tables_name_every_word() -> None:
    """Every stage, counter and layer has its place in the declared tables, and no other layer is in them."""
    assert {*STAGES, *DECODE_STAGES} == STAGE_LAYER.keys()
    assert {counter.key for counter in COUNTERS} == COUNTER_LAYER.keys()
    assert {*STAGE_LAYER.values(), *ATTRIBUTE_LAYER.values(), *COUNTER_LAYER.values()} <= {*LAYERS, None}


def test_an_error_is_an_answer_that_names_nothing(made: Made) -> None:
    """Whatever a peer's library raises is kept as its answer, with the time that it took."""

    def broken(*_: object) -> Answer:
        raise ValueError("no")

    found = answering.answer_case(broken, made())

    assert (None, "ValueError: no") == (found.layer, found.error)
    assert found.seconds > 0


def test_answers_are_kept_and_not_asked_again(made: Made, tmp_path: Path) -> None:
    """One file a peer and a run; what is there is left as it is."""
    made()
    folder = next(tmp_path.glob("made-*"))
    place = tmp_path / "answers/mean_difference-0a1b"

    answering.answer_all([place], [folder])
    kept = place / f"{folder.name}.json"
    first = kept.read_text()
    answering.answer_all([place], [folder])

    assert first == kept.read_text()
    assert {"layer", "score", "seconds"} <= json.loads(first).keys()


def test_roster_is_whole() -> None:
    """Each peer's module is there, and its requirements are pinned to the version."""
    for peer in roster.PEERS:
        assert importlib.import_module(f"benchmarks.attribution.peers.{peer.module}").answer
        if peer.environment:
            lines = (install.REQUIREMENTS / f"{peer.environment}.txt").read_text().splitlines()
            assert all("==" in line for line in lines if not line.startswith("#"))
