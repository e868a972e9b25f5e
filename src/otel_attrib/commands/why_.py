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
cause it needs 50 rows above the quantile. A rise that is likely (p 0.8 or more)
and not sure is INSUFFICIENT, not an all-clear.

--trace ID explains one slow request instead: each of its stages beside the
requests like it (same service, model and size) within --window of it, and what
stays unexplained. ID is what `trace` takes.

Exit code: 0 no regression (or --trace), 3 a regression that is traced to
layers, to the mix of requests or to the load, 4 a regression without enough
evidence to say, or too little data, 1 error, 2 usage.
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
        "         otel-attrib why --quantile 0.95 --at newest --json\n"
        "         otel-attrib why --trace 4bf92f35"
    )
    add_question_arguments(parser)
    parser.add_argument("--window", default="15m", metavar="WINDOW", help="15m, 2h, 7d or FROM..TO (15m)")
    parser.add_argument(
        "--baseline",
        metavar="WINDOW",
        help="compared with: FROM..TO, how long before (15m), before (as long as the window), same-hour"
        " (of an earlier day), or auto (auto)",
    )
    parser.add_argument("--trace", metavar="ID", help="explain this one request by those like it")
    add_report_arguments(parser)
    add_store_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Ask, print, and return the exit code of the verdict."""
    if args.trace is not None:
        return _one_request(args)
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


def _one_request(args: argparse.Namespace) -> int:
    import json

    from otel_attrib.analytics.one_request import explain_trace
    from otel_attrib.analytics.one_request_text import lines
    from otel_attrib.analytics.windows import parse_duration
    from otel_attrib.errors import UsageError
    from otel_attrib.schema.store import connect

    given = {"--baseline": args.baseline, "--where": args.where, "--exact": args.exact}
    given |= {"--view": args.view != "all", "--quantile": args.quantile != 0.99, "--at": args.at != "now"}
    unused = next((option for option, value in given.items() if value), None)
    if unused:
        raise UsageError(f"{unused} has no use with --trace, which compares one request with those like it")
    if not args.trace.strip():
        raise UsageError("--trace is empty: give a trace, span or request id, or how one begins")
    with connect(args.dsn, args.url) as store:
        told = explain_trace(store, args.trace.strip(), args.metric, parse_duration(args.window))
    print(json.dumps(told.as_dict(), ensure_ascii=False) if args.json else "\n".join(lines(told)))
    return 0
