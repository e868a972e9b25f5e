"""`slo budget`: what each tenant should get of a total, tokens a second, as a recommendation."""

import argparse
from collections.abc import Sequence

__all__ = ["add_arguments", "run"]


def add_arguments(group: "argparse._ArgumentGroup") -> None:
    """Declare the options beside those of the arbiter."""
    group.add_argument(
        "--total", type=float, metavar="N", help="tokens a second to divide (else shares only)"
    )
    group.add_argument(
        "--weight",
        action="append",
        default=[],
        metavar="T=W",
        help="a tenant's usual weight; repeatable (tokens used in the last day)",
    )


def run(args: argparse.Namespace, words: Sequence[str]) -> int:
    """Ask and print."""
    from otel_attrib.analytics.control.arbiter import budget_object
    from otel_attrib.commands.printable import json_line
    from otel_attrib.commands.slo_arbiter import ask, numbers, say
    from otel_attrib.commands.table import print_table

    found = ask(args, words, args.total)
    if args.json:
        print(json_line(budget_object(found)))
        return 0
    say(found)
    rows = [
        (
            part.tenant or "(none)",
            "-" if part.tokens_s is None else f"{part.tokens_s:,.0f}",
            f"{100 * part.share:.1f} %",
            f"{100 * part.usual:.1f} %",
            f"{part.factor.value:.2f}",
            part.factor.state,
            *numbers(part)[:3],
        )
        for part in found.parts
    ]
    heads = ("tenant", "tokens/s", "share", "usual", "factor", "state", "n", "ms", "threshold")
    print_table(heads, rows)
    print(f"usual shares: {found.weighed}")
    return 0
