"""A step loop of one engine, written apart from the replay: what it is judged against.

Every step: who is running keeps its place and decodes one token or computes more of its prompt, then
waiting requests come in while there is a seat and tokens are left; the step lasts
`base + per_token·prompt tokens + per_seat·running + the copies of those who came in`, all in ms.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.period import Period, rows_of
from otel_attrib.analytics.windows import Window

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Plant:
    """What is simulated; `hold` is how long the scheduler lets each newcomer wait whatever is free."""

    seed: int = 0
    requests: int = 3000
    rate: float = 5.0  # requests a second
    burst: float = 0.0  # share of the window in which the rate is threefold
    tokens: float = 60.0  # output, mean
    seats: int = 32
    budget: int = 2048
    base: float = 12.0
    per_token: float = 0.12
    per_seat: float = 0.15
    copy: float = 8.0
    hold: float = 0.0
    newest_first: bool = False

    def but(self, **changed: float | bool) -> "Plant":
        """The same with other numbers."""
        return replace(self, **changed)  # type: ignore[arg-type]


@dataclass
class Job:
    """One request on its way."""

    arrival: float
    prompt: int
    output: int
    copy: float
    ingress: float
    admitted: float = -1.0
    left: int = 0
    first: float = -1.0
    last: float = -1.0
    made: int = 0


def jobs_of(plant: Plant) -> list[Job]:
    """The same requests for the same seed, whatever the engine does with them."""
    rng = np.random.default_rng(plant.seed)
    gaps = rng.exponential(1000 / plant.rate, plant.requests)
    phase = np.arange(plant.requests) % 500
    gaps = np.where(phase < 500 * plant.burst, gaps / 3, gaps)
    prompt = np.clip(rng.lognormal(6.0, 0.8, plant.requests), 8, 12000).astype(int)
    output = 2 + rng.geometric(1 / plant.tokens, plant.requests)
    copy = plant.copy * rng.lognormal(0, 0.4, plant.requests)
    ingress = rng.lognormal(0, 0.3, plant.requests)
    rows = zip(np.cumsum(gaps), prompt, output, copy, ingress, strict=True)
    return [Job(float(t), int(p), int(o), float(c), float(i)) for t, p, o, c, i in rows]


def run(plant: Plant) -> list[Job]:
    """Serve every request."""
    jobs = jobs_of(plant)
    coming = sorted(jobs, key=lambda job: job.arrival + job.ingress)
    waiting: list[Job] = []
    running: list[Job] = []
    now, at = 0.0, 0
    while at < len(coming) or waiting or running:
        while at < len(coming) and coming[at].arrival + coming[at].ingress + plant.hold <= now:
            waiting.append(coming[at])
            at += 1
        rest, prompts, copies = plant.budget, 0, 0.0
        decoding = [job for job in running if job.left == 0]
        rest -= len(decoding)
        for job in running:
            if job.left and rest > 0:
                taken = min(rest, job.left)
                job.left, rest, prompts = job.left - taken, rest - taken, prompts + taken
        while waiting and rest > 0 and len(running) < plant.seats:
            job = waiting.pop(-1 if plant.newest_first else 0)
            taken = min(rest, job.prompt)
            job.admitted, job.left = now, job.prompt - taken
            rest, prompts, copies = rest - taken, prompts + taken, copies + job.copy
            running.append(job)
        if not running:
            now = coming[at].arrival + coming[at].ingress + plant.hold
            continue
        now += plant.base + plant.per_token * prompts + plant.per_seat * len(running) + copies
        for job in running:
            if job.left == 0:
                job.made += 1
                job.first = now if job.made == 1 else job.first
                job.last = now
        running = [job for job in running if job.made < job.output]
    return jobs


def table_of(jobs: list[Job], start: datetime = NOON) -> pa.Table:
    """The rows that a recorder would have written."""
    jobs = [job for job in jobs if job.last > 0]
    us = [job.arrival * 1000 for job in jobs]
    first = [job.first - job.arrival + 1.0 for job in jobs]
    columns = {
        "time": pa.array([start + timedelta(microseconds=int(t)) for t in us], pa.timestamp("us", "UTC")),
        "trace_id": [f"{i:032x}" for i in range(len(jobs))],
        "service": ["chat"] * len(jobs),
        "node": ["n0"] * len(jobs),
        "model": ["m"] * len(jobs),
        "status": ["ok"] * len(jobs),
        "prompt_tokens": pa.array([job.prompt for job in jobs], pa.uint32()),
        "cached_tokens": pa.array([0] * len(jobs), pa.uint32()),
        "output_tokens": pa.array([job.output for job in jobs], pa.uint32()),
        "ttft_us": [ms * 1000 for ms in first],
        "e2e_us": [(job.last - job.arrival + 1.0) * 1000 for job in jobs],
        "tpot_us": [(job.last - job.first) * 1000 / (job.output - 1) for job in jobs],
        "ingress_us": [job.ingress * 1000 for job in jobs],
        "queue_us": [(job.admitted - job.arrival - job.ingress) * 1000 for job in jobs],
        "kv_init_us": [job.copy * 1000 for job in jobs],
        "prefill_us": [(job.first - job.admitted - job.copy) * 1000 for job in jobs],
        "egress_us": [1000.0] * len(jobs),
    }
    return pa.table(columns)


def period_of(plant: Plant, start: datetime = NOON, metric: str = "ttft") -> Period:
    """One window of the plant."""
    jobs = run(plant)
    table = table_of(jobs, start)
    window = Window(start, start + timedelta(milliseconds=int(max(job.arrival for job in jobs)) + 1000))
    return Period(window, rows_of(table, METRICS[metric]), table)


@pytest.fixture(scope="session")
def plant() -> Plant:
    """An engine at a middling load."""
    return Plant()


@pytest.fixture(scope="session")
def period() -> Callable[..., Period]:
    """Simulate a window, once for each plant; see `period_of`."""
    return lru_cache(maxsize=None)(period_of)
