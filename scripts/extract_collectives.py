"""Make `analytics/profiles/data/collectives.csv.gz` of the communication tables of aiconfigurator.

python scripts/extract_collectives.py SYSTEMS_FOLDER

SYSTEMS_FOLDER is `aiconfigurator_core/systems` of the wheel of PyPI's aiconfigurator-core (0.12.0). Kept: of
each card its newest NCCL table, and vLLM's own all-reduce under CUDA graphs. The tables count elements
(`collect_nccl.py` divides the bytes by the size of one) and milliseconds; the extract counts bytes and µs.
"""

import argparse
import csv
import gzip
import io
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

TARGET = Path(__file__).parents[1] / "analytics/profiles/data/collectives.csv.gz"
NCCL = {
    "a100_sxm": "2.27.3",
    "b200_sxm": "2.29.2",
    "gb200": "2.29.2",
    "h100_sxm": "2.29.2",
    "h200_sxm": "2.29.2",
    "l40s": "2.27.3",
    "rtx_pro_6000_server": "2.29.2",
}
VLLM = {
    "a100_sxm": "0.14.0",
    "b200_sxm": "0.24.0",
    "gb200": "0.24.0",
    "h100_sxm": "0.24.0",
    "h200_sxm": "0.24.0",
    "l40s": "0.22.0",
    "rtx_pro_6000_server": "0.24.0",
}
KEYS = {"rtx_pro_6000_server": "rtx_pro_6000"}
SIZES = {"half": 2, "bfloat16": 2, "int8": 1}
Key = tuple[str, str, str, str, int, int]
Row = dict[str, Any]
HEAD = ("card", "library", "collective", "dtype", "ranks", "bytes", "us")


def rows(systems: Path) -> list[tuple[str, str, str, str, int, int, float]]:
    """All kept rows, sorted; of one size measured twice the fastest."""
    best: dict[Key, float] = {}
    for card, version in NCCL.items():
        for row in table(systems, card, "nccl", version, "nccl_perf"):
            add(best, card, f"NCCL {version}", row, row["nccl_dtype"])
    for card, version in VLLM.items():
        for row in table(systems, card, "vllm", version, "custom_allreduce_perf"):
            if row["kernel_source"] == "vLLM_custom_graph":
                add(best, card, f"vLLM {version}", row, row["allreduce_dtype"])
    return sorted((*key, us) for key, us in best.items())


def table(systems: Path, card: str, source: str, version: str, name: str) -> list[Row]:
    """One table's rows."""
    found: list[Row] = pq.read_table(
        systems / "data" / card / "comm" / source / version / f"{name}.parquet"
    ).to_pylist()
    return found


def add(best: dict[Key, float], card: str, library: str, row: Row, dtype: str) -> None:
    """Keep the row if it is the fastest of its kind."""
    size = row["message_size"] * SIZES[dtype]
    key = (KEYS.get(card, card), library, row["op_name"], dtype, row["num_gpus"], size)
    best[key] = min(best.get(key, float("inf")), round(row["latency"] * 1000, 3))


def main() -> None:
    """Write the extract; the same input gives the same bytes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("systems", type=Path, metavar="SYSTEMS_FOLDER")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEAD)
    writer.writerows(rows(parser.parse_args().systems))
    TARGET.write_bytes(gzip.compress(text.getvalue().encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
