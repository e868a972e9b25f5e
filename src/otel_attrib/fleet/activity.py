"""What cards and hosts did in each sampling interval, summed from the steps and requests of a run."""

from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.columns import Floats, Ints
from otel_attrib.fleet.costs import CPU
from otel_attrib.fleet.engine import Run, kernel, served_requests
from otel_attrib.fleet.scenario import Scenario
from otel_attrib.fleet.terms import State

__all__ = ["Activity", "activity_of"]


@dataclass(frozen=True)
class Activity:
    """Sums by interval: (K, devices) seconds or bytes of cards, (K, nodes) of hosts; `ends` (K,) seconds."""

    ends: Floats
    busy: Floats
    compute: Floats
    memory: Floats
    collective_time: Floats
    collective_bytes: Floats
    copy_time: Floats
    copy_bytes: Floats
    cpu: Floats
    run_queue: Floats
    tokenize: Floats


def activity_of(scenario: Scenario, run: Run, state: State, end: float) -> Activity:
    """Sum up a run by `sensors.interval`; what a step did counts where it started."""
    fleet, interval = scenario.fleet, scenario.sensors.interval
    ends: Floats = np.arange(1, int(np.ceil(end / interval)) + 1, dtype=np.float64) * interval
    adder = _Adder(ends.size, interval, scenario.replicas)
    step = {name: run.steps[:, place] for place, name in enumerate(kernel().STEP)}
    bins = adder.bins(step["start"])

    def steps(values: Floats) -> Floats:
        found: Floats = np.repeat(adder.by(bins, run.replica, values), fleet.tp, axis=1)
        return found

    compute, memory = steps(step["compute"]), steps(step["memory"])
    own_compute: Floats = compute * _own(scenario, state, "compute", ends)
    own_memory: Floats = memory * _own(scenario, state, "memory", ends)
    # A rank that is done waits in the collective for the slowest one.
    waits = np.maximum(compute, memory) - np.maximum(own_compute, own_memory) if fleet.tp > 1 else 0.0
    copied, copying = _loads(run, adder)
    return Activity(
        ends=ends,
        busy=steps(step["forward"]),
        compute=own_compute,
        memory=own_memory,
        collective_time=steps(step["collective"]) + np.maximum(waits, 0.0),
        collective_bytes=steps(step["collective_bytes"]),
        copy_time=steps(step["copy"]) + np.repeat(copying, fleet.tp, axis=1),
        copy_bytes=steps(step["copy_bytes"]) + np.repeat(copied, fleet.tp, axis=1),
        cpu=_hosts(adder.by(bins, run.replica, step["schedule"] + step["output"]), scenario),
        run_queue=_hosts(adder.by(bins, run.replica, step["run_queue"]), scenario)
        + _wakes(scenario, run, state, adder),
        tokenize=_hosts(
            adder.by(adder.bins(run.requests.arrival), run.requests.replica, run.tokenize + CPU["parse"]),
            scenario,
        ),
    )


@dataclass(frozen=True)
class _Adder:
    count: int
    interval: float
    replicas: int

    def bins(self, seconds: Floats) -> Ints:
        """Return the interval of each moment; what comes after the last counts in none."""
        found: Ints = np.minimum((seconds / self.interval).astype(np.int64), np.int64(self.count)).astype(
            np.int64
        )
        return found

    def by(self, bins: Ints, replica: Ints, values: Floats) -> Floats:
        """Return (K, replicas) sums."""
        size = (self.count + 1) * self.replicas
        flat: Floats = np.bincount(bins * self.replicas + replica, values, size).astype(np.float64)
        return flat.reshape(self.count + 1, self.replicas)[:-1]


def _own(scenario: Scenario, state: State, name: str, ends: Floats) -> Floats:
    """Return (K, devices): a rank's own term against its replica's worst."""
    found = state.at(name, ends - scenario.sensors.interval / 2)
    ranks = found.reshape(len(found), scenario.replicas, scenario.fleet.tp)
    return np.asarray((ranks / ranks.max(axis=2, keepdims=True)).reshape(found.shape))


def _loads(run: Run, adder: _Adder) -> tuple[Floats, Floats]:
    """Return (K, replicas) bytes and seconds of prefixes copied from the host, where each copy began."""
    moved = served_requests(run, "copy_bytes")
    begun = served_requests(run, "copy_start")
    took = served_requests(run, "copy_took")
    rows = np.flatnonzero(moved > 0)
    bins = adder.bins(begun[rows])
    replica = run.requests.replica[rows]
    return adder.by(bins, replica, moved[rows]), adder.by(bins, replica, took[rows])


def _hosts(values: Floats, scenario: Scenario) -> Floats:
    """Return (K, nodes) out of (K, replicas)."""
    fleet = scenario.fleet
    found = np.zeros((len(values), fleet.nodes))
    for place in range(scenario.replicas):
        found[:, place * fleet.tp // fleet.gpus_per_node] += values[:, place]
    return found


def _wakes(scenario: Scenario, run: Run, state: State, adder: _Adder) -> Floats:
    """Return (K, nodes): run-queue time of the API servers, three wake-ups a request and one a token."""
    arrival, replica = run.requests.arrival, run.requests.replica
    mean = state.at("run_queue", arrival)[np.arange(arrival.size), replica * scenario.fleet.tp]
    return _hosts(adder.by(adder.bins(arrival), replica, 3.0 * mean), scenario)
