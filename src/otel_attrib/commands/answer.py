"""What `why` and `diff` share: the options of a report, how it is printed, and its exit code."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_attrib.analytics.question import Question
    from otel_attrib.schema.store import Store

__all__ = ["EXIT", "add_report_arguments", "give"]

EXIT = {
    "NO_REGRESSION": 0,
    "CAUSE": 3,
    "CAUSE_SET": 3,
    "MIX": 3,
    "LOAD": 3,
    "GLOBAL": 4,
    "INSUFFICIENT": 4,
}
VIEWS = ("all", "layers", "stages", "golden", "matrix")


def add_report_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--view`, `--exact` and `--json`."""
    parser.add_argument(
        "--view",
        choices=VIEWS,
        default="all",
        help="tables shown: all (layers and stages), one of them, golden (T = compute + memory +"
        " transfer + scheduling), matrix (layers by TTFT, TPOT, TBT; asks three times)",
    )
    parser.add_argument("--exact", action="store_true", help="read every request of a large window")
    parser.add_argument("--json", action="store_true", help="print the report as JSON (otel-attrib/why/1)")


def give(store: "Store", question: "Question", args: argparse.Namespace) -> int:
    """Answer the question, print the answer, and return the exit code of its verdict."""
    import json

    from otel_attrib.analytics.report_text import render
    from otel_attrib.analytics.why import explain, with_matrix

    report = explain(store, question, exact=args.exact)
    if args.view == "matrix":
        report = with_matrix(store, question, report, exact=args.exact)
    if args.json:
        print(json.dumps(report.as_dict(), ensure_ascii=False))
    else:
        print(render(report, args.view), end="")
    return EXIT[report.verdict.word]
