"""What each view on `requests` costs at ingest: the rows of one block, again and again, with and without it.

A database for each view, where `requests` keeps nothing and has this view alone (`requests_60s_states_mv`
hangs behind `requests_10s_mv`), and one with all; by turns, so that what else the machine does weighs on all.
Measured is the CPU of this process, merges and the writing of parts included; the fastest of `--rounds`, less
an insert without any view.

    python benchmarks/views.py
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.spans import SPANS_EACH, exports
from otel_attrib.schema.ingest import insert_traces
from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.store import Store, open_store

EXPORTS = 40
VIEWS = ("requests_10s_mv", "requests_60s_bins_mv", "latency_histogram_mv")
MADE_BY = """
SELECT create_table_query AS sql FROM system.tables WHERE database = currentDatabase() AND name = {v:String}
"""
SETTINGS = "max_threads = 1, query_plan_enable_optimizations = 0"


def made(name: str, kept: tuple[str, ...], like: str) -> Store:
    """A database with these views alone on a `requests` that keeps nothing."""
    store = open_store(f"chdb://memory/{name}")
    migrate(store)
    views = {view: store.rows(MADE_BY, {"v": view})[0]["sql"] for view in VIEWS}
    for view in VIEWS:
        store.command(f"DROP VIEW {view}")
    store.command("DROP TABLE requests")
    store.command(f"CREATE TABLE requests AS {like} ENGINE = Null")
    for view in kept:
        store.command(views[view])
    return store


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=40)
    args = parser.parse_args()
    with open_store("chdb://memory") as first:
        migrate(first)
        insert_traces(first, list(exports(EXPORTS, "shim")), "rows")
        like = f"{first.database}.requests"
        sets = {"none": (), **{view: (view,) for view in VIEWS}, "all": VIEWS}
        stores = {name: made(name, kept, like) for name, kept in sets.items()}
        spent: dict[str, list[float]] = {name: [] for name in stores}
        for number in range(args.rounds):
            for name, store in stores.items():
                begun = time.process_time()
                store.command(
                    f"INSERT INTO requests SETTINGS {SETTINGS}, insert_deduplication_token = '{number}' "
                    f"SELECT * FROM {like}"
                )
                spent[name].append(1000 * (time.process_time() - begun))
    scale = 100_000 / (EXPORTS * SPANS_EACH)
    for name in sets:
        print(f"{name:<22} {scale * (min(spent[name]) - min(spent['none'])):>6.0f} ms a 100,000 spans")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
