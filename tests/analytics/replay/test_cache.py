"""A KV cache that fills up as tokens come, against the model fleet's scheduler, which was written apart."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.period import Period, rows_of
from otel_attrib.analytics.replay.arrivals import arrivals_of
from otel_attrib.analytics.replay.calibrate import calibrate
from otel_attrib.analytics.replay.engine import Demand, Engine, Limits, serve
from otel_attrib.analytics.replay.gate import fit_of
from otel_attrib.analytics.replay.limits import ceilings_of
from otel_attrib.analytics.replay.steps import steps_of
from otel_attrib.analytics.windows import Window
from otel_attrib.fleet import kernel

IDLE, TOKEN = 20.0, 0.1  # ms of a step at least, and of a prompt token
BLOCKS, BLOCK = 600, 16
SINCE = 1200
START = datetime(2026, 5, 1, 12, tzinfo=UTC)
START_US = round(START.timestamp() * 1e6)
REQUEST, STEP = kernel.REQUEST.index, kernel.STEP.index


@dataclass(frozen=True)
class Run:
    """What was asked, (n,) each, ms and tokens, and the kernel's tables."""

    at: np.ndarray
    prompt: np.ndarray
    output: np.ndarray
    requests: np.ndarray
    steps: np.ndarray


@pytest.fixture(scope="module")
def run() -> Run:
    """One engine with 9,600 tokens of cache and seats enough, which is often full."""
    rng = np.random.default_rng(4)
    n = 2500
    at = np.cumsum(rng.exponential(110, n))
    prompt = np.clip(rng.lognormal(5.5, 0.7, n), 8, 3000).astype(np.int64)
    output = 2 + rng.geometric(1 / 80, n)
    cost = np.zeros(18)
    cost[[0, 2]] = TOKEN / 1000, IDLE / 1000
    terms = np.ones((1, 15))
    terms[0, [5, 12, 13, 14]] = 0.0
    requests, steps, _ = kernel.run(
        at / 1000,
        prompt,
        output,
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.bool_),
        np.ones(n),
        np.concatenate([[0], np.cumsum(output)]),
        np.zeros(1),
        terms,
        0.0,
        cost,
        np.array([2048, 256, BLOCKS, BLOCK, 1, 1]),
        np.ones((1, 4)),
        np.zeros((1, 3)),
    )
    return Run(at, prompt, output, requests, steps)


def replayed(run: Run, limits: Limits) -> tuple[np.ndarray, np.ndarray]:
    """Waits in ms, and how often each request gave way."""
    n = run.at.size
    none = np.zeros(n)
    decoding = run.steps[:, STEP("decode_tokens")].mean() * TOKEN
    demand = Demand(
        engine=np.zeros(n, dtype=np.int64),
        at=run.at,
        work=run.prompt * TOKEN,
        speed=np.ones(n),
        blocking=none,
        beside=none,
        fresh=run.prompt.astype(np.float64),
        held=(run.prompt + run.output + BLOCK / 2).astype(np.float64),  # the last block is half full
        grows=run.output.astype(np.float64),
        tokens=run.output - 1.0,
        residual=np.full(n, IDLE / 2),
    )
    served = serve(demand, {0: Engine(limits, idle=IDLE, base=decoding)})
    return served.waits, served.gave_way


def waited(run: Run) -> np.ndarray:
    """Ms from arrival to the first step as the kernel has them."""
    ms: np.ndarray = run.requests[:, REQUEST("scheduled")] * 1000 - run.at
    return ms


def test_waits_for_a_cache_that_grows(run: Run) -> None:
    """Waits of seconds come out with R² ≥ 0.95 and P99 within 5 %; set aside at admission they are others."""
    limits = Limits(cache=BLOCKS * BLOCK, budget=2048.0, growing=True)
    growing = fit_of(waited(run), replayed(run, limits)[0])
    reserved = fit_of(waited(run), replayed(run, Limits(cache=BLOCKS * BLOCK, budget=2048.0))[0])

    assert np.quantile(waited(run), 0.9) > 1000
    assert growing.r2 >= 0.95
    assert abs(growing.p99_error) <= 0.05
    assert reserved.r2 < 0.8


def test_the_newest_give_way(run: Run) -> None:
    """As many requests start over as in the kernel, within a fifth, and mostly the same ones."""
    limits = Limits(cache=BLOCKS * BLOCK, budget=2048.0, growing=True)
    theirs, ours = run.requests[:, REQUEST("preemptions")], replayed(run, limits)[1]

    assert theirs.sum() > 100
    assert ours.sum() == pytest.approx(theirs.sum(), rel=0.2)
    assert np.corrcoef(theirs, ours)[0, 1] > 0.5


