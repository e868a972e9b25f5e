"""Sliding P99 (or any quantile) of TTFT, TPOT, TBT or E2E, by any dimensions.

Numbers come from the 10 s states and are within 1 % of the value at their rank
(TBT 2 %); --exact reads every request instead. Windows and steps that are no
multiples of 10 s are rounded up, and that is said. A ~ marks windows with fewer
than five values above the quantile: there the gap to the neighbouring value
outweighs the error of the sketch.
"""

import argparse
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_attrib.analytics.quantiles import Point, Sliding

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from otel_attrib.commands.question import add_question_arguments
    from otel_attrib.schema.store import add_store_arguments

    parser.epilog = "example: otel-attrib quantiles --metric ttft --window 5m --step 10s --last 1h --by model"
    add_question_arguments(parser)
    parser.add_argument("--window", default="5m", metavar="T", help="how much each number looks back (5m)")
    parser.add_argument("--step", default="1m", metavar="T", help="time between two numbers (1m)")
    parser.add_argument("--last", default="15m", metavar="WINDOW", help="numbers for this span (15m)")
    parser.add_argument("--by", default="", metavar="K,K", help="one series for each value: model,node")
    parser.add_argument("--exact", action="store_true", help="from the requests themselves, not the states")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_store_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Ask and print."""
    import json

    from otel_attrib.analytics.filters import parse_filter
    from otel_attrib.analytics.quantiles_object import Words, ask_quantiles, quantiles_object
    from otel_attrib.schema.store import connect

    names = ("metric", "quantile", "window", "step", "last", "by", "at", "exact")
    words = Words(where=parse_filter(args.where), **{name: getattr(args, name) for name in names})
    with connect(args.dsn, args.url) as store:
        asked, points = ask_quantiles(store, words)
    if args.json:
        print(json.dumps(quantiles_object(asked, points), ensure_ascii=False))
    else:
        _print(asked, points)
    return 0


def _print(asked: "Sliding", points: list["Point"]) -> None:
    from otel_attrib.analytics.report_text import milliseconds
    from otel_attrib.commands.table import print_table

    done = asked.on_states()
    name = f"P{100 * done.level:g} {done.metric.title}"
    rows = [
        (
            *point.group,
            f"{point.end:%Y-%m-%d %H:%M:%S}",
            str(point.n),
            "-" if point.ms is None else f"{'~' if point.few else ''}{milliseconds(point.ms)}",
        )
        for point in points
    ]
    print_table((*done.by, "window ends (UTC)", "n", f"{name} ms"), rows, left=len(done.by) + 1)
    for line in _footnotes(asked, done, points):
        print(textwrap.fill(line, 80))


def _footnotes(asked: "Sliding", done: "Sliding", points: list["Point"]) -> list[str]:
    lines = [f"{done.metric.title}: {done.metric.definition}", f"error: {done.bound().against}"]
    if (asked.window, asked.step) != (done.window, done.step):
        lines.append(f"rounded up to whole 10 s: window {done.window} s, step {done.step} s")
    if any(point.few for point in points):
        lines.append("~ fewer than 5 values above the quantile: its neighbours may lie further off")
    if not points:
        lines.append("no request in this span")
    return lines
