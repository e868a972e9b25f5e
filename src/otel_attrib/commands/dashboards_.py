"""Print a Grafana dashboard for the official ClickHouse data source, ready to import."""

import argparse
import sys
from pathlib import Path

from otel_attrib.errors import MissingExtra, UsageError

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `otel-attrib dashboards` understands."""
    parser.epilog = "example: otel-attrib dashboards export --out fleet.json"
    parser.add_argument("action", choices=["export"], help="export: write the dashboard's JSON")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write here instead of standard output")


def run(args: argparse.Namespace) -> int:
    """Write the fleet dashboard."""
    try:
        from otel_attrib.dashboards.fleet import fleet, to_json
    except ModuleNotFoundError as missing:
        raise MissingExtra("otel-attrib dashboards", "grafana") from missing
    text = to_json(fleet())
    if args.out is None:
        sys.stdout.write(text)
        return 0
    try:
        args.out.write_text(text)
    except OSError as fault:
        raise UsageError(f"--out {args.out} cannot be written: {fault.strerror}") from fault
    return 0
