"""Say what made the tail slower, and how sure that is.

Two windows are compared: the current one and a baseline. The answer gives the
change of the quantile with its 95 % interval, and divides it: how many ms each
layer added (scheduler, GPU, PCIe, NVLink, host CPU, network, client), how many
a changed mix of requests and more arrivals, and what stays unexplained; these
add up to the change. It names a layer only when its own counters (or a replay
of the queue) speak for it; otherwise it says what would decide it.

Without --baseline the windows meet at a mark (a deploy, a changed
configuration) that lies inside the current one; else the same hours of an
earlier day are taken, when three of the last seven days hold enough requests;
else the stretch just before. The report says which.

A regression is called when the lower end of the interval is above 5 % of the
baseline and above 5 ms (0.5 ms for TPOT and TBT). That needs, in both windows,
5 rows above the quantile (500 requests at P99; 100 at --quantile 0.95) spread
over 8 of the 20 time slices, and 90 % of the requests measured; to name a
cause it needs 50 rows above the quantile.

Exit code: 0 no regression, 3 a regression that is traced to layers, to the mix
of requests or to the load, 4 a regression without enough evidence to say, or
too little data, 1 error, 2 usage.
"""

import argparse

from otel_attrib.commands.answer import EXIT

__all__ = ["EXIT", "add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from otel_attrib.commands.answer import add_report_arguments
    from otel_attrib.commands.question import add_question_arguments
    from otel_attrib.schema.store import add_store_arguments

    parser.epilog = (
        "example: otel-attrib why --metric ttft --window 15m --where model=llama-8b\n"
        "         otel-attrib why --baseline same-hour --view golden\n"
        "         otel-attrib why --quantile 0.95 --at newest --json"
    )
    add_question_arguments(parser)
    parser.add_argument("--window", default="15m", metavar="WINDOW", help="15m, 2h, 7d or FROM..TO (15m)")
    parser.add_argument(
        "--baseline",
        metavar="WINDOW",
        help="compared with: FROM..TO, how long before (15m), before (as long as the window), same-hour"
        " (of an earlier day), or auto (auto)",
    )
    add_report_arguments(parser)
    add_store_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Ask, print, and return the exit code of the verdict."""
    from otel_attrib.analytics.question import pose
    from otel_attrib.commands.answer import give
    from otel_attrib.schema.store import connect

    with connect(args.dsn, args.url) as store:
        question = pose(
            store,
            metric=args.metric,
            level=args.quantile,
            window=args.window,
            baseline=args.baseline,
            where=args.where,
            at=args.at,
        )
        return give(store, question, args)
