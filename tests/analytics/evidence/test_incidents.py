"""Public incidents, rebuilt in small from their threads' figures: the rules do not fall for the decoys.

`tests/fixtures/incidents` holds the threads' figures; here each incident that telemetry could show is two
windows of a small fleet with those figures, and what may be answered: a layer, or silence ("abstain").
An incident whose cause no sensor of ours sees is listed with the reason in `UNSEEN`.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.analytics.evidence import Layers
from otel_attrib.analytics.evidence.weights import load_weights
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.verdict import Facts, conclude

FIXTURE = Path(__file__).parents[2] / "fixtures/incidents/incidents_dev.jsonl"
ABSTAIN = "abstain"
EVERYWHERE: Callable[[int, int], bool] = lambda node, engine: True  # noqa: E731 # a fleet-wide condition
ONE = {"nodes": 1, "engines": 1, "hit": EVERYWHERE}


@dataclass(frozen=True)
class Incident:
    """What the telemetry showed, and the answers that are not wrong."""

    may: set[str]
    shown: dict[str, Any] = field(default_factory=dict)


INCIDENTS = {
    # A refused large request closes admission: 29 requests wait, few run; services as before.
    "sglang-22831": Incident(
        {"scheduler"},
        {
            **ONE,
            "stages": {"queue": 4000.0},
            "steps": {"waiting": 20.0, "running": 4.0},
            "replay_valid": True,
        },
    ),
    # ITL doubles, TTFT stays, cgroup throttling and steal ruled out, nothing else read.
    "tanguille-4879": Incident(
        {"cpu", ABSTAIN},
        {
            **ONE,
            "metric": "tpot",
            "stages": {"decode_batch_wait": 30.0},
            "missing": ("run_queue_wait", "off_cpu", "cpu_pressure"),
            "without_steps": True,
        },
    ),
    "vllmascend-6966": Incident(
        {"cpu", ABSTAIN},
        {
            **ONE,
            "metric": "tpot",
            "stages": {"decode_forward": 1.13, "decode_batch_wait": 1.2},
            "counters": {"run_queue_wait": 0.12},
            "steps": {"schedule_us": 2_400.0},
        },
    ),
    "llmrig-97": Incident(
        {"gpu"},
        {
            **ONE,
            "stages": {"prefill": 1875 / 1155},
            "counters": {"gpu_clock": 1155.0 * 1980 / 1875, "gpu_throttled": 0.9, "gpu_temperature": 92.0},
            "steps": {"forward_us": 24_000.0},
        },
    ),
    # A power cap costs prefill and decode about a tenth.
    "club3090-585": Incident(
        {"gpu"},
        {
            **ONE,
            "stages": {"prefill": 463 / 421, "decode_forward": 83 / 76},
            "counters": {"gpu_clock": 1980 * 0.88, "gpu_throttled": 0.7, "gpu_power_limit": 473.0},
            "steps": {"forward_us": 16_500.0},
        },
    ),
    "triton-2023": Incident(
        {"gpu"},
        {
            **ONE,
            "stages": {"prefill": 3.0},
            "counters": {"gpu_clock": 700.0, "gpu_throttled": 0.95},
            "steps": {"forward_us": 40_000.0},
        },
    ),
    "omlx-2689": Incident(
        {"gpu"},
        {
            **ONE,
            "metric": "tpot",
            "stages": {"decode_forward": 24.3 / 14.0, "prefill": 1.7},
            "counters": {"gpu_clock": 1980 * 14.0 / 24.3},
            "steps": {"forward_us": 26_000.0},
        },
    ),
    # Prefill 1.49, decode 1.05 on two ranks, the collectives longer at equal bytes.
    "club3090-702": Incident(
        {"nvlink"},
        {
            "nodes": 1,
            "engines": 1,
            "ranks": 2,
            "hit": EVERYWHERE,
            "stages": {"prefill": 1975 / 1327, "decode_forward": 1.05},
            "counters": {"collective_time": 0.9},
            "steps": {"collective_us": 9_000.0, "forward_us": 22_000.0},
        },
    ),
    # Cards without NVLink: prompt processing bound by PCIe, the cards half idle.
    "exllamav2-734": Incident(
        {"pcie", ABSTAIN},
        {
            "nodes": 1,
            "engines": 1,
            "ranks": 2,
            "hit": EVERYWHERE,
            "stages": {"prefill": 2.76},
            "counters": {"collective_time": 2.0, "gpu_power": 200.0, "pcie_width": 4.0},
            "steps": {"collective_us": 30_000.0, "forward_us": 43_000.0},
            "missing": ("nvlink_links", "nvlink_crc"),
        },
    ),
    # An idle card trains down to generation 1: nothing is slow because of it.
    "jan-183": Incident(
        {ABSTAIN},
        {
            **ONE,
            "stages": {"prefill": 1.3},
            "counters": {
                "pcie_generation": 1.0,
                "pcie_receive": 1e5,
                "pcie_transmit": 1e5,
                "copy_bytes": 1e3,
            },
        },
    ),
    # ACS sends peer traffic through the CPU: collectives over PCIe take longer.
    "nccl-1086": Incident(
        {"pcie", ABSTAIN},
        {
            "nodes": 1,
            "engines": 1,
            "ranks": 4,
            "hit": EVERYWHERE,
            "stages": {"prefill": 1.5},
            "counters": {"collective_time": 0.6},
            "steps": {"collective_us": 9_000.0, "forward_us": 22_000.0},
            "missing": ("nvlink_links", "nvlink_crc"),
        },
    ),
    # KV transfer fell back to TCP: 3 ms to 1.8 s, while the card's own copies go as before.
    "dynamo-1314": Incident({"network", ABSTAIN}, {**ONE, "stages": {"kv_init": 585.0}}),
    "vllmascend-10193": Incident(
        {"scheduler"},
        {**ONE, "stages": {"prefill": 2.0}, "figures": {"cached_tokens": 0.0}, "replay_valid": True},
    ),
    "sglang-26248": Incident(
        {"scheduler"},
        {
            **ONE,
            "metric": "tpot",
            "stages": {"decode_batch_wait": 100.0},
            "steps": {"preemptions": 0.5, "kv_usage": 1.0, "waiting": 4.0},
            "figures": {"preemptions": 3.0},
        },
    ),
    "glm-14": Incident(
        {"scheduler"},
        {
            **ONE,
            "metric": "tpot",
            "stages": {"decode_batch_wait": 60.0},
            "figures": {"preemptions": 3.0},
            "steps": {"preemptions": 0.05, "kv_usage": 0.97},
        },
    ),
    # 58 prefill steps in a row while decodes wait.
    "freetoken-483": Incident(
        {"scheduler", ABSTAIN},
        {**ONE, "metric": "tpot", "stages": {"decode_batch_wait": 100.0}, "prompts": 16_000},
    ),
    "sglang-36050": Incident({ABSTAIN}, {**ONE, "stages": {"prefill": 3.5}, "first_minute": True}),
    "syv-155": Incident({ABSTAIN}, {**ONE, "stages": {"prefill": 2.3}, "first_minute": True}),
    "sglang-9241": Incident(
        {"cpu"},
        {
            **ONE,
            "stages": {"tokenize": 40.0, "ingress": 40.0, "egress": 40.0, "queue": 3.0},
            "counters": {"gc_time": 0.13},
            "steps": {"schedule_us": 3_000.0, "output_us": 3_000.0},
        },
    ),
    "atom-1991": Incident(
        {"cpu"},
        {
            **ONE,
            "metric": "tpot",
            "stages": {"decode_batch_wait": 5.0, "decode_egress": 4.0},
            "counters": {"gc_time": 0.3},
            "steps": {"schedule_us": 6_000.0, "output_us": 3_000.0},
        },
    ),
    "vllm-34789": Incident({"cpu", ABSTAIN}, {**ONE, "stages": {"ingress": 150.0, "egress": 20.0}}),
    "vllm-10635": Incident({"cpu", ABSTAIN}, {**ONE, "stages": {"tokenize": 20.0}}),
    # A proxy keeps the stream back: the server's own stages do not move, the rest lies outside them.
    "vllm-18644": Incident({"client", ABSTAIN}, {**ONE, "books": {"outside": 3_000.0, "egress": 1.0}}),
    # TTFT three times as long after an upgrade, no cause known.
    "vllm-14845": Incident(
        {ABSTAIN}, {**ONE, "stages": {"queue": 20.0, "prefill": 2.0}, "replay_valid": False, "deploy": True}
    ),
    "vllm-13477": Incident(
        {"gpu", ABSTAIN}, {**ONE, "stages": {"prefill": 2.0}, "counters": {"gpu_utilization": 1.0}}
    ),
    # Mild throttling: a fifth of the clock, a twentieth of the speed.
    "club3090-178": Incident(
        {"gpu"},
        {
            **ONE,
            "metric": "tpot",
            "stages": {"decode_forward": 68.55 / 65.2},
            "counters": {"gpu_clock": 1365 * 1980 / 1725, "gpu_throttled": 0.8, "gpu_temperature": 91.0},
            "steps": {"forward_us": 15_800.0},
        },
    ),
}
UNSEEN = {
    "omlx-3451": "a pause of 8 s before one request is no change between two windows",
    "vllm-8847": "a card that needs a reset says so in a state that no counter here reads",
    "vllm-37865": "a graph that is not captured shows as host time and kernels alike; no counter tells of it",
    "vllmascend-16049": "as vllm-37865: the batch runs without its graph",
    "vllm-12122": "grammars are compiled between stages; nothing measures it",
    "aarora-32": "backlog of an earlier run: load, which the books hold before any evidence",
}


def incidents() -> dict[str, dict[str, str]]:
    """The fixture by id."""
    return {row["id"]: row for row in map(json.loads, FIXTURE.read_text().splitlines())}


def answer(layers: Layers, made: Any) -> str:
    """The layer that is named, or that none is."""
    facts = Facts(tail_rows=100, complete=1.0, threshold=load_weights().threshold)
    verdict = conclude(METRICS[made.metric], made.balance().delta, 10.0, layers, facts)
    return " ".join(verdict.layers) or ABSTAIN


def test_every_incident_is_judged_or_said_to_be_unseen() -> None:
    """No incident of the fixture is left out silently."""
    assert set(incidents()) == set(INCIDENTS) | set(UNSEEN)


@pytest.mark.parametrize("name", INCIDENTS)
def test_incident(scene: Callable[..., Any], name: str) -> None:
    """What is answered is the thread's cause, or silence where the thread's figures do not decide."""
    made = scene(**INCIDENTS[name].shown)

    assert answer(made.judged(), made) in INCIDENTS[name].may


def test_mild_throttling_is_a_small_effect(scene: Callable[..., Any]) -> None:
    """A clock a fifth lower is blamed for the twentieth that decode lost, not for a fifth."""
    made = scene(**INCIDENTS["club3090-178"].shown)
    found: Layers = made.judged()

    assert found.lines["gpu"].ms == pytest.approx(15.0 * (68.55 / 65.2 - 1), rel=0.1)


def test_idle_generation_one_does_not_speak(scene: Callable[..., Any]) -> None:
    """A link that trained down while nothing moved is no evidence at all."""
    found: Layers = scene(**INCIDENTS["jan-183"].shown).judged()

    assert [] == [e.text for e in found.evidence if e.layer == "pcie" and e.speaks_for]


def test_utilisation_is_not_work(scene: Callable[..., Any]) -> None:
    """GPU_UTIL 91 % beside an engine that is idle names no layer, least of all the GPU."""
    made = scene(**ONE, stages={"queue": 30.0}, counters={"gpu_utilization": 0.91, "sm_activity": 0.16})
    found: Layers = made.judged()

    assert (ABSTAIN, []) == (
        answer(found, made),
        [e.name for e in found.evidence if e.counter == "gpu_utilization"],
    )
