"""What it costs to join one request with its counters: in Python and by the SQL view, at several sizes.

Eight cards with 40 counters each and 30 of the host, ten times a second; the request lasts as long as the
samples, less a minute on either side. Figures are CPU seconds of this process, store and planning included.

    python benchmarks/join.py --json build/bench/join.json
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from otel_attrib.analytics.join.trace import request_evidence
from otel_attrib.analytics.trace_lookup import find
from otel_attrib.schema.context_counters import EVERY_COUNTER
from otel_attrib.schema.counters import Counter
from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.store import Store, open_store

SIZES = (100_000, 1_000_000)
CARDS, OF_CARD, OF_HOST = 8, 40, 30
EVERY_US = 100_000
START_US = 1_777_636_800_000_000
MARGIN_US = 65_000_000
TRACE = "1" * 32
STAMP = pa.timestamp("us", "UTC")


def fill(store: Store, samples: int) -> None:
    """Insert about so many samples, and a request that lasts nearly as long."""
    of_card = [counter for counter in EVERY_COUNTER if counter.per_device][:OF_CARD]
    of_host = [counter for counter in EVERY_COUNTER if not counter.per_device][:OF_HOST]
    series = [(counter, str(card)) for counter in of_card for card in range(CARDS)]
    series += [(counter, "") for counter in of_host]
    n = samples // len(series)
    for part in range(0, len(series), 50):
        store.insert_arrow("samples", _rows(series[part : part + 50], n))
    margin = min(MARGIN_US, n * EVERY_US // 4)
    lasts = n * EVERY_US - 2 * margin
    columns = {"trace_id": TRACE, "node": "n1", "gpu_set": "0,1,2,3,4,5,6,7", "service": "s", "model": "m"}
    numbers = {"ttft_us": lasts / 4, "queue_us": lasts / 8, "prefill_us": lasts / 8, "e2e_us": lasts}
    times = pa.array([START_US + margin], STAMP)
    table = {name: pa.array([word]) for name, word in columns.items()}
    table |= {name: pa.array([float(us)]) for name, us in numbers.items()}
    store.insert_arrow("requests", pa.table({"time": times, **table}))


def _rows(series: list[tuple[Counter, str]], n: int) -> pa.Table:
    rng = np.random.default_rng(len(series))
    time_us = START_US + np.arange(n, dtype=np.int64) * EVERY_US
    said = [
        ([("hw.id", card)] if card else []) + ([one.select] if one.select else []) for one, card in series
    ]
    values = [
        np.cumsum(rng.random(n)) if one.kind == "total" else rng.random(n) * min(one.most, 100)
        for one, _ in series
    ]
    return pa.table(
        {
            "time": pa.array(np.tile(time_us, len(series)), STAMP),
            "metric": np.repeat([one.metric for one, _ in series], n),
            "node": ["n1"] * (n * len(series)),
            "device": np.repeat([card for _, card in series], n),
            "attributes": pa.array(
                [one for one in said for _ in range(n)], pa.map_(pa.string(), pa.string())
            ),
            "value": np.concatenate(values),
        }
    )


def cpu_seconds(work: Callable[[], Any]) -> float:
    """CPU seconds of the second run, when files are read and code is compiled."""
    work()
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(samples: int) -> dict[str, Any]:
    """Both ways at one size."""
    with open_store("chdb://memory/join") as store:
        migrate(store)
        fill(store, samples)
        (counted,) = store.rows("SELECT count() AS n FROM samples")
        sql = "SELECT * FROM request_evidence(trace = {trace:String})"
        found = {
            "samples": counted["n"],
            "rows": len(store.rows(sql, {"trace": TRACE})),
            "python_s": cpu_seconds(lambda: request_evidence(store, find(store, TRACE))),
            "sql_s": cpu_seconds(lambda: store.rows(sql, {"trace": TRACE})),
        }
        store.command(f"DROP DATABASE {store.database}")
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found = [measure(samples) for samples in args.sizes]
    print(f"{'samples':>12}{'rows':>8}{'Python s':>10}{'SQL s':>8}")
    for row in found:
        print(f"{row['samples']:>12,}{row['rows']:>8,}{row['python_s']:>10.2f}{row['sql_s']:>8.2f}")
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
