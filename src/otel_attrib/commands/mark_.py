"""Keep a mark (a deploy, a changed configuration, a drill), or list marks.

  mark NAME   keep one, now or at --at
  mark        list them, the newest first

Marks stand under heat maps and on dashboards, and `why` compares with the time
before a deploy. A mark without --service concerns all services; an attribute
`tenant` makes it that tenant's alone. The same mark once more is kept once.

With --dsn it is written into the store; with --url (or beside a running
service) through the service's API, with the token in OTEL_ATTRIB_TOKEN if it
asks for one.
"""

import argparse
from typing import TYPE_CHECKING

from otel_attrib.errors import UsageError

if TYPE_CHECKING:
    from otel_attrib.analytics.mark_list import MarkRow

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from otel_attrib.schema.store import add_store_arguments

    parser.epilog = (
        "example: otel-attrib mark v2.3.1 --service chat --attribute commit=4bf92f3\n"
        "         otel-attrib mark --last 30d --kind deploy"
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="keep a mark of this name")
    parser.add_argument(
        "--kind", metavar="KIND", help="deploy, config, scale, drill, … (deploy; listing: any)"
    )
    parser.add_argument("--service", metavar="NAME", help="of this service (none: it concerns all)")
    parser.add_argument(
        "--at", default="now", metavar="TIME", help="when it was; listing: look back from then (now)"
    )
    parser.add_argument(
        "--attribute", action="append", default=[], metavar="K=V", help="kept with it; repeatable"
    )
    listing = parser.add_argument_group("listing")
    listing.add_argument("--last", default="7d", metavar="WINDOW", help="the span: 30d, or FROM..TO (7d)")
    listing.add_argument("--limit", type=int, default=50, metavar="N", help="marks of a page (50)")
    listing.add_argument("--cursor", metavar="TEXT", help="`next` of the page before")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_store_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Keep one, or list them."""
    if args.name is None and args.attribute:
        raise UsageError("--attribute goes with the NAME of a mark to keep")
    return _list(args) if args.name is None else _keep(args)


def _keep(args: argparse.Namespace) -> int:
    from otel_attrib.commands.printable import json_line, printable
    from otel_attrib.schema.service import service_post
    from otel_attrib.schema.store import chosen, connect

    mark = _mark(args)
    dsn, url = chosen(args.dsn, args.url)
    if url is not None:
        service_post(url, "marks", mark.as_dict())
    else:
        from otel_attrib.analytics.mark_list import add_mark

        with connect(dsn, None) as store:
            add_mark(store, mark)
    print(json_line(mark.as_dict()) if args.json else printable(f"kept: {_line(mark)}"))
    return 0


def _mark(args: argparse.Namespace) -> "MarkRow":
    from datetime import UTC, datetime

    from otel_attrib.analytics.mark_list import MarkRow
    from otel_attrib.analytics.windows import parse_time

    pairs = [word.partition("=") for word in args.attribute]
    wrong = next(("".join(pair) for pair in pairs if not pair[0] or not pair[1]), None)
    if wrong is not None:
        raise UsageError(f"--attribute {wrong} is not K=V")
    time = datetime.now(UTC) if args.at == "now" else parse_time(args.at)
    attributes = {key: value for key, _, value in pairs}
    return MarkRow(time, args.kind or "deploy", args.name, args.service or "", attributes)


def _list(args: argparse.Namespace) -> int:
    from otel_attrib.analytics.mark_object import ask_marks, marks_object
    from otel_attrib.commands.printable import json_line, printable
    from otel_attrib.schema.store import connect

    services, kinds = ([word] if word else [] for word in (args.service, args.kind))
    words = (args.last, args.at, services, kinds, (), args.limit, args.cursor)
    with connect(args.dsn, args.url) as store:
        page = ask_marks(store, *words)
    if args.json:
        print(json_line(marks_object(page)))
        return 0
    for mark in page.items:
        print(printable(_line(mark)))
    if not page.items:
        print(f"no mark in {args.last}: `otel-attrib mark NAME --kind deploy` keeps one")
    if page.next:
        print("more follow: --limit, or --json and --cursor")
    return 0


def _line(mark: "MarkRow") -> str:
    attributes = " ".join(f"{key}={value}" for key, value in sorted(mark.attributes.items()))
    of = f" of {mark.service}" if mark.service else ""
    return f"{mark.time:%Y-%m-%d %H:%M:%S}Z {mark.kind} {mark.name}{of}  {attributes}".rstrip()