def test_an_old_request_keeps_its_place() -> None:
    """Two prompts of 40 tokens and 40 more each do not fit 100: the second gives way, the first never.

    Both are there after one step of 4 ms; after ten of 1 ms the next tokens would make 102. A third that
    comes when all is over finds room.
    """
    prompt, none = np.full(3, 40.0), np.zeros(3)
    demand = Demand(
        engine=np.zeros(3, dtype=np.int64),
        at=np.array([0.0, 0.0, 200.0]),
        work=np.full(3, 2.0),
        speed=np.ones(3),
        blocking=none,
        beside=none,
        fresh=prompt,
        held=prompt + 40,
        grows=prompt,
        tokens=prompt,
        residual=none,
    )

    served = serve(demand, {0: Engine(Limits(cache=100.0, growing=True), idle=1.0)})

    assert [0.0, 1.0, 0.0] == served.gave_way.tolist()
    assert [0.0, 0.0, 0.0] == served.waits.tolist()
    assert [4.0, 4.0, 2.0] == served.stays.tolist()


def tables(run: Run) -> tuple[pa.Table, pa.Table]:
    """The rows that a recorder would have written."""
    us = START_US + (run.at * 1000).astype(np.int64)
    column = {name: run.requests[:, REQUEST(name)] for name in ("scheduled", "first", "last")}
    queued = run.at * 1000
    requests = pa.table(
        {
            "time": pa.array(us, pa.timestamp("us", "UTC")),
            "trace_id": [f"{i:032x}" for i in range(us.size)],
            "queue_us": column["scheduled"] * 1e6 - queued,
            "prefill_us": (column["first"] - column["scheduled"]) * 1e6,
            "ttft_us": column["first"] * 1e6 - queued,
            "e2e_us": column["last"] * 1e6 - queued,
            "prompt_tokens": run.prompt,
            "output_tokens": run.output,
            "prefill_chunks": run.requests[:, REQUEST("chunks")],
            "first_step": run.requests[:, REQUEST("first_step")],
            "last_step": run.requests[:, REQUEST("last_step")],
        }
    )
    start = START_US + (run.steps[:, STEP("start")] * 1e6).astype(np.int64)
    steps = pa.table(
        {
            "time": pa.array(start, pa.timestamp("us", "UTC")),
            "step": np.arange(len(run.steps)),
            "duration_us": run.steps[:, STEP("duration")] * 1e6,
            **{name: run.steps[:, STEP(name)] for name in ("prefill_tokens", "decode_tokens", "running")},
            "kv_usage": run.steps[:, STEP("kv_usage")],
        }
    )
    return requests, steps


@pytest.mark.parametrize("since", [0, SINCE])
def test_room_is_found_in_the_steps(run: Run, since: int) -> None:
    """From shares in use and requests, the size of the cache comes out within 1 %; nobody wrote it down.

    Also from the second half of the run, which begins with requests that are not in the table.
    """
    requests, steps = tables(run)
    seen = arrivals_of(requests[since:], {"": 0})
    found = ceilings_of(seen, steps_of(steps[run_step(run, since) :], {"": 0}, seen.zero_us), 1)
    half_full = 8 * run.steps[:, STEP("running")].max()  # tokens that no last block has yet

    assert BLOCKS * BLOCK - half_full <= found.room[0] <= BLOCKS * BLOCK * 1.01


def run_step(run: Run, request: int) -> int:
    """The first step that begins after a request has come."""
    return int(np.searchsorted(run.steps[:, STEP("start")] * 1000, run.at[request]))


def test_a_full_cache_is_recognised(run: Run) -> None:
    """Asked which limits bind, the replay says the cache, filled as tokens come, and passes its gate."""
    requests, steps = tables(run)
    window = Window(START, START + timedelta(milliseconds=float(run.at[-1]) + 60_000))
    period = Period(window, rows_of(requests, METRICS["ttft"]), requests, steps)
    model = calibrate(period, period)

    assert (True, np.inf) == (model.limits[0].growing, model.limits[0].seats)
    assert model.fit.r2 >= 0.95
    assert abs(model.fit.p99_error) <= 0.1


def test_a_window_begins_in_the_middle(run: Run) -> None:
    """Cut at 1,200 of 2,500 requests, with the cache full of earlier ones, the waits are replayed as well."""
    requests, steps = tables(run)
    cut = START_US + int(run.at[SINCE] * 1000)
    later, after = requests[SINCE:], steps[run_step(run, SINCE) :]
    window = Window(START + timedelta(microseconds=cut - START_US), START + timedelta(hours=1))
    period = Period(window, rows_of(later, METRICS["ttft"]), later, after)
    model = calibrate(period, period)

    assert run.requests[:SINCE, REQUEST("last")].max() * 1000 > run.at[SINCE] + 1000
    assert model.fit.r2 >= 0.9
