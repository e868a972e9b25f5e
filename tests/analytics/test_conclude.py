"""The verdict on a real rise: every condition for naming a cause, held at its edge."""

from dataclasses import replace
from typing import Any

import pytest

from otel_attrib.analytics.evidence.lines import Evidence, LayerLine, Layers
from otel_attrib.analytics.intervals import Estimate
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.verdict import Facts, Verdict, conclude
from otel_attrib.schema.attributes import LAYERS

DELTA = Estimate(100.0, 1.0, 19.0)
ENOUGH = Facts(tail_rows=50, complete=0.9, threshold=0.7)
OWN = Evidence("gpu", True, "gpu_clock", "SM clock fell", 0.9, True, "clock_down", "gpu.compute")


def sure(ms: float) -> Estimate:
    """A line known to a hundredth."""
    return Estimate(ms, 1e-4, 19.0)


def layers(shares: dict[str, float], **more: Any) -> Layers:
    """Layers of a rise by 100 ms; what they leave is unexplained."""
    rest = {"workload": 0.0, "load": 0.0, **{k: more.pop(k) for k in ("workload", "load") if k in more}}
    lines = {
        name: LayerLine(
            sure(shares.get(name, 0.0)),
            shares.get(name, 0.0) / 100,
            shares.get(name, 0.0) / 100 - 0.01,
            0.9 if shares.get(name, 0.0) > 30 else 0.05,
        )
        for name in LAYERS
    }
    unexplained = 100 - sum(shares.values()) - sum(rest.values())
    found = Layers(
        lines=lines,
        workload=sure(rest["workload"]),
        load=sure(rest["load"]),
        unexplained=sure(unexplained),
        unexplained_share=unexplained / 100,
        evidence=(OWN,),
        pi={},
        missing_sensors={},
        deciding=(),
        coverage=1.0,
        replay_valid=None,
        workload_low=rest["workload"] / 100 - 0.01,
        load_low=rest["load"] / 100 - 0.01,
        claims=dict.fromkeys(LAYERS, 20.0),
    )
    return replace(found, **more)


def verdict(found: Layers, facts: Facts = ENOUGH, delta: Estimate = DELTA) -> Verdict:
    """The verdict on a TTFT of 400 ms."""
    return conclude(METRICS["ttft"], delta, 400.0, found, facts)


def test_cause() -> None:
    """All conditions met, the layer is named with its share and what speaks for it."""
    found = verdict(layers({"gpu": 80.0}))

    assert ("CAUSE", ("gpu",), True) == (found.word, found.layers, "SM clock fell" in found.reason)


@pytest.mark.parametrize(
    ("found", "facts", "because"),
    [
        (layers({"gpu": 80.0}), replace(ENOUGH, tail_rows=49), "49 rows lie above"),
        (layers({"gpu": 80.0}), replace(ENOUGH, complete=0.89), "89 % complete"),
        (layers({"gpu": 80.0}), replace(ENOUGH, threshold=0.95), "0.95 is needed"),
        (layers({"gpu": 80.0}, clock_uncertainty_us=5_000.0), ENOUGH, "clocks agree to 5 ms only"),
        (layers({"gpu": 40.0}), ENOUGH, "perhaps no more than 39 %"),
        (layers({"gpu": 64.0}), ENOUGH, "36 % of it stays unexplained"),
        (layers({"gpu": 80.0}, evidence=()), ENOUGH, "no counter of GPU itself"),
        (
            layers({"gpu": 80.0}, evidence=(OWN, replace(OWN, speaks_for=False, text="clock steady"))),
            ENOUGH,
            "against GPU: clock steady",
        ),
    ],
    ids=["rows", "telemetry", "p", "clock", "share", "unexplained", "no counter", "against"],
)
def test_one_condition_missed(found: Layers, facts: Facts, because: str) -> None:
    """With any one condition missed no layer is named, and the reason says which."""
    said = verdict(found, facts)

    assert ("GLOBAL", (), True) == (said.word, said.layers, because in said.reason)


def test_clock_that_is_good_enough() -> None:
    """Clocks that agree to less than a quarter of the smallest stage blamed do not stand in the way."""
    assert "CAUSE" == verdict(layers({"gpu": 80.0}, clock_uncertainty_us=4_999.0)).word


