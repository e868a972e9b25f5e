"""Run one read-only statement against the store and print its result.

A table by default, else any ClickHouse format, by --format or by a FORMAT clause.
Only statements that read are run: SELECT, WITH, SHOW, DESCRIBE, EXPLAIN, EXISTS.
"""

import argparse
import json
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from otel_attrib.errors import StoreError, UsageError

if TYPE_CHECKING:
    from otel_attrib.schema.store import Store

__all__ = ["add_arguments", "run"]

_TABLE = "JSONCompactStringsEachRowWithNames"
_FORMAT = re.compile(r"\bFORMAT\s+(\w+)\s*;?\s*$", re.IGNORECASE)
_NULL = "ᴺᵁᴸᴸ"
_SECONDS, _MEMORY = 3600.0, 768 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from otel_attrib.schema.store import add_store_arguments

    parser.epilog = (
        "example: otel-attrib sql \\"
        '\n  "SELECT model, count(), quantileExact(0.99)(ttft_us) FROM requests GROUP BY model"'
        '\n         otel-attrib sql "SELECT * FROM requests" --format Parquet > requests.parquet'
        '\n         otel-attrib sql "SELECT {n:UInt8} + 1" --param n=1'
    )
    parser.add_argument("statement", help="one statement; - reads it from standard input")
    parser.add_argument("--format", metavar="NAME", help="print in this ClickHouse format")
    parser.add_argument("--json", action="store_true", help="the same as --format JSON")
    parser.add_argument(
        "--param", metavar="NAME=VALUE", action="append", default=[], help="value of {NAME:Type}; repeatable"
    )
    add_store_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the result."""
    from otel_attrib.schema.store import connect

    text = sys.stdin.read() if args.statement == "-" else args.statement
    named = _FORMAT.search(text)
    statement = (text[: named.start()] if named else text).strip().rstrip(";")
    if not statement:
        raise UsageError("the statement is empty: give one, such as 'SELECT count() FROM requests'")
    form = args.format or ("JSON" if args.json else None) or (named[1] if named else None)
    parameters = _parameters(args.param)
    with connect(args.dsn, args.url) as store:
        ask = _ask_embedded if store.embedded else _ask_server
        answer = ask(store, statement, form or _TABLE, parameters)
    if form:
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()
    else:
        _print(answer)
    return 0


def _parameters(given: list[str]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    for name, mark, _ in pairs:
        if not mark or not name.isidentifier():
            raise UsageError(f"--param {name}{mark} is not NAME=VALUE")
    return {name: value for name, _, value in pairs}


def _ask_embedded(store: "Store", statement: str, form: str, parameters: Mapping[str, str]) -> bytes:
    from otel_attrib.collector.query_engine import Query, QueryEngine

    engine = QueryEngine(str(store.dsn.path), store.database, _SECONDS, _MEMORY)
    result = engine.run(Query(statement, parameters, default_format=form))
    try:
        return b"".join(iter(result.next, None))
    finally:
        result.close()


def _ask_server(store: "Store", statement: str, form: str, parameters: Mapping[str, str]) -> bytes:
    try:
        return store.raw(statement, form, parameters, {"readonly": 1})
    except StoreError as fault:
        # A user who may only read may not ask for it either.
        if "readonly" not in str(fault) or "Cannot execute" in str(fault):
            raise
    return store.raw(statement, form, parameters)


def _print(answer: bytes) -> None:
    from otel_attrib.commands.table import print_table

    heads, *rows = (json.loads(line) for line in answer.splitlines() or [b"[]"])
    cells = [["" if cell in (None, _NULL) else cell for cell in row] for row in rows]
    print_table(heads, cells, left=len(heads), caption=f"{len(rows)} row{'s' * (len(rows) != 1)}")
