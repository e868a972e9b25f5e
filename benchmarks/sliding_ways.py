"""The same sliding P99 four ways: from 10 s states, from rows in ClickHouse, with polars, with DuckDB."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa

from otel_attrib.analytics.filters import parse_filter
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.quantiles import Sliding, slide_table
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.store import open_store

__all__ = ["MODELS", "TENANTS", "WAYS", "make", "whole_span"]

START = datetime(2026, 5, 1, tzinfo=UTC)
WINDOW_S, STEP_S, LEVEL = 300, 10, 0.99
MODELS, TENANTS = 5, 7
CHUNK = 500_000
# Memory of the embedded engine is held to 768 MiB by default, which reading all rows at once exceeds.
OPTIONS = f"max_memory_usage={6 << 30}"

# Log-normal by Box–Muller on hashes of the row's number: the same rows on every machine, 0.5 % of them
# eight times slower.
FILL = """
INSERT INTO requests (time, trace_id, service, model, tenant, status, source, output_tokens, ttft_us)
SELECT
    fromUnixTimestamp64Micro({start:Int64} + toInt64(intDiv(number * {span:UInt64}, {n:UInt64})), 'UTC'),
    lower(hex(number)),
    'bench',
    concat('m', toString(cityHash64(number, 1) % {models:UInt8})),
    concat('t', toString(cityHash64(number, 2) % {tenants:UInt8})),
    'ok',
    'import',
    1,
    exp(11 + 0.8 * sqrt(-2 * log((cityHash64(number, 3) + 1) / 18446744073709551616))
        * cos(2 * pi() * cityHash64(number, 4) / 18446744073709551616))
        * if(cityHash64(number, 5) % 200 = 0, 8, 1)
FROM numbers({first:UInt64}, {rows:UInt64})
"""


def make(folder: Path, n: int, hours: float) -> None:
    """Fill `folder`/store with `n` requests, the rollup by its view, and export what the peers read."""
    with open_store(f"chdb://{folder}/store?{OPTIONS}") as store:
        migrate(store)
        span = int(hours * 3600 * 1_000_000)
        fixed = {"start": int(START.timestamp()) * 1_000_000, "span": span, "n": n}
        for first in range(0, n, CHUNK):
            part = {"first": first, "rows": min(CHUNK, n - first), "models": MODELS, "tenants": TENANTS}
            store.command(FILL, {**fixed, **part})
        for table in ("requests", "requests_10s"):
            store.command(f"OPTIMIZE TABLE {table} FINAL")
        columns = "toDateTime64(time, 6) AS time, toString(model) AS model, toString(tenant) AS tenant"
        body = store.raw(
            f"SELECT {columns}, assumeNotNull(ttft_us) AS us FROM requests ORDER BY time", "Parquet"
        )
        (folder / "requests.parquet").write_bytes(body)


def whole_span(hours: float) -> Window:
    """Every window that lies in the data with its whole length."""
    return Window(START + timedelta(seconds=WINDOW_S - STEP_S), START + timedelta(hours=hours))


def last_hour(span: Window) -> Window:
    """The last hour of a span, or all of a shorter one."""
    return Window(max(span.start, span.end - timedelta(hours=1)), span.end)


def _asked(span: Window, exact: bool) -> Sliding:
    return Sliding(METRICS["ttft"], LEVEL, WINDOW_S, STEP_S, span, ("model", "tenant"), exact=exact)


def states(folder: Path, span: Window, one: bool) -> Callable[[], pa.Table]:
    """From `requests_10s`, as `otel-attrib quantiles` does."""
    store = open_store(f"chdb://{folder}/store?{OPTIONS}")
    asked = _asked(span, exact=False)
    if one:
        asked = replace(asked, where=parse_filter(["model=m0", "tenant=t0"]))
    return lambda: slide_table(store, asked)


def exact(folder: Path, span: Window, one: bool) -> Callable[[], pa.Table]:
    """From `requests`, as `otel-attrib quantiles --exact` does; a series at a time, to bound memory."""
    store = open_store(f"chdb://{folder}/store?{OPTIONS}")
    series = [(m, t) for m in range(MODELS) for t in range(TENANTS)][: 1 if one else None]
    filters = [parse_filter([f"model=m{m}", f"tenant=t{t}"]) for m, t in series]
    asked = [replace(_asked(span, exact=True), where=where) for where in filters]
    return lambda: pa.concat_tables([slide_table(store, each) for each in asked])


def polars(folder: Path, span: Window, one: bool) -> Callable[[], pa.Table]:
    """From Parquet with group_by_dynamic."""
    frame = pl.scan_parquet(folder / "requests.parquet").with_columns(
        pl.col("time").dt.replace_time_zone(None)
    )
    first, last = (time.replace(tzinfo=None) for time in (span.start, span.end))
    frame = frame.filter(pl.col("time") >= first - timedelta(seconds=WINDOW_S), pl.col("time") < last)
    if one:
        frame = frame.filter(pl.col("model") == "m0", pl.col("tenant") == "t0")
    end = (pl.col("time").dt.epoch("s") + WINDOW_S).alias("window_end")

    def run() -> pa.Table:
        found = (
            frame.sort("time")
            .group_by_dynamic("time", every=f"{STEP_S}s", period=f"{WINDOW_S}s", group_by=["model", "tenant"])
            .agg(pl.col("us").quantile(LEVEL, "lower") / 1000)
            .select("model", "tenant", end, pl.col("us").alias("ms"))
            .collect()
        )
        return found.to_arrow()

    return run


DUCKDB = """
SELECT model, tenant, (epoch_us(time) // 10000000 + k + 1) * 10 AS window_end,
       quantile_disc(us, 0.99) / 1000 AS ms
FROM read_parquet($file) CROSS JOIN range(30) AS step(k)
WHERE model = $model AND ($tenant = '' OR tenant = $tenant) AND time >= $first AND time < $last
GROUP BY ALL
"""


def duck(folder: Path, span: Window, one: bool) -> Callable[[], pa.Table]:
    """From Parquet, each row given to its thirty windows; a model at a time, to bound memory."""
    database = duckdb.connect(config={"memory_limit": "6GB", "temp_directory": str(folder / "duckdb")})
    first, last = (time.replace(tzinfo=None) for time in (span.start, span.end))
    fixed = {
        "file": str(folder / "requests.parquet"),
        "tenant": "t0" if one else "",
        "first": first - timedelta(seconds=WINDOW_S),
        "last": last,
    }
    models = ["m0"] if one else [f"m{m}" for m in range(MODELS)]
    return lambda: pa.concat_tables(
        [database.sql(DUCKDB, params={**fixed, "model": model}).to_arrow_table() for model in models]
    )


WAYS = {"states": states, "exact": exact, "polars": polars, "duckdb": duck}
