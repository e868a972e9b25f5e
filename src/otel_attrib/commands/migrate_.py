"""Create or update the store's tables.

Each migration runs once; its checksum is kept, and a file that was altered afterwards is refused.
`otel-attrib up` does this to its own store by itself.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from otel_attrib.schema.layout import ENGINES
from otel_attrib.schema.store import add_store_arguments, connect

if TYPE_CHECKING:
    from otel_attrib.schema.migrate import Applied
    from otel_attrib.schema.store import Store

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_store_arguments(parser)
    parser.add_argument(
        "--engine", choices=ENGINES, help="of a new store; with --cluster ReplicatedMergeTree"
    )
    parser.add_argument("--cluster", metavar="NAME", help="make a new store on all servers of this cluster")
    parser.add_argument(
        "--ttl-days", type=int, metavar="N", help="days to keep rows, 0 for ever; may be changed at any time"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--dry-run", action="store_true", help="print the SQL that would run, and stop")
    what.add_argument(
        "--status", action="store_true", help="list the migrations and how the store stands to them"
    )
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")
    parser.epilog = (
        "example: otel-attrib migrate --dsn clickhouse://otel:secret@db:8123/otel_attrib --ttl-days 30"
    )


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from otel_attrib.schema.migrate import migrate, plan, status

    with connect(args.dsn, args.url, create=True) as store:
        if args.dry_run:
            return _print_sql(plan(store, args.engine, args.cluster, args.ttl_days), args.json)
        if args.status:
            return _print_steps(store, status(store), args.json)
        return _print_steps(store, migrate(store, args.engine, args.cluster, args.ttl_days), args.json)


def _print_sql(statements: Sequence[str], as_json: bool) -> int:
    if as_json:
        print(json.dumps({"statements": list(statements)}))
    else:
        sys.stdout.writelines(f"{statement};\n\n" for statement in statements)
    return 0


def _print_steps(store: "Store", steps: "Sequence[Applied]", as_json: bool) -> int:
    if as_json:
        print(json.dumps({"store": store.dsn.shown, "migrations": [_as_dict(step) for step in steps]}))
        return 0
    for step in steps:
        at = f"{step.applied_at:%Y-%m-%d %H:%M:%S}" if step.applied_at else ""
        print(f"{step.version:04d}  {step.state:8}  {at:19}  {step.name}".rstrip())
    print(f"{store.dsn.shown}: {len(steps)} migrations" if steps else f"{store.dsn.shown}: up to date")
    return 0


def _as_dict(step: "Applied") -> dict[str, object]:
    at = step.applied_at.isoformat() if step.applied_at else None
    return {"version": step.version, "name": step.name, "state": step.state, "applied_at": at}
