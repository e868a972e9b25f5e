"""Histograms on /metrics: every count against one made from the same values by numpy."""

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse

from otel_attrib.analytics.exposition import HISTOGRAMS, Latencies, encoded
from otel_attrib.analytics.filters import EVERY_REQUEST
from otel_attrib.analytics.objectives import Limit, Objective
from otel_attrib.errors import ConfigError, StoreError
from otel_attrib.schema.store import Store

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
N = 400
# Without types in the library.
parse_openmetrics: Callable[[str], Any] = openmetrics.text_string_to_metric_families
Columns = dict[str, Any]


def fill(store: Store, seed: int = 3) -> Columns:
    """Insert requests of two models and two tenants; every tenth failed, some without a time."""
    rng = np.random.default_rng(seed)
    now = int(datetime.now(UTC).timestamp() * 1e6)
    columns: Columns = {
        "model": rng.choice(["a", "b"], N),
        "tenant": rng.choice(["x", "y"], N),
        "status": np.where(rng.random(N) < 0.1, "error", "ok"),
        "ttft": rng.choice([100_000.0, *rng.lognormal(11, 1.5, 50)], N),
        "tpot": rng.lognormal(9.5, 1, N),
        "e2e": rng.lognormal(14, 2, N),
        "gaps": [rng.lognormal(9, 1.5, rng.integers(0, 30)).astype(np.float32) for _ in range(N)],
        "weight": rng.choice([1, 7], N).astype(np.uint32),
        "unknown": rng.random(N) < 0.05,
    }
    times = pa.array(now - rng.integers(0, 60_000_000, N), pa.timestamp("us", "UTC"))
    store.insert_arrow(
        "requests",
        pa.table(
            {
                "time": times,
                "trace_id": [f"{i:032x}" for i in range(N)],
                "service": ["s"] * N,
                "model": columns["model"].tolist(),
                "tenant": columns["tenant"].tolist(),
                "status": columns["status"].tolist(),
                "ttft_us": pa.array(columns["ttft"], mask=columns["unknown"]),
                "tpot_us": columns["tpot"],
                "e2e_us": columns["e2e"],
                "gaps_us": pa.array([gaps.tolist() for gaps in columns["gaps"]], pa.list_(pa.float32())),
                "weight": columns["weight"],
            }
        ),
    )
    return columns


