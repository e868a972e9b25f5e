"""List requests: the slowest or the newest of a window, page by page.

--above and --below keep requests whose latency lies in [above, below) ms, as a
row of `otel-attrib heatmap` does; with --metric tbt those with a gap in there.
The slowest leave out requests on which the metric was not observed. `mostly`
names the stage that took most of the TTFT. `otel-attrib trace ID` shows one of
them. --json also prints `next`: give it as --cursor for the page that follows
(with the same other options); no request is shown twice or left out, however
many are alike.
"""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_attrib.analytics.request_list import RequestRow

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from otel_attrib.commands.question import METRICS, add_where_arguments
    from otel_attrib.schema.store import add_store_arguments

    parser.epilog = (
        "example: otel-attrib requests --metric ttft --window 1h --where tenant=acme\n"
        "         otel-attrib requests --order newest --above 500 --limit 100 --json"
    )
    parser.add_argument("--metric", choices=METRICS, default="ttft", help="which latency (ttft)")
    parser.add_argument(
        "--window", "--last", default="15m", metavar="WINDOW", help="the span: 1h, or FROM..TO (15m)"
    )
    parser.add_argument("--order", choices=("slowest", "newest"), default="slowest", help="first (slowest)")
    parser.add_argument("--above", type=float, metavar="MS", help="at least so slow")
    parser.add_argument("--below", type=float, metavar="MS", help="less slow than that")
    add_where_arguments(parser)
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="requests of a page (20)")
    parser.add_argument("--cursor", metavar="TEXT", help="`next` of the page before")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_store_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Ask and print."""
    from otel_attrib.analytics.filters import parse_filter
    from otel_attrib.analytics.request_object import ask_requests, requests_object
    from otel_attrib.commands.printable import json_line
    from otel_attrib.schema.store import connect

    where = parse_filter(args.where)
    words = (args.metric, args.window, where, args.at, args.above, args.below, args.order, args.limit)
    with connect(args.dsn, args.url) as store:
        page = ask_requests(store, *words, args.cursor)
    if args.json:
        print(json_line(requests_object(args.metric, page)))
        return 0
    _print(page.items, args, more=page.next is not None)
    return 0


def _print(rows: "list[RequestRow]", args: argparse.Namespace, more: bool) -> None:
    from otel_attrib.analytics.metric import metric_named
    from otel_attrib.commands.table import print_table

    if not rows:
        print(f"no request in {args.window}{_said(args)}")
        return
    title = metric_named(args.metric).title
    heads = ("arrived (UTC)", "trace", "model/tenant", f"{title} ms", "mostly", "status")
    follow = "more follow: --limit, or --json and --cursor" if more else ""
    print_table(heads, [_cells(row) for row in rows], 3, follow)


def _said(args: argparse.Namespace) -> str:
    limits = [f"{name} {ms:g} ms" for name in ("above", "below") if (ms := getattr(args, name)) is not None]
    return "".join(f" {word}" for word in [*(["with", *args.where] if args.where else []), *limits])


def _cells(row: "RequestRow") -> tuple[str, ...]:
    from otel_attrib.analytics.wording import milliseconds

    who = "/".join(row.words[name] or "-" for name in ("model", "tenant"))
    name = row.words["trace_id"] or row.words["request_id"]
    return (
        f"{row.time:%m-%d %H:%M:%S}",
        name[:14],
        who if len(who) <= 19 else f"…{who[-18:]}",
        "-" if row.value_us is None else milliseconds(row.value_us / 1000),
        max(row.stages_ms, key=lambda stage: row.stages_ms[stage], default="-"),
        row.words["status"],
    )
