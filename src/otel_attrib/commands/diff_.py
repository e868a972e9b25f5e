"""Say why B is slower than A: two versions, two windows, two selections.

A and B are each a selection of requests, a window, or both:

  version=1.0            dimension=value, several joined by commas
  2h  or  FROM..TO       a window (durations reach back from --at)
  version=1.0@2h         a selection in its own window

A side without a window has the one of --window; --where holds for both. The
sides must be different requests: either their windows do not overlap, or they
differ in the value of a dimension. The answer is that of `why`, with A as the
baseline, and so are the exit codes.
"""

import argparse

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from otel_attrib.commands.answer import add_report_arguments
    from otel_attrib.commands.question import add_question_arguments
    from otel_attrib.schema.store import add_store_arguments

    parser.epilog = (
        "example: otel-attrib diff version=1.0 version=1.1 --window 2h\n"
        "         otel-attrib diff 2026-05-01T12:00Z..2026-05-01T13:00Z 1h --metric tpot"
    )
    parser.add_argument("a", metavar="A", help="the reference")
    parser.add_argument("b", metavar="B", help="what is compared with it")
    add_question_arguments(parser)
    parser.add_argument(
        "--window",
        default="15m",
        metavar="WINDOW",
        help="of a side that names none: 15m, 2h or FROM..TO (15m)",
    )
    add_report_arguments(parser)
    add_store_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Compare, print, and return the exit code of the verdict."""
    from otel_attrib.analytics.question import compare
    from otel_attrib.commands.answer import give
    from otel_attrib.schema.store import connect

    with connect(args.dsn, args.url) as store:
        question = compare(
            store,
            args.a,
            args.b,
            metric=args.metric,
            level=args.quantile,
            window=args.window,
            where=args.where,
            at=args.at,
        )
        return give(store, question, args)