def values_of(columns: Columns, metric: str, model: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The values that a histogram of one model holds, in µs, and their weights, straight from the columns."""
    chosen = columns["model"] == model
    if metric != "e2e":
        chosen = chosen & (columns["status"] == "ok")
    if metric == "ttft":
        chosen = chosen & ~columns["unknown"]
    rows = np.flatnonzero(chosen)
    if metric != "tbt":
        return columns[metric][rows], columns["weight"][rows]
    gaps = [columns["gaps"][row].astype(float) for row in rows]
    return np.concatenate(gaps), np.repeat(columns["weight"][rows], [gap.size for gap in gaps])


def samples(page: bytes, name: str) -> dict[tuple[tuple[str, str], ...], float]:
    """One family's samples by name and labels."""
    return {
        (("", sample.name), *sorted(sample.labels.items())): sample.value
        for family in parse(page.decode())
        for sample in family.samples
        if sample.name.startswith(name)
    }


@pytest.mark.parametrize("metric", HISTOGRAMS)
def test_buckets_are_counts(store: Store, metric: str) -> None:
    """Each bucket holds the weights of the values up to its bound, inclusive; so do count and sum."""
    columns = fill(store)

    page, _ = encoded([Latencies(lambda: store)])

    name = HISTOGRAMS[metric].name
    for model in ("a", "b"):
        values, weights = values_of(columns, metric, model)
        found: dict[str, float] = {}
        for key, value in samples(page, name).items():
            labels = dict(key)
            if labels["gen_ai_request_model"] == model and labels[""] == f"{name}_bucket":
                found[labels["le"]] = found.get(labels["le"], 0.0) + value
        expected = {
            repr(bound): float(weights[values <= 1e6 * bound].sum()) for bound in HISTOGRAMS[metric].semconv_s
        }
        assert {**expected, "+Inf": float(weights.sum())} == found
        total = sum(
            value
            for key, value in samples(page, f"{name}_sum").items()
            if dict(key)["gen_ai_request_model"] == model
        )
        assert pytest.approx((values * weights).sum() / 1e6, rel=1e-6) == total


def test_counters_only_grow(store: Store) -> None:
    """More requests add to what was counted, whichever block they came in."""
    first, second = fill(store), fill(store, seed=4)

    page, _ = encoded([Latencies(lambda: store)])

    counted = sum(samples(page, "otel_attrib_requests_total").values())
    assert float(first["weight"].sum() + second["weight"].sum()) == counted


def test_failed_requests_are_told_apart(store: Store) -> None:
    """Failures are counted by what came of them, so that an objective can count them as bad."""
    columns = fill(store)

    page, _ = encoded([Latencies(lambda: store)])

    failed = sum(
        value
        for key, value in samples(page, "otel_attrib_requests_total").items()
        if dict(key)["slatag_status"] == "error"
    )
    assert float(columns["weight"][columns["status"] == "error"].sum()) == failed


@pytest.mark.parametrize("more", [(), ("tenant",), ("tenant", "sla_class")], ids=["none", "tenant", "both"])
def test_labels_by_setting(store: Store, more: tuple[str, ...]) -> None:
    """Tenant and class are labels only where they are asked for."""
    fill(store)

    page, _ = encoded([Latencies(lambda: store, more)])

    (labels,) = {
        tuple(name for name, _ in key if name.startswith("slatag"))
        for key in samples(page, "gen_ai_server_time_to_first_token_seconds_count")
    }
    assert tuple(sorted(f"slatag_{name}" for name in more)) == labels


def test_a_label_that_is_not_known() -> None:
    """A word that is no label is told with the setting that it stands in."""
    with pytest.raises(ConfigError, match="metrics_labels"):
        Latencies(lambda: pytest.fail("asked"), ("city",))


def test_an_objectives_limit_has_a_bucket(store: Store) -> None:
    """A limit that the store counts at is a bucket of the page, with the exact count."""
    columns = fill(store)
    objective = Objective("o", "", EVERY_REQUEST, (Limit("ttft", 135.0),))

    page, _ = encoded([Latencies(lambda: store, (), lambda: (objective,))])

    values, weights = values_of(columns, "ttft", "a")
    (found,) = (
        value
        for key, value in samples(page, "gen_ai_server_time_to_first_token_seconds_bucket").items()
        if dict(key)["le"] == "0.135" and dict(key)["gen_ai_request_model"] == "a"
    )
    assert float(weights[values <= 135_000].sum()) == found


def test_exemplars(store: Store) -> None:
    """In OpenMetrics each exemplar is a request of the last minutes whose time is in its bucket."""
    columns = fill(store)

    page, kind = encoded([Latencies(lambda: store)], OPENMETRICS)

    assert kind.startswith("application/openmetrics-text")
    seen = 0
    for family in parse_openmetrics(page.decode()):
        if family.name != "gen_ai_server_time_to_first_token_seconds":
            continue
        below: dict[str, float] = {}
        for sample in family.samples:
            if not sample.name.endswith("_bucket"):
                continue
            model, bound = sample.labels["gen_ai_request_model"], float(sample.labels["le"])
            if sample.exemplar:
                seen += 1
                row = int(sample.exemplar.labels["trace_id"], 16)
                assert pytest.approx(columns["ttft"][row] / 1e6) == sample.exemplar.value
                assert below.get(model, 0.0) < sample.exemplar.value <= bound
                assert (model, "ok") == (columns["model"][row], columns["status"][row])
            below[model] = bound
    assert seen >= 5


def test_plain_text_has_no_exemplars(store: Store) -> None:
    """Prometheus' own text format, which knows none, is what everybody else gets."""
    fill(store)

    page, kind = encoded([Latencies(lambda: store)], "text/plain")

    assert kind.startswith("text/plain")
    assert b"trace_id" not in page


@pytest.mark.parametrize("accept", ["", OPENMETRICS], ids=["text", "openmetrics"])
def test_promtool_has_nothing_to_say(store: Store, program: Callable[[str], str], accept: str) -> None:
    """Prometheus' own linter takes the text page as it is, and every bound in OpenMetrics parses."""
    fill(store)

    page, _ = encoded([Latencies(lambda: store, ("tenant",))], accept)

    if accept:
        assert sum(len(family.samples) for family in parse_openmetrics(page.decode())) > 100
        return
    done = subprocess.run([program("promtool"), "check", "metrics"], input=page, capture_output=True)
    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)


def test_a_store_that_is_away() -> None:
    """Without the store there are no histograms, not zeros, and the page says so."""

    def away() -> Store:
        raise StoreError("away")

    page, _ = encoded([Latencies(away)])

    assert b"otel_attrib_store_up 0.0" in page
    assert b"gen_ai" not in page


def test_a_page_is_made_once_for_many_scrapes(store: Store) -> None:
    """Within two seconds the same page is shown again; after them it is read anew."""
    fill(store)
    now = [0.0]
    latencies = Latencies(lambda: store, clock=lambda: now[0])
    first, _ = encoded([latencies])
    fill(store, seed=5)

    again, _ = encoded([latencies])
    now[0] = 2.0
    later, _ = encoded([latencies])

    assert first == again != later
