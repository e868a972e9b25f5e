"""Say what made the tail slower, and how sure that is.

Two windows are compared: the current one, and a baseline that is by default as
long and ends where the current one starts (or, if a mark such as a deploy lies
inside the current window, both meet at that mark). The answer names the change
of the quantile with its 95 % interval, and what stands in the tail: the stages
of the slowest requests, which add up to the change and are not yet a cause.

A regression is called when the lower end of the interval is above 5 % of the
baseline and above 5 ms (0.5 ms for TPOT and TBT). That needs, in both windows, 5 rows above the quantile
(500 requests at P99; 100 at --quantile 0.95) spread over 8 of the 20 time
slices, and 90 % of the requests measured.

Exit code: 0 no regression, 4 a regression that is not traced to a cause or not
enough evidence (3 is kept for a regression with a cause), 1 error, 2 usage.
"""

import argparse

__all__ = ["add_arguments", "run"]

EXIT = {"NO_REGRESSION": 0, "GLOBAL": 4, "INSUFFICIENT": 4}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from otel_attrib.commands.question import add_question_arguments
    from otel_attrib.schema.store import add_store_arguments

    parser.epilog = (
        "example: otel-attrib why --metric ttft --window 15m --where model=llama-8b\n"
        "         otel-attrib why --quantile 0.95 --at newest --json"
    )
    add_question_arguments(parser)
    parser.add_argument("--window", default="15m", metavar="WINDOW", help="15m, 2h, 7d or FROM..TO (15m)")
    parser.add_argument("--baseline", metavar="WINDOW", help="compared with: FROM..TO, or how long before")
    parser.add_argument("--json", action="store_true", help="print the report as JSON (otel-attrib/why/1)")
    add_store_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Ask, print, and return the exit code of the verdict."""
    import json

    from otel_attrib.analytics.question import pose
    from otel_attrib.analytics.report_text import render
    from otel_attrib.analytics.why import explain
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
        report = explain(store, question)
    print(json.dumps(report.as_dict(), ensure_ascii=False) if args.json else render(report), end="")
    if args.json:
        print()
    return EXIT[report.verdict.word]
