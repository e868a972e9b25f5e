"""Draw latency over time: how many requests were how slow, and where the P99 was.

A cell holds the requests (with --metric tbt the gaps between tokens) of one
step of time and one bin of latency; bins are powers of 10^(1/20), 12.2 % wide,
put together until they fit. The line is the number that `otel-attrib quantiles`
prints for a window as long as a column. Deploys and other marks stand below.

Counts are exact, and come from a rollup by minutes; steps below a minute and
conditions on status, source and the like read the requests themselves, of which
there may be five million. Columns begin on multiples of the step and are whole.
"""

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_attrib.analytics.heatmap import Heatmap
    from otel_attrib.analytics.mark_list import MarkRow

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from otel_attrib.commands.question import add_question_arguments
    from otel_attrib.schema.store import add_store_arguments

    parser.epilog = (
        "example: otel-attrib heatmap --metric ttft --last 6h --where model=llama-8b\n"
        "         otel-attrib heatmap --last 24h --step 10m --bins 40 --json"
    )
    add_question_arguments(parser)
    parser.add_argument("--last", default="1h", metavar="WINDOW", help="the span: 6h, or FROM..TO (1h)")
    parser.add_argument("--step", metavar="T", help="a column's length (so that the picture fits)")
    parser.add_argument("--bins", type=int, metavar="N", help="rows at most, 1 to 240 (20; 48 with --json)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_store_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Ask and print."""
    from otel_attrib.analytics.filters import parse_filter
    from otel_attrib.analytics.heatmap_object import COLUMNS, ROWS, Words, ask_heatmap, heatmap_object
    from otel_attrib.analytics.heatmap_text import CELLS, LINES
    from otel_attrib.commands.printable import json_line
    from otel_attrib.schema.store import connect

    columns, rows = (COLUMNS, ROWS) if args.json else (CELLS, LINES)
    words = Words(
        args.metric,
        args.quantile,
        args.last,
        args.step,
        rows if args.bins is None else args.bins,
        parse_filter(args.where),
        args.at,
    )
    with connect(args.dsn, args.url) as store:
        found, marks = ask_heatmap(store, words, columns=columns)
    if args.json:
        print(json_line(heatmap_object(found, marks)))
    else:
        _draw(found, marks)
    return 0


def _draw(found: "Heatmap", marks: "list[MarkRow]") -> None:
    from otel_attrib.analytics.heatmap_text import CELLS, heatmap_lines
    from otel_attrib.commands.printable import printable
    from otel_attrib.errors import UsageError

    if len(found.line_ms) > CELLS:
        raise UsageError(f"{len(found.line_ms)} columns do not fit: take a longer --step, or --json")
    print(printable("\n".join(heatmap_lines(found, marks, _draws_unicode()))))


def _draws_unicode() -> bool:
    try:
        "░▒▓█━▲".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
