"""The application over a store with requests of two tenants, asked without a socket."""

import asyncio
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pytest
from fastapi import FastAPI

from otel_attrib.analytics.service.app import Behind, Ending, service_app
from otel_attrib.analytics.service.caller import Role
from otel_attrib.analytics.service.tokens import Token, hash_of, write_tokens
from otel_attrib.config import Settings
from otel_attrib.schema.attributes import DECODE_STAGES, STAGES
from otel_attrib.schema.reports import ReportRow, into_store
from otel_attrib.schema.store import Store

STAMP = pa.timestamp("us", "UTC")
MEAN_LOG_US = {"ingress": 6, "tokenize": 7, "queue": 9, "kv_init": 5, "sample": 6, "egress": 6}
TOKENS: dict[str, tuple[Role, tuple[str, ...]]] = {
    "all": ("read", ()),
    "acme": ("read", ("acme",)),
    "zen": ("read", ("zen",)),
    "both": ("read", ("acme", "zen")),
    "scribe": ("write", ()),
    "acme-scribe": ("write", ("acme",)),
    "root": ("admin", ()),
}

OBJECTIVE = """
apiVersion: openslo/v1
kind: SLO
metadata: {{name: {tenant}-ttft}}
spec:
  service: chat
  indicator:
    metadata: {{name: {tenant}-within}}
    spec:
      ratioMetric:
        counter: true
        good:
          metricSource: {{type: otel-attrib, spec: {{limits: {{ttft: 135ms}}, where: {{tenant: {tenant}}}}}}}
        total:
          metricSource: {{type: otel-attrib, spec: {{where: {{tenant: {tenant}}}}}}}
  timeWindow: [{{duration: 1d, isRolling: true}}]
  budgetingMethod: Occurrences
  objectives: [{{target: 0.99}}]
"""


class Api:
    """A client of one application; each token's name is the token itself."""

    def __init__(self, app: FastAPI) -> None:
        """Ask `app` on an event loop of its own."""
        self.app = app
        self._runner = asyncio.Runner()
        self._client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app, raise_app_exceptions=False), base_url="http://127.0.0.1:8080"
        )

    def ask(self, method: str, path: str, token: str = "", **more: Any) -> httpx.Response:
        """One request."""
        headers = {**more.pop("headers", {}), **({"Authorization": f"Bearer {token}"} if token else {})}
        return self._runner.run(self._client.request(method, path, headers=headers, **more))

    def get(self, path: str, token: str = "", **more: Any) -> httpx.Response:
        """One GET below /api/v1."""
        return self.ask("GET", f"/api/v1{path}", token, **more)

    def run(self, work: Any) -> Any:
        """Anything else on the application's loop."""
        return self._runner.run(work)

    def close(self) -> None:
        """End the application."""
        Ending(self.app).stop(1)
        self._runner.run(self._client.aclose())
        self._runner.close()


@pytest.fixture(scope="module")
def filled(tables: Store) -> Store:
    """Half an hour of two tenants' requests: prefill is slower in the last quarter of an hour."""
    fill(tables)
    return tables


@pytest.fixture
def api(filled: Store, make_api: Callable[..., Api]) -> Api:
    """The application over `filled`, open to everybody as on any loopback."""
    return make_api(filled)


@pytest.fixture
def guarded(filled: Store, make_api: Callable[..., Api], tokens: Path, objectives: Path) -> Api:
    """The application over `filled`, with tokens, and an objective of each tenant."""
    return make_api(filled, tokens=str(tokens), slo=str(objectives))


@pytest.fixture
def objectives(tmp_path: Path) -> Path:
    """An objective on each tenant's first tokens: `acme-ttft` and `zen-ttft`."""
    path = tmp_path / "slo.yaml"
    path.write_text("---\n".join(OBJECTIVE.format(tenant=tenant) for tenant in ("acme", "zen")))
    return path


@pytest.fixture
def make_api() -> Iterator[Callable[..., Api]]:
    """Make an application over a store, with settings."""
    made: list[Api] = []

    def make(store: Store | Callable[[], Store], page: Path | None = None, **values: Any) -> Api:
        behind = Behind(
            store=store if callable(store) else lambda: store,
            trouble=lambda: "",
            status=lambda host: {"version": "0", "http": f"http://{host}:8080", "counters": {"x": 1.0}},
            page=page,
        )
        made.append(Api(service_app(Settings(**values), behind)))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def report() -> Callable[[str, str], ReportRow]:
    """Make a report of now, of a tenant's incident."""
    return lambda tenant, incident: report_row(tenant, incident, datetime.now(UTC))


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    """A file of tokens whose secrets are their names."""
    path = tmp_path / "tokens.toml"
    write_tokens(
        path, [Token(name, hash_of(name), role, tenants) for name, (role, tenants) in TOKENS.items()]
    )
    assert 0o600 == os.stat(path).st_mode & 0o777
    return path


