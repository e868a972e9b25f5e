"""Who asks when for how much: recorded lengths, drawn anew, at arrivals of a wanted rate and burstiness."""

import csv
import gzip
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np

from otel_attrib.analytics.columns import Floats, Ints
from otel_attrib.errors import UsageError
from otel_attrib.fleet.scenario import Scenario, Workload

__all__ = ["ARRIVALS", "SOURCES", "Requests", "draw", "lengths"]

SOURCES = ("mooncake", "azure_code", "servegen", "lognormal")
ARRIVALS = ("poisson", "gamma", "trace")


@dataclass(frozen=True)
class Requests:
    """n requests by arrival: seconds from the run's start, tokens, and the uniform numbers that decide."""

    arrival: Floats
    prompt: Ints
    output: Ints
    shared: Ints
    tenant: Ints
    model: Ints
    luck: Floats
    on_host: Floats
    replica: Ints

    @property
    def n(self) -> int:
        """Return how many."""
        return int(self.arrival.size)


@lru_cache(maxsize=8)
def _table(source: str) -> Floats:
    """Return (rows, 4): ms, prompt, output and shared tokens of a recorded source."""
    data = files("otel_attrib.fleet").joinpath("data", f"{source}.csv.gz").read_bytes()
    rows = list(csv.reader(gzip.decompress(data).decode().splitlines()))[1:]
    return np.array(rows, dtype=np.float64)


def lengths(workload: Workload, n: int, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Draw (n,) prompt, output and shareable prefix tokens, scaled to the wanted means and cut."""
    if workload.source == "lognormal":
        prompt = rng.lognormal(-0.32, 0.8, n)
        output = rng.lognormal(-0.18, 0.6, n)
        shared = prompt * 0.5 * rng.uniform(0.8, 1.2, n)
        scale_p, scale_o = workload.prompt_mean, workload.output_mean
    elif workload.source in SOURCES:
        table = _table(workload.source)
        rows = rng.integers(0, len(table), n)
        prompt, output, shared = table[rows, 1], table[rows, 2], table[rows, 3]
        scale_p = workload.prompt_mean / float(table[:, 1].mean())
        scale_o = workload.output_mean / float(table[:, 2].mean())
    else:
        raise UsageError(f"no source {workload.source!r}; choose one of {', '.join(SOURCES)}")
    tokens = np.clip(np.rint(prompt * scale_p), 16, workload.prompt_most).astype(np.int64)
    written = np.clip(np.rint(output * scale_o), 2, workload.output_most).astype(np.int64)
    found = np.minimum(np.rint(shared * scale_p * workload.reuse), tokens - 16).astype(np.int64)
    return tokens, written, found


def gaps(workload: Workload, n: int, rng: np.random.Generator) -> Floats:
    """Draw (n,) gaps between arrivals, of mean 1."""
    if workload.arrivals == "poisson":
        return rng.exponential(1.0, n)
    if workload.arrivals == "gamma":
        shape = 1.0 / max(workload.cv, 1e-3) ** 2
        return rng.gamma(shape, 1.0 / shape, n)
    if workload.arrivals == "trace":
        name = workload.source if workload.source in ("mooncake", "azure_code") else "azure_code"
        times = _table(name)[:, 0]
        recorded = np.diff(times) + rng.random(times.size - 1) * 1e-3
        first = int(rng.integers(0, recorded.size))
        looped = np.take(recorded, np.arange(first, first + n), mode="wrap")
        return np.asarray(looped / recorded.mean(), dtype=np.float64)
    raise UsageError(f"no arrivals {workload.arrivals!r}; choose one of {', '.join(ARRIVALS)}")


def draw(scenario: Scenario, rate: float, seconds: float, rng: np.random.Generator) -> Requests:
    """Draw the requests of a run of `seconds` at a mean `rate`, before any shift."""
    workload = scenario.workload
    n = max(int(rate * seconds * 1.02) + 64, 16)
    arrival = np.cumsum(gaps(workload, n, rng)) / rate
    prompt, output, shared = lengths(workload, n, rng)
    names = list(workload.tenants)
    shares = np.array([workload.tenants[name] for name in names], dtype=np.float64)
    tenant = rng.choice(len(names), n, p=shares / shares.sum())
    models = len(scenario.models)
    model = rng.integers(0, models, n)
    kept = arrival < seconds
    return Requests(
        arrival[kept],
        prompt[kept],
        output[kept],
        shared[kept],
        tenant[kept],
        model[kept],
        rng.random(n)[kept],
        rng.random(n)[kept],
        _routed(model[kept], scenario, rng),
    )


def _routed(model: Ints, scenario: Scenario, rng: np.random.Generator) -> Ints:
    """Send each request to one of its model's replicas, in turn with a random start of every round."""
    models, replicas = len(scenario.models), scenario.replicas
    found = np.zeros(model.size, dtype=np.int64)
    for number in range(models):
        mine = np.flatnonzero(model == number)
        places = np.arange(number, replicas, models)
        rounds = -(-mine.size // max(places.size, 1))
        order = rng.permuted(np.tile(places, (rounds, 1)), axis=1).ravel()
        found[mine] = order[: mine.size]
    return found
