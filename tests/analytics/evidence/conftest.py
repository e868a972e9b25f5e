"""Two windows of a small fleet, made up to order: what each stage, counter and step did, before and after."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics.books import Books, no_change
from otel_attrib.analytics.evidence import Layers, judge_layers
from otel_attrib.analytics.intervals import Estimate
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.period import NO_TABLE, Period, rows_of
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.counters import counter_named

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
LENGTH = 600
STAMP = pa.timestamp("us", "UTC")
STAGE_US = {
    "ingress": 1_000.0,
    "tokenize": 2_000.0,
    "queue": 5_000.0,
    "kv_init": 1_000.0,
    "prefill": 80_000.0,
    "sample": 1_000.0,
    "egress": 1_000.0,
    "decode_batch_wait": 1_000.0,
    "decode_forward": 15_000.0,
    "decode_sample": 1_000.0,
    "decode_egress": 500.0,
}
TTFT = tuple(name for name in STAGE_US if not name.startswith("decode_"))
QUIET = {
    "gpu_clock": 1980.0,
    "gpu_throttled": 0.0,
    "gpu_temperature": 60.0,
    "gpu_power": 400.0,
    "gpu_power_limit": 700.0,
    "gpu_utilization": 0.7,
    "sm_activity": 0.4,
    "dram_activity": 0.5,
    "pcie_width": 16.0,
    "pcie_generation": 5.0,
    "pcie_replays": 0.0,
    "pcie_receive": 2e9,
    "pcie_transmit": 1e9,
    "copy_bytes": 2e9,
    "copy_time": 0.05,
    "run_queue_wait": 0.01,
    "off_cpu": 0.3,
    "cpu_throttled": 0.0,
    "cpu_pressure": 0.01,
    "cpu_utilization": 0.3,
    "gc_time": 0.001,
    "tcp_retransmits": 0.1,
    "tcp_rtt": 0.001,
    "tcp_zero_window": 0.0,
    "send_queue": 10_000.0,
}
"""Counters of a healthy fleet: levels, and rates a second for totals."""
TOGETHER = {"nvlink_links": 18.0, "nvlink_crc": 0.0, "collective_time": 0.2, "collective_bytes": 5e9}


@dataclass(frozen=True)
class Scene:
    """A fleet of `nodes` × `engines` of `ranks` cards; what is given for "after" holds on `hit` alone.

    `stages`: factors of stage times after. `counters`: levels (rates for totals) after. `missing`: counters
    that nobody read. `books`: stage → ms, made from `stages` unless given. `prompts`: prompt tokens of a
    prefill step after. `first_minute`: only requests of the first minute after a deploy were slow.
    """

    nodes: int = 2
    engines: int = 2
    ranks: int = 1
    hit: Callable[[int, int], bool] = lambda node, engine: (node, engine) == (0, 0)
    stages: Mapping[str, float] = field(default_factory=dict)
    counters: Mapping[str, float] = field(default_factory=dict)
    steps: Mapping[str, float] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    metric: str = "ttft"
    replay_valid: bool | None = None
    books: Mapping[str, float] | None = None
    n: int = 2_000
    every: float = 5.0
    unread: bool = False
    prompts: int = 512
    first_minute: bool = False
    deploy: bool = False
    without_steps: bool = False

    def judged(self) -> Layers:
        """Judge it."""
        before, after = self.period(False), self.period(True)
        return judge_layers(self.balance(), before, after, None)

    def balance(self) -> Books:
        """Return books in which each stage changed by its own factor."""
        ms = self.books
        if ms is None:
            names = TTFT if self.metric == "ttft" else tuple(n for n in STAGE_US if n not in TTFT)
            ms = {
                name.removeprefix("decode_"): STAGE_US[name] / 1000 * (self.stages.get(name, 1.0) - 1)
                for name in names
            }
        stages = {name: Estimate(value, (0.02 * value) ** 2 + 1e-6, 19.0) for name, value in ms.items()}
        stages.setdefault("outside", Estimate(0.0, 1e-6, 19.0))
        spread = sum(e.variance for e in stages.values())
        delta = Estimate(sum(e.value for e in stages.values()), spread, 19.0)
        return Books(self.metric, delta, stages, no_change(), no_change(), no_change(), self.replay_valid)

    def period(self, after: bool) -> Period:
        """Return one window."""
        start = NOON + timedelta(seconds=LENGTH) if after else NOON
        window = Window(start, start + timedelta(seconds=LENGTH))
        requests = self._requests(after, window)
        return Period(
            window=window,
            rows=rows_of(requests, METRICS[self.metric]),
            requests=requests,
            steps=NO_TABLE if self.without_steps else self._steps(after, window),
            samples=NO_TABLE if self.unread else self._samples(after, window),
            marks=self._marks(window) if after and (self.deploy or self.first_minute) else NO_TABLE,
        )

    def _marks(self, window: Window) -> pa.Table:
        start = window.bounds_us()["from_us"]
        return pa.table({"time": pa.array([start], STAMP), "kind": ["deploy"], "name": ["v2"]})

    def _requests(self, after: bool, window: Window) -> pa.Table:
        rng = np.random.default_rng(11 + after)
        start = window.bounds_us()["from_us"]
        at = np.sort(rng.integers(0, LENGTH * 10**6, self.n)) + start
        node, engine = rng.integers(0, self.nodes, self.n), rng.integers(0, self.engines, self.n)
        struck = np.array([after and self.hit(i, j) for i, j in zip(node, engine, strict=True)])
        if self.first_minute:
            struck &= at < start + 60 * 10**6
        columns = {}
        for name, mean in STAGE_US.items():
            times = mean * np.exp(0.3 * rng.standard_normal(self.n) - 0.045)
            columns[f"{name}_us"] = times * np.where(struck, self.stages.get(name, 1.0), 1.0)
        figures = {"preemptions": 0.0, "prefill_chunks": 1.0, "batch_size_mean": 16.0, "cached_tokens": 500.0}
        for name, level in figures.items():
            columns[name] = np.where(struck, self.figures.get(name, level), level)
        return pa.table(
            {
                "time": pa.array(at, STAMP),
                "trace_id": [f"{row:032x}" for row in range(self.n)],
                "node": [f"node{number}" for number in node],
                "gpu_set": [self._set(int(number)) for number in engine],
                "replica": [str(number) for number in engine],
                "model": ["llama"] * self.n,
                "version": ["v1"] * self.n,
                "tenant": ["chat"] * self.n,
                "status": ["ok"] * self.n,
                "prompt_tokens": np.full(self.n, 1000),
                "output_tokens": np.full(self.n, 50),
                "ttft_us": sum(columns[f"{name}_us"] for name in TTFT),
                "tpot_us": sum(columns[f"{name}_us"] for name in STAGE_US if name not in TTFT),
                **columns,
            }
        )

    def _set(self, engine: int) -> str:
        return ",".join(f"GPU-{engine * self.ranks + rank}" for rank in range(self.ranks))

    def _steps(self, after: bool, window: Window) -> pa.Table:
        rng = np.random.default_rng(31 + after)
        start = window.bounds_us()["from_us"]
        healthy = {
            "schedule_us": 500.0,
            "forward_us": 15_000.0,
            "sample_us": 500.0,
            "output_us": 500.0,
            "collective_us": 2_000.0 if self.ranks > 1 else 0.0,
            "copy_us": 100.0,
            "kv_usage": 0.5,
            "preemptions": 0.0,
            "waiting": 1.0,
            "running": 16.0,
        }
        tables = []
        for node in range(self.nodes):
            for engine in range(self.engines):
                struck = after and self.hit(node, engine)
                most = self.prompts if struck else 512
                prompts = np.where(np.arange(400) % 4 == 0, most, 0)
                columns = {}
                for name, mean in healthy.items():
                    level = self.steps.get(name, mean) if struck else mean
                    columns[name] = level * np.exp(0.05 * rng.standard_normal(400))
                parts = ("schedule_us", "forward_us", "sample_us", "output_us")
                tables.append(
                    pa.table(
                        {
                            "time": pa.array(start + np.arange(400) * LENGTH * 2500, STAMP),
                            "node": [f"node{node}"] * 400,
                            "replica": [str(engine)] * 400,
                            "prefill_tokens": prompts,
                            "decode_tokens": np.full(400, 16),
                            "batch_size": np.full(400, 16),
                            "duration_us": sum(columns[name] for name in parts),
                            **columns,
                        }
                    )
                )
        return pa.concat_tables(tables)

    def _samples(self, after: bool, window: Window) -> pa.Table:
        rng = np.random.default_rng(51 + after)
        levels = {**QUIET, **(TOGETHER if self.ranks > 1 else {})}
        start = window.bounds_us()["from_us"]
        times = start + (np.arange(int(LENGTH / self.every) + 1) * self.every * 1e6).astype(np.int64)
        rows: list[tuple[str, str, str, dict[str, str], np.ndarray]] = []
        for key in sorted({*levels, *self.counters} - set(self.missing)):
            counter = counter_named(key)
            for node in range(self.nodes):
                for device in range(self.engines * self.ranks if counter.per_device else 1):
                    struck = after and (
                        self.hit(node, device // self.ranks)
                        if counter.per_device
                        else any(self.hit(node, engine) for engine in range(self.engines))
                    )
                    quiet = levels.get(key, 0.0)
                    level = self.counters.get(key, quiet) if struck else quiet
                    noise = 1 + 0.01 * rng.standard_normal(times.size)
                    values = level * np.minimum(noise, 1.0) if counter.most <= 1 else level * noise
                    if counter.kind == "total":
                        values = np.cumsum(values * self.every)
                    name = f"GPU-{device}" if counter.per_device else ""
                    selected = dict([counter.select]) if counter.select else {}
                    rows.append((counter.metric, f"node{node}", name, selected, values))
        return pa.table(
            {
                "time": pa.array(np.tile(times, len(rows)), STAMP),
                "metric": self._words([row[0] for row in rows], times.size),
                "node": self._words([row[1] for row in rows], times.size),
                "device": self._words([row[2] for row in rows], times.size),
                "service": self._words([""] * len(rows), times.size),
                "attributes": self._attributes([row[3] for row in rows], times.size),
                "value": np.concatenate([row[4] for row in rows]),
            }
        )

    def _words(self, words: list[str], times: int) -> pa.Array:
        codes = np.repeat(np.arange(len(words), dtype=np.int32), times)
        return pa.DictionaryArray.from_arrays(codes, pa.array(words)).cast(pa.string())

    def _attributes(self, maps: list[dict[str, str]], times: int) -> pa.Array:
        has = np.repeat([len(each) for each in maps], times)
        keys = [key for each in maps for key in each for _ in range(times)]
        items = [item for each in maps for item in each.values() for _ in range(times)]
        offsets = np.concatenate([[0], np.cumsum(has)]).astype(np.int32)
        return pa.MapArray.from_arrays(offsets, pa.array(keys, pa.string()), pa.array(items, pa.string()))


@pytest.fixture
def scene() -> Callable[..., Scene]:
    """A healthy fleet of two nodes with two engines of one card; changed as asked."""

    def made(**changes: object) -> Scene:
        return replace(Scene(), **changes)  # type: ignore[arg-type] # fields by name

    return made


@pytest.fixture(scope="session")
def quiet_pair() -> tuple[Period, Period]:
    """Two healthy windows of a small fleet."""
    made = Scene(n=400, every=20.0)
    return made.period(False), made.period(True)
