"""Show one request as a waterfall: where the time to its first token went.

ID is a trace id, a span id or the engine's request id, whole or the beginning
of one that no other request shares. Stages that were not observed are named as
such, and `outside` is what no stage explains. Below stand the gaps between its
tokens, the engine steps that served it, and spans of other services and log
lines of the same trace.

--evidence adds what the cards and the host did in exactly the request's time,
stage by stage: each counter beside what is usual there (earlier requests like
it) and beside the other engines of its model at that time, with the share of
the stage that its readings stand for. What was not read is said, with what
would read it.
"""

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_attrib.analytics.join.findings import RequestEvidence
    from otel_attrib.analytics.waterfall import Waterfall

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from otel_attrib.schema.store import add_store_arguments

    parser.epilog = (
        "example: otel-attrib trace 4bf92f35 --evidence\n         otel-attrib trace cmpl-7d0c5a --json"
    )
    parser.add_argument("id", metavar="ID", help="trace, span or request id, or how one begins")
    parser.add_argument(
        "--evidence", action="store_true", help="also what its cards and host did in its time"
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    add_store_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Look the request up and print it."""
    import json

    from otel_attrib.analytics.trace_lookup import look_up
    from otel_attrib.errors import UsageError
    from otel_attrib.schema.store import connect

    name = args.id.strip()
    if not name:
        raise UsageError("the id is empty: give a trace, span or request id, or how one begins")
    with connect(args.dsn, args.url) as store:
        shown = look_up(store, name)
        evidence = None
        if args.evidence:
            from otel_attrib.analytics.join.trace import request_evidence

            evidence = request_evidence(store, shown.request)
    if args.json:
        from otel_attrib.analytics.trace_object import trace_object

        print(json.dumps(trace_object(shown, evidence), ensure_ascii=False))
    else:
        _print(shown, evidence)
    return 0


def _print(shown: "Waterfall", evidence: "RequestEvidence | None") -> None:
    from otel_attrib.analytics.waterfall_text import lines

    text = lines(shown, unicode=_draws_unicode())
    if evidence is not None:
        from otel_attrib.analytics.join.text import lines as evidence_lines

        text += ["", *evidence_lines(evidence)]
    if not sys.stdout.isatty():
        print("\n".join(text))
        return
    from rich.console import Console

    console = Console(highlight=False)
    console.print(text[0], style="bold", markup=False)
    console.print("\n".join(text[1:]), markup=False)


def _draws_unicode() -> bool:
    try:
        "█░…".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
