"""Objectives over many requests: what a month's attainment, budgets and burn rates cost, and a limit derived.

Requests are made inside the engine, spread evenly over 30 days, without the sketches that objectives do not
read. Figures are medians of wall and CPU time of the runs after one that warms the file cache. `cache, next`
is what the service pays for a question after its first; `store, one thread` is as the service limits it.

    python benchmarks/objectives.py --requests 10000000 --json objectives.json
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.process import version_line
from otel_attrib.analytics.filters import EVERY_REQUEST, Filter
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.objectives import Limit, Objective, attain
from otel_attrib.analytics.objectives.count_cache import CountCache
from otel_attrib.analytics.objectives.derive import derive
from otel_attrib.analytics.objectives.standing import stand
from otel_attrib.analytics.service.bounded import BoundedStore, Limits
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.store import Store, open_store

DAYS = 30
END = datetime(2026, 5, 31, tzinfo=UTC)
CHUNK = 500_000
VIEWS = "SELECT name FROM system.tables WHERE database = {database:String} AND engine = 'MaterializedView'"
FILL = """
INSERT INTO requests (time, service, model, tenant, sla_class, operation, status, output_tokens,
                      ttft_us, tpot_us, e2e_us, gap_max_us)
SELECT
    fromUnixTimestamp64Micro({start:Int64} + toInt64(number * {step:Float64}), 'UTC'),
    'chat', concat('m', toString(number % 4)), concat('t', toString(number % 16)),
    ['gold', 'silver', 'bronze'][number % 3 + 1], 'chat',
    if(sipHash64(number, 1) % 1000 = 0, 'error', 'ok'),
    2 + sipHash64(number, 2) % 500 AS tokens,
    exp(11 + 0.5 * ((sipHash64(number, 3) % 1000000) / 1000000 - 0.5) * 4) AS ttft,
    exp(10 + 0.3 * ((sipHash64(number, 4) % 1000000) / 1000000 - 0.5) * 4) AS tpot,
    ttft + tpot * (tokens - 1), tpot * 3
FROM numbers({first:UInt64}, {rows:UInt64})
"""

# What says how many requests an hour holds, without the sketches beside it.
BY_TEN_SECONDS = """
INSERT INTO requests_10s (bucket, service, requests)
SELECT toStartOfInterval(toDateTime(time, 'UTC'), toIntervalSecond(10)) AS bucket, 'chat', count()
FROM requests GROUP BY bucket SETTINGS max_partitions_per_insert_block = 1000
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, open_store(f"chdb://{folder}/store") as store:
        make(store, args.requests)
        figures = {name: measure(work, args.runs) for name, work in questions(store).items()}
    print(f"{args.requests:,} requests over {DAYS} days; {version_line()}")
    print(f"{'':44} {'wall s':>8} {'CPU s':>8}")
    for name, (wall, cpu) in figures.items():
        print(f"{name:44} {wall:8.3f} {cpu:8.3f}")
    if args.json:
        args.json.write_text(json.dumps({"requests": args.requests, "wall_and_cpu_s": figures}, indent=1))
    return 0


def make(store: Store, n: int) -> None:
    """Fill the table of requests, and nothing behind it."""
    migrate(store)
    for view in store.rows(VIEWS, {"database": store.database}):
        store.command(f"DROP VIEW {view['name']}")
    start = int((END - timedelta(days=DAYS)).timestamp()) * 1_000_000
    step = DAYS * 86_400_000_000 / n
    for first in range(0, n, CHUNK):
        rows = min(CHUNK, n - first)
        store.command(FILL, {"start": start, "step": step, "first": first, "rows": rows})
    store.command(BY_TEN_SECONDS)


def questions(store: Store) -> dict[str, Callable[[], object]]:
    """Return what is asked, by name."""
    one = Objective("one", "one", EVERY_REQUEST, (Limit("ttft", 120),))
    joint = Objective("joint", "joint", EVERY_REQUEST, (Limit("ttft", 120), Limit("tpot", 30)))
    eight = [replace(joint, name=f"t{i}", where=Filter((("tenant", (f"t{i}",)),))) for i in range(8)]
    minute = int(END.timestamp()) // 60
    bounded = BoundedStore(store, Limits(60, 1_000_000_000, 1 << 30))
    cache = CountCache([joint])
    month = Window(END - timedelta(days=DAYS), END)
    return {
        "attain, last hour": lambda: attain(store, joint, Window(END - timedelta(hours=1), END)),
        "attain, 30 days, one limit": lambda: attain(store, one, month),
        "attain, 30 days, joint": lambda: attain(store, joint, month),
        "stand, 30 days, one limit": lambda: stand(store, [one], minute),
        "stand, 30 days, joint": lambda: stand(store, [joint], minute),
        "stand, 30 days, eight joint": lambda: stand(store, eight, minute),
        "store, one thread: cache, first": lambda: CountCache([joint]).upto(bounded, minute),
        "store, one thread: cache, next": lambda: cache.upto(bounded, minute),
        "derive, 14 days": lambda: derive(
            store, METRICS["ttft"], Window(END - timedelta(days=14), END), EVERY_REQUEST
        ),
    }


def measure(work: Callable[[], object], runs: int) -> tuple[float, float]:
    """Return the median wall and CPU time of `work` in s, after one run that does not count."""
    work()
    walls, cpus = [], []
    for _ in range(runs):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return statistics.median(walls), statistics.median(cpus)


if __name__ == "__main__":
    sys.exit(main())
