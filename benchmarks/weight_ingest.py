"""What the weight costs at ingest: the same blocks into tables with and without its migration, by turns.

Both databases are in one process and take the same blocks of 20,160 spans by turns, so that what else the
machine does weighs on both. Measured is the CPU of the whole way from OTLP bytes to every view's rows; the
fastest and the median of `--rounds`, the first two left out. No request has a weight above one.

    python benchmarks/weight_ingest.py
"""

import argparse
import statistics
import sys
import time
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.spans import SPANS_EACH, exports
from otel_attrib.schema import migrate as migrating
from otel_attrib.schema.ingest import insert_traces
from otel_attrib.schema.migration import Migration, migrations
from otel_attrib.schema.store import Store, open_store

WEIGHT = 17
EXPORTS = 40


def made(name: str, known: tuple[Migration, ...]) -> Store:
    """A database with these migrations alone."""
    store = open_store(f"chdb://memory/{name}")
    with patch.object(migrating, "migrations", lambda: known):
        migrating.migrate(store)
    return store


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=40)
    args = parser.parse_args()
    blocks = list(exports(EXPORTS, "shim"))
    with open_store("chdb://memory"):
        before = tuple(one for one in migrations() if one.version < WEIGHT)
        after = tuple(one for one in migrations() if one.version <= WEIGHT)
        stores = {"without": made("without", before), "with": made("with", after)}
        spent: dict[str, list[float]] = {name: [] for name in stores}
        for number in range(args.rounds):
            for name in sorted(stores, reverse=bool(number % 2)):
                begun = time.process_time()
                insert_traces(stores[name], blocks, f"{name} {number}")
                spent[name].append(1000 * (time.process_time() - begun))
    for name, ms in spent.items():
        counted = ms[2:] or ms
        print(
            f"{name:<8} weight: {min(counted):.0f} ms fastest, {statistics.median(counted):.0f} ms median"
            f" of {len(counted)} blocks of {EXPORTS * SPANS_EACH:,} spans"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