def test_against_one_part_is_not_against_the_other() -> None:
    """A steady clock clears the arithmetic of a card, not its memory."""
    memory = replace(layers({"gpu": 80.0}), evidence=(OWN, replace(OWN, speaks_for=False)))
    line = replace(memory.lines["gpu"], parts={"gpu.compute": 5.0, "gpu.memory": 75.0})

    assert "CAUSE" == verdict(replace(memory, lines={**memory.lines, "gpu": line})).word


def test_two_layers() -> None:
    """Two layers that share the rise are both named, when both have evidence of their own."""
    cpu = replace(OWN, layer="cpu", part="cpu")
    both = layers({"gpu": 38.0, "cpu": 34.0}, evidence=(OWN, cpu))

    assert ("CAUSE_SET", ("gpu", "cpu")) == (verdict(both).word, verdict(both).layers)
    assert "GLOBAL" == verdict(replace(both, evidence=(OWN,))).word


@pytest.mark.parametrize(
    ("gpu", "cpu", "named"),
    [
        (0.56, 0.56, ("gpu", "cpu")),
        (0.55, 0.9, ()),
        (0.9, 0.55, ()),
        (0.34, 0.66, ()),
        (0.3, 0.3, ()),
    ],
)
def test_each_of_two_layers_is_probable(gpu: float, cpu: float, named: tuple[str, ...]) -> None:
    """Each of a pair reaches 0.8 of the threshold (0.56 of 0.7), or neither is named beside the other."""
    both = layers({"gpu": 38.0, "cpu": 34.0}, evidence=(OWN, replace(OWN, layer="cpu", part="cpu")))

    assert named == verdict(probable(both, gpu=gpu, cpu=cpu)).layers


def test_the_surer_of_two_is_named_alone() -> None:
    """A pair with a guess in it leaves the surer layer, when that one meets a cause's rules by itself."""
    both = layers({"gpu": 46.0, "cpu": 44.0}, evidence=(OWN, replace(OWN, layer="cpu", part="cpu")))
    said = verdict(probable(both, gpu=0.2, cpu=0.8))

    assert ("CAUSE", ("cpu",)) == (said.word, said.layers)
    assert "GLOBAL" == verdict(probable(both, gpu=0.2, cpu=0.69)).word


def probable(found: Layers, **p: float) -> Layers:
    """The layers with other probabilities."""
    lines = {name: replace(found.lines[name], p=value) for name, value in p.items()}
    return replace(found, lines={**found.lines, **lines})


@pytest.mark.parametrize(
    ("word", "line", "share"),
    [
        ("MIX", "workload", 50.0),
        ("GLOBAL", "workload", 49.0),
        ("LOAD", "load", 50.0),
        ("GLOBAL", "load", 49.0),
    ],
)
def test_rest(word: str, line: str, share: float) -> None:
    """Workload or load is the answer from half of the rise on."""
    assert word == verdict(layers({}, **{line: share})).word


def test_longer_steps_are_no_load() -> None:
    """A queue that grew while steps became a fifth longer at equal work is not called load."""
    assert "GLOBAL" == verdict(layers({}, load=90.0, slower=0.2)).word
    assert "LOAD" == verdict(layers({}, load=90.0, slower=0.1)).word


@pytest.mark.parametrize(
    ("delta", "word"),
    [(Estimate(15.0, 1.0, 19.0), "NO_REGRESSION"), (Estimate(-100.0, 1.0, 19.0), "NO_REGRESSION")],
)
def test_no_rise_needs_no_cause(delta: Estimate, word: str) -> None:
    """Below 5 %, or for the better, nothing is named whatever the evidence."""
    assert word == verdict(layers({"gpu": 80.0}), delta=delta).word


def test_the_likeliest_is_told_where_no_layer_holds_anything() -> None:
    """Of a rise that stays unexplained the likeliest layer is told with what it lacks, not the first one."""
    found = layers({})
    client = replace(found.lines["client"], p=0.65)
    said = verdict(replace(found, lines={**found.lines, "client": client}, evidence=()))

    expected = (
        "100 % of it stays unexplained; client is likeliest, p = 0.65,"
        " but no counter of client itself speaks for it"
    )
    assert ("GLOBAL", True) == (said.word, said.reason.endswith(expected))
