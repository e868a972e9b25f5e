"""Show what cards, links and hosts did in a window.

Every counter at the card or host that stands out most among those that served
the chosen requests: its value (of a total: what it grew by a second), what it
was just before, in a stretch as long, what the other places had, how far it is
from them (z, in robust deviations), and the share of the window that was read.
This is what was measured; `why` judges what it means. One request's own time is
`trace ID --evidence`.
"""

import argparse

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from otel_attrib.commands.question import add_where_arguments
    from otel_attrib.schema.store import add_store_arguments

    parser.epilog = (
        "example: otel-attrib evidence --window 5m --where node=node3\n"
        "         otel-attrib evidence --at newest --json"
    )
    add_where_arguments(parser)
    parser.add_argument("--window", default="15m", metavar="WINDOW", help="15m, 2h, 7d or FROM..TO (15m)")
    parser.add_argument("--json", action="store_true", help="print every counter of every place as JSON")
    add_store_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Ask and print."""
    import json

    from otel_attrib.analytics.filters import parse_filter
    from otel_attrib.analytics.join.window import window_evidence
    from otel_attrib.analytics.join.window_text import lines
    from otel_attrib.analytics.question import end_of
    from otel_attrib.analytics.windows import parse_window
    from otel_attrib.schema.store import connect

    where = parse_filter(args.where)
    with connect(args.dsn, args.url) as store:
        window = parse_window(args.window, end_of(store, args.at, where))
        told = window_evidence(store, window, where)
    print(json.dumps(told.as_dict(), ensure_ascii=False) if args.json else "\n".join(lines(told)))
    return 0
