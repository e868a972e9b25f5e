"""The faults that are really done to a real vLLM, and what each of them is: the truth of the table.

A fault changes the server's shape (a restart, as after a deployment), harms the running one, or changes the
traffic. `truth` lists every answer that is right; any other layer or line that is named is wrong.
"""

import random
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace

from benchmarks.attribution.real.harm import Harm, cpu_quota, hog, packet_loss, slow_rank
from otel_attrib.demo.arrivals import Arrival
from otel_attrib.demo.server import ServerShape

__all__ = ["FAULTS", "Fault", "Server"]


@dataclass(frozen=True, slots=True)
class Server:
    """How the server of a fault is started; with `slow_tokenizer` it is a release that is slow to read."""

    shape: ServerShape = ServerShape()
    version: str = "1.0"
    options: tuple[str, ...] = ()
    slow_tokenizer: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: `baseline` is the server it is compared with, `current` the server in it."""

    name: str
    truth: frozenset[str]
    what: str
    baseline: Server = field(default_factory=Server)
    current: Server = field(default_factory=Server)
    harm: str = ""
    traffic: str = ""
    slow_tenant: str = ""

    def arrivals(self, usual: Sequence[Arrival]) -> list[Arrival]:
        """Return the traffic of the fault's window."""
        return TRAFFIC[self.traffic](usual) if self.traffic else list(usual)

    def done(self, to: Harm) -> AbstractContextManager[object]:
        """Return what does the harm for as long as it is entered."""
        return HARM[self.harm](to) if self.harm else nullcontext()


def _long_prompts(usual: Sequence[Arrival]) -> list[Arrival]:
    chosen = random.Random(7)
    return [
        replace(arrival, prompt_tokens=arrival.prompt_tokens * 4) if chosen.random() < 0.5 else arrival
        for arrival in usual
    ]


def _burst(usual: Sequence[Arrival]) -> list[Arrival]:
    """The same requests, at twice the rate."""
    return [replace(arrival, at=arrival.at / 2) for arrival in usual]


TRAFFIC = {"long": _long_prompts, "burst": _burst}
HARM = {"hog": hog, "quota": cpu_quota, "loss": packet_loss, "slow-rank": slow_rank}
TWO_RANKS = Server(options=("--tensor-parallel-size=2",))
USUAL = ServerShape()

FAULTS = (
    Fault("none", frozenset({"none"}), "the same traffic again"),
    Fault("cpu-hog", frozenset({"cpu"}), "two busy processes on each core of the engine", harm="hog"),
    Fault("cgroup-quota", frozenset({"cpu"}), "the engine's cgroup may use 45 % of one core", harm="quota"),
    Fault("long-prompts", frozenset({"workload"}), "half of the prompts are 4 times as long", traffic="long"),
    Fault("arrival-burst", frozenset({"load"}), "the same requests at twice the rate", traffic="burst"),
    Fault("packet-loss", frozenset({"network"}), "7 % of the segments to the server are lost", harm="loss"),
    Fault("slow-client", frozenset({"client"}), "one tenant's bodies come 300 ms late", slow_tenant="review"),
    Fault(
        "small-cache",
        frozenset({"scheduler"}),
        "a restart with 14 KV blocks",
        current=Server(replace(USUAL, kv_blocks=14)),
    ),
    Fault(
        "token-budget",
        frozenset({"scheduler"}),
        "a restart with a budget of 64 tokens a step",
        current=Server(replace(USUAL, max_num_batched_tokens=64)),
    ),
    Fault(
        "slow-tokenizer",
        frozenset({"cpu"}),
        "release 1.1 tokenises in Python, 30 us a character",
        current=Server(version="1.1", slow_tokenizer=True),
    ),
    Fault(
        "slow-rank",
        frozenset({"cpu"}),
        "one of two tensor-parallel ranks may use 30 % of a core",
        baseline=TWO_RANKS,
        current=TWO_RANKS,
        harm="slow-rank",
    ),
)  # fmt: skip
