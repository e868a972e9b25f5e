"""List what `otel-attrib watch` and the alerts found, or show one incident.

Without an INCIDENT: one line a report, the newest first. With one (or how it
begins, when no other does): each report of it, as `otel-attrib why` printed it
then. A report is kept when an incident opens, after 1, 5 and 30 minutes and
when it is over, so one incident has several.
"""

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otel_attrib.analytics.report_list import KeptReport
    from otel_attrib.schema.store import Store

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from otel_attrib.schema.store import add_store_arguments

    parser.epilog = (
        "example: otel-attrib reports --since 7d --state open\n         otel-attrib reports 2f6c91d0 --json"
    )
    parser.add_argument("incident", nargs="?", metavar="INCIDENT", help="show this one")
    parser.add_argument("--since", default="7d", metavar="T", help="how far back: 7d, or a time (7d)")
    parser.add_argument("--service", default="", metavar="NAME", help="of this service")
    parser.add_argument("--state", default="", metavar="STATE", help="open, small or over")
    parser.add_argument("--limit", type=int, default=50, metavar="N", help="reports of a page (50)")
    parser.add_argument("--cursor", metavar="TEXT", help="`next` of the page before")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_store_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Ask and print."""
    from otel_attrib.schema.store import connect

    with connect(args.dsn, args.url) as store:
        (_one if args.incident else _all)(store, args)
    return 0


def _all(store: "Store", args: argparse.Namespace) -> None:
    from otel_attrib.analytics.report_list import list_reports, since_window
    from otel_attrib.analytics.report_object import ask_reports
    from otel_attrib.commands.printable import json_line
    from otel_attrib.commands.table import print_table

    if args.json:
        words = (args.since, args.service, "", args.state, (), args.limit, args.cursor)
        print(json_line(ask_reports(store, *words)))
        return
    span = since_window(args.since)
    page = list_reports(store, span, args.service, "", args.state, (), args.limit, args.cursor)
    if not page.items:
        print(f"no report since {args.since}: `otel-attrib watch` keeps one when the tail gets slower")
        return
    heads = ("time (UTC)", "incident", "state", "service/model", "verdict", "layer", "ms")
    more = "more follow: --limit, or --json and --cursor" if page.next else ""
    print_table(heads, [_cells(row) for row in page.items], 6, more)


def _cells(row: "KeptReport") -> tuple[str, ...]:
    from otel_attrib.analytics.wording import milliseconds

    words = row.words
    who = "/".join(words[name] or "-" for name in ("service", "model"))
    return (
        f"{row.time:%m-%d %H:%M}",
        words["incident"][:8],
        words["state"],
        who if len(who) <= 15 else f"…{who[-14:]}",
        words["verdict"],
        words["layer"] or "-",
        "-" if row.delta_ms is None else milliseconds(row.delta_ms, sign=True),
    )


def _one(store: "Store", args: argparse.Namespace) -> None:
    from otel_attrib.analytics.report_list import incident_reports
    from otel_attrib.analytics.report_object import ask_incident
    from otel_attrib.commands.printable import json_line, printable

    if args.json:
        print(json_line(ask_incident(store, args.incident, ())))
        return
    for row in incident_reports(store, args.incident):
        print(printable("\n".join(_told(row.as_dict()))))


def _told(row: dict[str, Any]) -> list[str]:
    """Return one report: what it is of, and the sentence that `why` began with."""
    from otel_attrib.analytics.wording import milliseconds, wrapped

    who = " ".join(word for word in (row["service"], row["model"]) if word)
    delta = "" if row["delta_ms"] is None else f", {milliseconds(row['delta_ms'], sign=True)} ms"
    head = f"{row['time'][:19]}Z {who} {row['state']} (since {row['onset'][:19]}Z)"
    name = f"P{100 * row['quantile']:g} {row['metric'].upper()}"
    verdict = f"{name}: {' '.join(word for word in (row['verdict'], row['layer']) if word)}{delta}"
    body = row.get("report")
    said = body.get("headline", "") if isinstance(body, dict) else ""
    lines = [*wrapped(head, others="    "), *wrapped(verdict, "  ", "  ")]
    return [*lines, *(wrapped(said, "  ", "  ") if isinstance(said, str) and said else ())]
