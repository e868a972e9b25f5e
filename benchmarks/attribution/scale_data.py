"""Requests by the million, made inside the store: half a baseline, half with one slow GPU.

Sixteen GPUs of two nodes, two models, four tenants; the stages' logarithms are near normal (a sum of three
uniforms), prefill grows with the prompt. In the second half of the time prefill takes 2.5 times as long on
`n0`'s GPU-5. Every number is a hash of the row's own, so the rows are the same on every machine.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from otel_attrib.analytics.windows import Window
from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.store import Store, open_store

__all__ = ["STAGES", "export", "make", "windows"]

START = datetime(2026, 5, 1, tzinfo=UTC)
CHUNK = 500_000
STAGES = ("ingress", "tokenize", "queue", "kv_init", "prefill", "sample", "egress")
# The product's own limit is for questions; filling the rollup from half a million rows takes more.
FILLING = f"max_memory_usage={3 << 30}"
MEANS = {
    "ingress": (6, 0.5),
    "tokenize": (7, 0.5),
    "queue": (9, 0.8),
    "kv_init": (5, 0.5),
    "sample": (6, 0.5),
}
MEANS |= {"egress": (6, 0.5)}
DECODE = {"batch_wait": (6, 0.3), "forward": (8, 0.3), "sample": (5, 0.3), "egress": (5, 0.3)}


def windows(hours: float) -> tuple[Window, Window]:
    """Return baseline and current window, half of the time each."""
    middle, end = START + timedelta(hours=hours / 2), START + timedelta(hours=hours)
    return Window(START, middle), Window(middle, end)


def make(folder: Path, n: int, hours: float) -> None:
    """Fill `folder`/store with `n` requests over `hours`, rolled up by the product's own view."""
    with open_store(f"chdb://{folder}/store?{FILLING}") as store:
        migrate(store)
        span = int(hours * 3_600_000_000)
        fixed = {"start": int(START.timestamp()) * 1_000_000, "span": span, "n": n}
        for first in range(0, n, CHUNK):
            store.command(_fill(), {**fixed, "first": first, "rows": min(CHUNK, n - first)})
        store.command("OPTIMIZE TABLE requests_10s FINAL")


def export(store: Store, folder: Path, hours: float) -> None:
    """Write what peers read: one Parquet file of TTFT and its stages for each window."""
    columns = ", ".join(f"assumeNotNull({name}_us) AS {name}" for name in ("ttft", *STAGES, "outside"))
    for name, window in zip(("baseline", "current"), windows(hours), strict=True):
        inside = " AND ".join(
            f"time {sign} fromUnixTimestamp64Micro({{{end}:Int64}}, 'UTC')"
            for sign, end in ((">=", "from_us"), ("<", "to_us"))
        )
        file = f"file('{folder}/{name}.parquet', 'Parquet')"
        store.command(
            f"INSERT INTO FUNCTION {file} SELECT {columns} FROM requests WHERE {inside}", window.bounds_us()
        )


def _normal(number: int) -> str:
    """Return SQL for a number with mean 0 and a deviation of 1, from hash `number` of the row."""
    hashed = f"sipHash64(i, {number})"
    parts = (f"bitAnd(bitShiftRight({hashed}, {shift}), 1048575)" for shift in (0, 20, 40))
    return f"((({' + '.join(parts)}) / 1048576 - 1.5) * 2)"


def _lognormal(number: int, mean: float, deviation: float) -> str:
    return f"exp({mean} + {deviation} * {_normal(number)})"


def _fill() -> str:
    stages = {name: _lognormal(20 + k, *shape) for k, (name, shape) in enumerate(MEANS.items())}
    slow = "if(gpu = 5 AND i >= intDiv({n:UInt64}, 2), 2.5, 1)"
    stages["prefill"] = f"60 * prompt * exp(0.2 * {_normal(19)}) * {slow}"
    decode = {name: _lognormal(40 + k, *shape) for k, (name, shape) in enumerate(DECODE.items())}
    made = [f"{sql} AS made_{name}" for name, sql in stages.items()]
    made += [f"{sql} AS decoded_{name}" for name, sql in decode.items()]
    total = " + ".join(f"made_{name}" for name in stages)
    token = " + ".join(f"decoded_{name}" for name in decode)
    columns = {
        "time": "fromUnixTimestamp64Micro({start:Int64} + toInt64(i * ({span:UInt64} / {n:UInt64})), 'UTC')",
        "trace_id": "lower(hex(sipHash128(i)))",
        "span_id": "lower(hex(sipHash64(i, 8)))",
        "service": "'chat'",
        "node": "concat('n', toString(intDiv(gpu, 8)))",
        "gpu_set": "concat('GPU-', toString(gpu % 8))",
        "replica": "toString(gpu % 8)",
        "engine": "'vllm'",
        "model": "concat('m', toString(gpu % 2))",
        "tenant": "concat('t', toString(sipHash64(i, 6) % 4))",
        "status": "'ok'",
        "source": "'otel_attrib'",
        "prompt_tokens": "toUInt32(prompt)",
        "output_tokens": "toUInt32(answer)",
        "ttft_us": "ttft",
        "tpot_us": "tpot",
        "e2e_us": "ttft + tpot * (answer - 1)",
        **{f"{name}_us": f"made_{name}" for name in stages},
        "outside_us": "made_outside",
        **{f"decode_{name}_us": f"decoded_{name}" for name in decode},
    }
    return f"""
INSERT INTO requests ({", ".join(columns)})
WITH
    number AS i, sipHash64(i, 5) % 16 AS gpu, 1 + {_lognormal(3, 6, 0.6)} AS prompt,
    2 + sipHash64(i, 4) % 200 AS answer, {", ".join(made)},
    0.001 * ({total}) AS made_outside, made_outside + {total} AS ttft, {token} AS tpot
SELECT {", ".join(columns.values())}
FROM numbers_mt({{first:UInt64}}, {{rows:UInt64}})
"""
