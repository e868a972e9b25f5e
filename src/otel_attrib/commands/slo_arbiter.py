"""`slo arbiter`: a factor for each tenant from its last minute, as a recommendation."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_attrib.analytics.control.arbiter import Arbitrated
    from otel_attrib.analytics.control.budgets import Budget
    from otel_attrib.analytics.control.factors import Policy

__all__ = ["add_arguments", "ask", "numbers", "policy_of", "run", "say"]


def add_arguments(group: "argparse._ArgumentGroup") -> None:
    """Declare the options."""
    group.add_argument(
        "--policy",
        choices=("boost", "throttle"),
        default="boost",
        help="a tenant in breach gets more (boost), or less (throttle)",
    )
    group.add_argument("--quantile", type=float, default=0.95, metavar="Q", help="of the last minute (0.95)")
    group.add_argument("--least", type=int, default=20, metavar="N", help="requests that a factor needs (20)")
    group.add_argument(
        "--smoothing",
        type=float,
        default=1.0,
        metavar="S",
        help="weight of the newest round, 1: no smoothing",
    )
    group.add_argument(
        "--dead-band", type=float, default=0.0, metavar="H", help="smaller relative changes are none (0)"
    )


def run(args: argparse.Namespace, words: Sequence[str]) -> int:
    """Ask and print."""
    from otel_attrib.analytics.control.arbiter import arbiter_object
    from otel_attrib.commands.printable import json_line
    from otel_attrib.commands.table import print_table

    found = ask(args, words)
    if args.json:
        print(json_line(arbiter_object(found)))
        return 0
    say(found)
    rows = [
        (part.tenant or "(none)", f"{part.factor.value:.2f}", part.factor.state, *numbers(part))
        for part in found.parts
    ]
    print_table(("tenant", "factor", "state", "n", "ms", "threshold", "objective"), rows)
    return 0


def numbers(part: "Budget") -> tuple[str, str, str, str]:
    """Return (n, ms, threshold, objective) of a tenant's tail as text."""
    from otel_attrib.analytics.wording import milliseconds

    tail = part.factor.tail
    shown = "-" if tail.ms is None else milliseconds(tail.ms)
    return f"{tail.n:,}", shown, milliseconds(tail.threshold_ms), tail.objective


def say(found: "Arbitrated") -> None:
    """Print the answer in a line, and what it is made of."""
    from otel_attrib.analytics.wording import wrapped
    from otel_attrib.commands.printable import printable

    breach = [part.tenant or "(none)" for part in found.parts if part.factor.state == "breach"]
    which = f"{', '.join(breach)} in breach" if breach else "no tenant in breach"
    if not found.parts:
        which = "no tenant sent anything in the last day that an objective holds: nobody in breach"
    more = "more" if found.policy.direction == "boost" else "less"
    name = f"P{100 * found.asked.level:g} {found.asked.metric.upper()}"
    text = (
        f"{which} of {name} in the minute to {found.end:%H:%M:%S} UTC; a tenant in breach gets {more}"
        f" ({found.policy.direction}), factors lie between {found.policy.low:g} and {found.policy.high:g}."
        " A recommendation: nothing is changed in the engine."
    )
    print(printable("\n".join(wrapped(text))), end="\n\n")


def ask(args: argparse.Namespace, words: Sequence[str], total: float | None = None) -> "Arbitrated":
    """Return what the arbiter recommends now."""
    from otel_attrib.analytics.control.ask_control import ask_arbiter, weights_of
    from otel_attrib.analytics.control.tails import Asked
    from otel_attrib.analytics.filters import EVERY_REQUEST
    from otel_attrib.analytics.question import check_level
    from otel_attrib.commands.slo_file import named, objectives_of_file
    from otel_attrib.schema.store import connect

    objectives = named(objectives_of_file(args.file), words)
    asked, weights = Asked(args.metric, check_level(args.quantile)), weights_of(args.weight)
    with connect(args.dsn, args.url) as store:
        policy = policy_of(args)
        return ask_arbiter(store, objectives, args.at, policy, asked, EVERY_REQUEST, weights, total)


def policy_of(args: argparse.Namespace) -> "Policy":
    """Return the policy that the options describe."""
    from otel_attrib.analytics.control.factors import Policy

    return Policy(args.policy, least=args.least, smoothing=args.smoothing, dead_band=args.dead_band)
