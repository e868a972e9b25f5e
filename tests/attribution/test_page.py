"""The page of the proof says what was measured, and what was not."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.attribution.case import Truth
from benchmarks.attribution.outcome import Outcome
from benchmarks.attribution.page import Made, proof_page
from benchmarks.attribution.peers.answer import Answer
from benchmarks.attribution.plan import plan
from benchmarks.attribution.sections import SECTIONS, other_sections
from benchmarks.attribution.standings import standings, targets
from benchmarks.attribution.weights_told import told_weights

RUNS = plan(1)[:4]
FAULT = Truth(("CAUSE",), ("gpu",), False, {"gpu": 100.0}, {}, 0.0, 100.0)
QUIET = Truth(("NO_REGRESSION",), (), False, {}, {}, 0.0, 0.0)
OURS = (
    Answer("gpu", 0.9, "gpu", "CAUSE", {"gpu": 95.0}, sum_error_ms=1e-12, detected=True),
    Answer(None, 0.0, None, "NO_REGRESSION", {}, sum_error_ms=0.0, detected=False),
)
THEIRS = (Answer("cpu", 0.9, "cpu"), Answer("cpu", 0.4, "cpu"))


def judged(answers: tuple[Answer, Answer]) -> list[Outcome]:
    """One fault and one null, answered."""
    return [
        Outcome("a", "clock_throttle", "fault", FAULT, answers[0]),
        Outcome("b", "stationary", "null", QUIET, answers[1]),
    ]


FOUND = standings({"product": judged(OURS), "baro": judged(THEIRS)}, {"dowhy_": "did not install: no wheel"})
MADE = Made(RUNS, RUNS, 1, 20_000, "Weights by hand.", "make prove")


def test_peers_stand_behind_the_same_test_of_a_rise() -> None:
    """A peer that always names something is not charged for the quiet run, and is shown without that help."""
    baro = next(s for s in FOUND if s.peer.module == "baro")

    assert (0.0, 1.0) == (baro.figures["false"].value, baro.false_unasked.value)
    assert 0.0 == baro.figures["top1"].value


def test_targets_are_judged() -> None:
    """Every promise is reached by answers that are right to 5 %, and the worst sum is shown."""
    assert [True] * 7 == [target.reached for target in targets(FOUND)]


def test_a_missed_target_says_so() -> None:
    """A wrong layer misses the promises on accuracy."""
    wrong = replace(OURS[0], layer="cpu", guess="cpu")
    missed = [
        t.name for t in targets(standings({"product": judged((wrong, OURS[1]))}, {})) if t.reached is False
    ]

    assert {"top-1 layer among answered", "P(wrong given answered)"} <= set(missed)


def test_page_is_whole_and_the_same_twice() -> None:
    """Each section stands there once, a peer that did not install with its reason; the same every time."""
    page = proof_page(MADE, FOUND, {})

    assert page == proof_page(MADE, FOUND, {})
    assert "did not install: no wheel" in page
    assert [1] * 5 == [
        page.count(f"\n## {head}\n")
        for head in ("What was promised", "Beside its peers", "By fault family", "Weak spots", "Do it again")
    ]


def test_weights_are_told(tmp_path: Path) -> None:
    """The page says whether weights were fitted, on how many runs, and how families left out fared."""
    path = tmp_path / "weights.json"
    path.write_text('{"fitted_on": {"how": "set by hand"}}')
    assert "The layers' weights are not fitted: set by hand." == told_weights(path)

    left = {"to_name": 30, "named": 20, "wrong": 1, "named_where_nothing_broke": "0 of 25"}
    fitted = {"runs": 60, "requests": 7000, "families": ["a", "b"], "left_out": left}
    path.write_text(json.dumps({"fitted_on": fitted}))
    assert "fitted on 60 runs" in told_weights(path)
    assert "of 30 faults so asked 20 were named, 1 of all names wrongly" in told_weights(path)


@pytest.mark.parametrize("name", [name for name in SECTIONS if name != "real"])
def test_sections_of_other_benchmarks(name: str) -> None:
    """A list of records, or an object that holds one, becomes a table; what is missing is named."""
    rows = [{"way": "ours", "delay_s": 3.25, "alarms": None, "rivals": {"stormlog": "cpu"}}]

    for document in (rows, {"versions": "1", "runs": rows}):
        text = other_sections({name: document})
        assert "| way | delay s | alarms | stormlog |" in text
        assert "| ours | 3.25 | – | cpu |" in text
        assert SECTIONS[name][0] in text
    assert SECTIONS[name][2] in other_sections({})


def test_real_runs_stand_beside_their_rivals() -> None:
    """Each tool's answer stands with its grade, an abstention as a dash, and the grades are counted."""
    run = {"fault": "hog", "truth": ["cpu"], "repeat": 0, "before_ms": 79.0, "after_ms": 959.0, "p": 0.98}
    named = {"verdict": "CAUSE", "named": "cpu", "grade": "right"}
    silent = {"verdict": "GLOBAL", "named": "", "grade": "abstained"}
    beside = {"rivals": {"stormlog": "network"}, "rival_grades": {"stormlog": "wrong"}}
    alone: dict[str, object] = {"rivals": {}, "rival_grades": {}}

    text = other_sections({"real": {"answers": [{**run, **named, **beside}, {**run, **silent, **alone}]}})

    assert "| hog | cpu | 79 | 959 | CAUSE | cpu (right) | 0.98 | network (wrong) |" in text
    assert "| hog | cpu | 79 | 959 | GLOBAL | – | 0.98 | – |" in text
    assert "| otel-attrib | 1 | 0 | 1 |" in text
    assert "| stormlog | 0 | 1 | 0 |" in text