def fill(store: Store) -> None:
    """Requests, counters, marks and reports of acme and zen, up to now."""
    now = datetime.now(UTC).replace(microsecond=0)
    for number, (tenant, node) in enumerate((("acme", "n0"), ("zen", "n0"))):
        store.insert_arrow(
            "requests", _requests(now - timedelta(minutes=30), 1_500, number, tenant, node, 1.0)
        )
        store.insert_arrow(
            "requests", _requests(now - timedelta(minutes=15), 1_500, 10 + number, tenant, node, 3.0)
        )
    store.insert_arrow("samples", _samples(now))
    store.insert_arrow("marks", _marks(now))
    keep = into_store(store)
    for tenant in ("acme", "zen"):
        keep(report_row(tenant, f"incident-{tenant}", now - timedelta(minutes=1)))


def report_row(tenant: str, incident: str, time: datetime) -> ReportRow:
    """What a watch said at `time` of an incident of one tenant."""
    return ReportRow(
        time=time,
        incident=incident,
        state="open",
        onset=time - timedelta(minutes=14),
        service="chat",
        model="m0",
        metric="ttft",
        quantile=0.99,
        where={"tenant": tenant},
        verdict="CAUSE",
        layer="gpu",
        delta_ms=12.5,
        report=f'{{"schema":"otel-attrib/why/1","where":{{"tenant":"{tenant}"}}}}',
        hash=f"{incident:0<64}",
    )


def _requests(start: datetime, n: int, seed: int, tenant: str, node: str, slower: float) -> pa.Table:
    rng = np.random.default_rng(seed)
    offsets = np.sort(rng.integers(0, 15 * 60_000_000, n))
    prompt, output = rng.lognormal(6, 0.6, n).astype(np.uint32) + 1, rng.integers(2, 40, n).astype(np.uint32)
    stages = {name: rng.lognormal(mean, 0.5, n) for name, mean in MEAN_LOG_US.items()}
    stages["prefill"] = 60 * prompt * rng.lognormal(0, 0.2, n) * slower
    stages["outside"] = 0.001 * np.sum(list(stages.values()), axis=0)
    decode = {name: rng.lognormal(6, 0.3, n) for name in DECODE_STAGES}
    ttft, tpot = (np.sum(list(parts.values()), axis=0) for parts in (stages, decode))
    gaps = [np.full(count - 1, us).tolist() for count, us in zip(output, tpot, strict=True)]
    return pa.table(
        {
            "time": pa.array([start + timedelta(microseconds=int(us)) for us in offsets], STAMP),
            "trace_id": [f"{seed:08x}{i:024x}" for i in range(n)],
            "span_id": [f"{seed:04x}{i:012x}" for i in range(n)],
            "request_id": [f"{tenant}-{seed}-{i}" for i in range(n)],
            "service": ["chat"] * n,
            "model": ["m0"] * n,
            "tenant": [tenant] * n,
            "node": [node] * n,
            "gpu_set": [f"{node}:0"] * n,
            "status": ["ok"] * n,
            "source": ["otel_attrib"] * n,
            "prompt_tokens": prompt,
            "output_tokens": output,
            "ttft_us": ttft,
            "tpot_us": tpot,
            "e2e_us": ttft + tpot * (output - 1.0),
            **{f"{name}_us": stages[name] for name in STAGES},
            **{f"decode_{name}_us": decode[name] for name in DECODE_STAGES},
            "gaps_us": pa.array(gaps, pa.list_(pa.float32())),
        }
    )


def _samples(now: datetime) -> pa.Table:
    times = [now - timedelta(seconds=second) for second in range(1800, 0, -1)]
    rows: dict[str, list[Any]] = {name: [] for name in ("time", "metric", "device", "attributes", "value")}
    for number, time in enumerate(times):
        clock: tuple[str, str, list[tuple[str, str]], float] = (
            "hw.gpu.clock.graphics",
            "0",
            [],
            1700.0 - (400.0 if number >= 900 else 0.0),
        )
        sent = [
            ("otel_attrib.tcp.retransmits", "", [("tenant", tenant)], float(number))
            for tenant in ("acme", "zen")
        ]
        for metric, device, attributes, value in (clock, *sent):
            for name, each in zip(rows, (time, metric, device, attributes, value), strict=True):
                rows[name].append(each)
    types = {"time": STAMP, "attributes": pa.map_(pa.string(), pa.string()), "value": pa.float64()}
    columns = {name: pa.array(values, types.get(name, pa.string())) for name, values in rows.items()}
    return pa.table({**columns, "node": ["n0"] * len(rows["time"]), "service": [""] * len(rows["time"])})


def _marks(now: datetime) -> pa.Table:
    pairs = pa.map_(pa.string(), pa.string())
    return pa.table(
        {
            "time": pa.array([now - timedelta(seconds=second) for second in (780, 770, 770)], STAMP),
            "kind": ["deploy", "config", "config"],
            "name": ["v2", "acme-only", "zen-only"],
            "service": ["chat"] * 3,
            "attributes": pa.array([[], [("tenant", "acme")], [("tenant", "zen")]], pairs),
        }
    )
