"""The state of every device over time: one number a term, which times and counters both follow from.

A term's neutral value means "as it should be". Segments are stretches between two changes; the array is
(segments, devices, terms). What two faults do to one term is combined by the term's own rule.
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from otel_attrib.analytics.columns import Floats

__all__ = ["TERMS", "State", "Term", "neutral", "place", "worst"]

Rule = Literal["times", "plus", "least", "most"]


@dataclass(frozen=True, slots=True)
class Term:
    """One term: its neutral value, how several faults combine, and whether more of it is worse."""

    name: str
    neutral: float
    rule: Rule
    worse: Literal[1, -1]
    meaning: str


TERMS: Final = (
    # What the engine's times follow from.
    Term("compute", 1.0, "times", 1, "time of arithmetic, against the card's own"),
    Term("memory", 1.0, "times", 1, "time of device memory traffic"),
    Term("collective", 1.0, "times", 1, "time of a collective's bytes"),
    Term("collective_start", 1.0, "times", 1, "time until a collective's first byte"),
    Term("copy", 1.0, "times", 1, "time of a host-device copy's bytes"),
    Term("copy_start", 0.0, "plus", 1, "seconds more until a copy's first byte"),
    Term("admit_every", 1.0, "most", 1, "admits waiting requests only every so many steps"),
    Term("budget", 1.0, "least", -1, "share of the token budget"),
    Term("seqs", 1.0, "least", -1, "share of max_num_seqs"),
    Term("blocks", 1.0, "least", -1, "share of the KV blocks that can be used"),
    Term("hit", 1.0, "least", -1, "share of the prefix cache's hits"),
    Term("cpu", 1.0, "times", 1, "time of work on the CPU"),
    Term("run_queue", 0.0, "plus", 1, "mean seconds runnable and not running, at each wake-up"),
    Term("stall_rate", 0.0, "plus", 1, "stalls of the whole process per second"),
    Term("stall", 0.0, "most", 1, "mean seconds of one stall"),
    Term("tokenize", 1.0, "times", 1, "CPU time to tokenise"),
    Term("rtt", 0.0, "plus", 1, "seconds more of round trip"),
    Term("loss", 0.0, "plus", 1, "share of segments lost"),
    # What only counters show.
    Term("clock", 1.0, "times", -1, "SM clock under load, against the card's own"),
    Term("throttled", 0.0, "most", 1, "share of busy time that is throttled"),
    Term("power_limit", 1.0, "least", -1, "power limit, against the card's own"),
    Term("ecc", 0.0, "plus", 1, "corrected memory errors per second"),
    Term("heat", 0.0, "plus", 1, "°C more"),
    Term("width", 1.0, "least", -1, "share of PCIe lanes in use"),
    Term("generations_down", 0.0, "plus", 1, "PCIe generations below the possible one"),
    Term("pcie_replays", 0.0, "plus", 1, "PCIe replays per second"),
    Term("pcie_other", 0.0, "plus", 1, "bytes per second of others over the card's PCIe link"),
    Term("nvlink_other", 0.0, "plus", 1, "bytes per second of others over the card's NVLinks"),
    Term("links_down", 0.0, "plus", 1, "NVLinks inactive"),
    Term("nvlink_crc", 0.0, "plus", 1, "NVLink CRC errors per second"),
    Term("nvlink_replays", 0.0, "plus", 1, "NVLink replays per second"),
    Term("nvlink_recoveries", 0.0, "plus", 1, "NVLink recoveries per second"),
    Term("steal", 0.0, "most", 1, "share of CPU time stolen"),
    Term("cpu_other", 0.0, "plus", 1, "share of all cores that others keep busy"),
    Term("cpu_clock", 1.0, "times", -1, "CPU clock, against its own"),
    Term("quota", 0.0, "most", 1, "seconds throttled by the cgroup's quota, per second"),
    Term("gc", 0.0, "most", 1, "seconds in Python's garbage collection, per second"),
    Term("pressure", 0.0, "most", 1, "share of time in which some task waited for a CPU"),
    Term("retransmits", 0.0, "plus", 1, "TCP segments sent again per second"),
    Term("zero_window", 0.0, "plus", 1, "closed receive windows per second"),
    Term("send_queue", 0.0, "plus", 1, "bytes more that wait in sockets"),
    Term("util_other", 0.0, "most", 1, "share of time in which a kernel of another process runs"),
    Term("version", 0.0, "most", 1, "which version is deployed (0 the old one, 1 the new one)"),
)
"""The registry: engine terms first, then those that only counters or labels read."""

INDEX: Final = {term.name: place for place, term in enumerate(TERMS)}


@dataclass(frozen=True)
class State:
    """`starts`: (S,) seconds from the run's start, first 0; `values`: (S, devices, terms)."""

    starts: Floats
    values: Floats

    def of(self, name: str) -> Floats:
        """Return (S, devices) of one term."""
        return self.values[:, :, INDEX[name]]

    def at(self, name: str, seconds: Floats) -> Floats:
        """Return (len(seconds), devices): the term at these moments."""
        segments = np.searchsorted(self.starts, seconds, side="right") - 1
        found: Floats = self.of(name)[np.maximum(segments, 0)]
        return found


def neutral(starts: Floats, devices: int) -> State:
    """Return the state of a fleet in which nothing is wrong."""
    values = np.empty((starts.size, devices, len(TERMS)))
    values[:] = [term.neutral for term in TERMS]
    return State(starts, values)


def place(state: State, name: str, value: float, segments: slice, devices: list[int]) -> None:
    """Let a fault set one term of some devices in some segments."""
    term = TERMS[INDEX[name]]
    view = state.values[segments, :, INDEX[name]]
    old = view[:, devices]
    if term.rule == "times":
        view[:, devices] = old * value
    elif term.rule == "plus":
        view[:, devices] = old + value
    else:
        view[:, devices] = np.minimum(old, value) if term.rule == "least" else np.maximum(old, value)


def worst(values: Floats) -> Floats:
    """Combine (…, devices, terms) of the ranks of one replica: the slowest rank sets the pace."""
    signs = np.array([term.worse for term in TERMS], dtype=np.float64)
    found: Floats = (values * signs).max(axis=-2) * signs
    return found
