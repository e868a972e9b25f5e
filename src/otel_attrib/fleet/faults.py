"""Fault families: which terms each scales, at three severities, and the layer that is then at fault.

A severity is 1, 2 or 3, or anything between; `effects` gives the terms of `terms.TERMS` that change on the
devices of the fault. A tenant's fault (a slow reader) has no device: `slow` is the mean seconds that its
sockets hold back each token.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from otel_attrib.errors import UsageError
from otel_attrib.fleet.cards import Card

__all__ = ["FAMILIES", "Family", "family_named"]

Unit = Literal["gpu", "node", "fleet", "tenant"]
Effects = Callable[[float, Card], dict[str, float]]


@dataclass(frozen=True, slots=True)
class Family:
    """One kind of fault: layer at fault, what it hits when nothing else is said, and what it does."""

    name: str
    layer: str
    unit: Unit
    meaning: str
    effects: Effects
    mark: str = ""


def _at(severity: float, mild: float, middle: float, severe: float) -> float:
    return float(np.interp(severity, [1, 2, 3], [mild, middle, severe]))


def _clock(share: float, throttled: float) -> dict[str, float]:
    return {"compute": 1 / share, "clock": share, "throttled": throttled}


def _throttle(severity: float, card: Card) -> dict[str, float]:
    return _clock(_at(severity, 0.85, 0.7, 0.5), 0.95) | {"heat": 12.0}


def _power(severity: float, card: Card) -> dict[str, float]:
    return _clock(_at(severity, 0.85, 0.72, 0.55), 0.9) | {"power_limit": _at(severity, 0.65, 0.45, 0.3)}


def _memory(severity: float, card: Card) -> dict[str, float]:
    return {"memory": 1 / (1 - _at(severity, 0.2, 0.35, 0.5)), "ecc": _at(severity, 0.05, 0.2, 0.5)}


def _link(card: Card, slower: float) -> dict[str, float]:
    """A slower PCIe link: copies, and where there is no NVLink the collectives too."""
    return {"copy": slower} | ({} if card.nvlinks else {"collective": slower})


def _width(severity: float, card: Card) -> dict[str, float]:
    slower = 2.0 ** round(_at(severity, 1, 2, 3))
    return _link(card, slower) | {"width": 1 / slower}


def _generation(severity: float, card: Card) -> dict[str, float]:
    down = min(round(_at(severity, 1, 2, 3)), card.generation - 1)
    return _link(card, 2.0**down) | {"generations_down": float(down)}


def _replays(severity: float, card: Card) -> dict[str, float]:
    slower = {
        "copy_start": _at(severity, 1e-4, 4e-4, 1.5e-3),
        "pcie_replays": _at(severity, 4.0, 40.0, 400.0),
    }
    return _link(card, _at(severity, 1.5, 3.0, 6.0)) | slower


def _pcie_neighbour(severity: float, card: Card) -> dict[str, float]:
    slower = _at(severity, 2.0, 4.0, 8.0)
    return _link(card, slower) | {
        "pcie_other": card.pcie_bandwidth * 0.85 * (1 - 1 / slower),
        "copy_start": _at(severity, 5e-5, 1e-4, 3e-4),
    }


def _nvlink(severity: float, card: Card) -> dict[str, float]:
    return {
        "collective": _at(severity, 1.6, 2.4, 4.0),
        "collective_start": _at(severity, 1.3, 1.8, 3.0),
        "nvlink_crc": _at(severity, 2.0, 20.0, 200.0),
        "nvlink_replays": _at(severity, 1.0, 10.0, 100.0),
        "nvlink_recoveries": _at(severity, 0.05, 0.2, 1.0),
    }


def _links(severity: float, card: Card) -> dict[str, float]:
    down = round(card.nvlinks * _at(severity, 0.34, 0.5, 0.75))
    left = card.nvlinks - down
    slower = card.nvlinks / left if left else 10.0  # without NVLink the bytes take PCIe
    return {
        "collective": slower,
        "collective_start": _at(severity, 1.2, 1.5, 2.5),
        "links_down": float(down),
        "nvlink_recoveries": 0.02,
    }


def _nvlink_neighbour(severity: float, card: Card) -> dict[str, float]:
    slower = _at(severity, 1.5, 2.0, 3.0)
    return {
        "collective": slower,
        "collective_start": _at(severity, 1.2, 1.6, 2.5),
        "nvlink_other": card.nvlink_bandwidth * 0.8 * (1 - 1 / slower),
    }


def _policy(severity: float, card: Card) -> dict[str, float]:
    return {"admit_every": float(round(_at(severity, 3, 5, 8)))}


def _budget(severity: float, card: Card) -> dict[str, float]:
    return {"budget": _at(severity, 0.3, 0.15, 0.08)}


def _fragmentation(severity: float, card: Card) -> dict[str, float]:
    return {"blocks": _at(severity, 0.7, 0.62, 0.52)}


def _preemption(severity: float, card: Card) -> dict[str, float]:
    return {"blocks": _at(severity, 0.7, 0.63, 0.57)}


def _seats(severity: float, card: Card) -> dict[str, float]:
    return {"seqs": _at(severity, 0.16, 0.12, 0.1)}


def _hits(severity: float, card: Card) -> dict[str, float]:
    return {"hit": _at(severity, 0.6, 0.3, 0.0)}


def _steal(severity: float, card: Card) -> dict[str, float]:
    share = _at(severity, 0.2, 0.4, 0.6)
    stalls = {"stall_rate": _at(severity, 2.0, 5.0, 8.0), "stall": _at(severity, 0.02, 0.03, 0.05)}
    return {"cpu": 1 / (1 - share), "steal": share} | stalls


def _hog(severity: float, card: Card) -> dict[str, float]:
    return {
        "run_queue": _at(severity, 0.004, 0.010, 0.025),
        "cpu_other": _at(severity, 0.6, 0.75, 0.9),
        "pressure": _at(severity, 0.3, 0.6, 0.9),
    }


def _quota(severity: float, card: Card) -> dict[str, float]:
    rate, stall = _at(severity, 3.0, 5.0, 7.0), _at(severity, 0.03, 0.05, 0.07)
    return {"stall_rate": rate, "stall": stall, "quota": rate * stall, "pressure": rate * stall}


def _collection(severity: float, card: Card) -> dict[str, float]:
    rate, stall = _at(severity, 0.3, 0.4, 0.5), _at(severity, 0.12, 0.25, 0.5)
    return {"stall_rate": rate, "stall": stall, "gc": rate * stall}


def _cpu_clock(severity: float, card: Card) -> dict[str, float]:
    slower = _at(severity, 2.0, 3.5, 5.0)
    return {"cpu": slower, "cpu_clock": 1 / slower}


def _tokenizer(severity: float, card: Card) -> dict[str, float]:
    return {"tokenize": _at(severity, 6.0, 12.0, 22.0), "version": 1.0}


def _loss(severity: float, card: Card) -> dict[str, float]:
    share = _at(severity, 0.01, 0.03, 0.08)
    return {"loss": share, "rtt": _at(severity, 0.005, 0.01, 0.02), "retransmits": 4e3 * share}


def _round_trip(severity: float, card: Card) -> dict[str, float]:
    return {"rtt": _at(severity, 0.02, 0.06, 0.15), "retransmits": 2.0}


def _slow_client(severity: float, card: Card) -> dict[str, float]:
    return {
        "slow": _at(severity, 0.06, 0.15, 0.4),
        "zero_window": _at(severity, 2.0, 6.0, 20.0),
        "send_queue": _at(severity, 2e5, 8e5, 3e6),
    }


FAMILIES: Final = (
    Family("clock_throttle", "gpu", "gpu", "SM clock throttled (heat)", _throttle),
    Family("power_cap", "gpu", "gpu", "power limit lowered", _power),
    Family("hbm_bandwidth", "gpu", "gpu", "device memory slower", _memory),
    Family("pcie_width", "pcie", "gpu", "PCIe link trained to fewer lanes", _width),
    Family("pcie_generation", "pcie", "gpu", "PCIe link trained to a lower generation", _generation),
    Family("pcie_replay_storm", "pcie", "gpu", "PCIe packets replayed", _replays),
    Family(
        "pcie_neighbour", "pcie", "node", "another job's copies on the same PCIe switches", _pcie_neighbour
    ),
    Family("nvlink_degraded", "nvlink", "gpu", "NVLink errors, packets replayed", _nvlink),
    Family("nvlink_inactive", "nvlink", "gpu", "NVLinks down", _links),
    Family("nvlink_neighbour", "nvlink", "node", "another job's collectives on the links", _nvlink_neighbour),
    Family("scheduler_policy", "scheduler", "fleet", "admits waiting requests seldom", _policy, "config"),
    Family("token_budget", "scheduler", "fleet", "token budget of a step cut", _budget, "config"),
    Family("max_num_seqs", "scheduler", "fleet", "fewer requests at once", _seats, "config"),
    Family("kv_fragmentation", "scheduler", "fleet", "fewer KV blocks can be used", _fragmentation),
    Family(
        "preemption_storm", "scheduler", "fleet", "KV blocks so few that requests are preempted", _preemption
    ),
    Family("cache_hit_collapse", "scheduler", "fleet", "the prefix cache finds little", _hits),
    Family("cpu_steal", "cpu", "node", "the hypervisor gives the CPUs to others", _steal),
    Family("cpu_hog", "cpu", "node", "other processes on the engine's cores", _hog),
    Family("cgroup_quota", "cpu", "node", "the CPU quota runs out in each period", _quota),
    Family("gc_pause", "cpu", "fleet", "long garbage collections in the server", _collection),
    Family("cpu_clock", "cpu", "node", "CPU clock lowered", _cpu_clock),
    Family("tokenizer", "cpu", "node", "a new version tokenises slowly", _tokenizer, "deploy"),
    Family("packet_loss", "network", "node", "segments lost on the way in", _loss),
    Family("rtt", "network", "node", "longer round trips", _round_trip),
    Family("slow_client", "client", "tenant", "one tenant reads slowly", _slow_client),
)
_BY_NAME = {family.name: family for family in FAMILIES}


def family_named(name: str) -> Family:
    """Return the family a scenario names."""
    if name not in _BY_NAME:
        raise UsageError(f"no fault {name!r}; choose one of {', '.join(sorted(_BY_NAME))}")
    return _BY_NAME[name]
