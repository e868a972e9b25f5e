"""`slo trial`: the arbiter tried on the model fleet, same arrivals with and without it, harm told as well."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_attrib.fleet.trial import Asked, Trial

__all__ = ["add_arguments", "run"]

# Two cards, shorter windows, and a load at which the burst is felt: ten seeds of four arms in a minute.
SMALL = (
    "fleet.nodes=1",
    "fleet.gpus_per_node=2",
    "windows.baseline=120",
    "windows.current=180",
    "workload.load=0.65",
    "workload.arrivals=trace",
)
DEFAULT = "null-tenant-burst"


def add_arguments(group: "argparse._ArgumentGroup") -> None:
    """Declare the options."""
    group.add_argument(
        "--scenario", metavar="S", help=f"a name of `simulate --list`, or a file ({DEFAULT}, small)"
    )
    group.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="replace a field of it; repeatable"
    )
    group.add_argument(
        "--gate",
        choices=("limit", "share"),
        default="limit",
        help="budgets are limits, or what one tenant leaves goes to the others (limit)",
    )
    group.add_argument("--seeds", type=int, default=10, metavar="N", help="runs, paired over the arms (10)")
    group.add_argument(
        "--sla",
        action="append",
        default=[],
        metavar="T=MS",
        help="a tenant's threshold (1.2 × its quiet P95)",
    )


def run(args: argparse.Namespace, words: Sequence[str]) -> int:
    """Try it and print what it did."""
    from otel_attrib.commands.printable import json_line, printable
    from otel_attrib.commands.progress import counted
    from otel_attrib.errors import UsageError
    from otel_attrib.fleet.trial import ARMS, run_trial
    from otel_attrib.fleet.trial.report import trial_lines, trial_object

    if words:
        raise UsageError(
            f"slo trial takes no name ({words[0]!r}): it runs on a model fleet, not on objectives"
        )
    asked = _asked(args)
    with counted("simulating", asked.seeds * len(ARMS)) as advance:
        trial = run_trial(asked, advance)
    if args.json:
        print(json_line(trial_object(trial, asked)))
    else:
        _print(trial)
        print(printable("\n".join(trial_lines(trial))))
    return 0


def _asked(args: argparse.Namespace) -> "Asked":
    from otel_attrib.analytics.control.ask_control import weights_of
    from otel_attrib.commands.slo_arbiter import policy_of
    from otel_attrib.fleet import load_scenario
    from otel_attrib.fleet.trial import Asked

    own = () if args.scenario else SMALL
    scenario = load_scenario(args.scenario or DEFAULT, (*own, *args.set))
    thresholds, shares = weights_of(args.sla) or {}, weights_of(args.weight) or {}
    return Asked(scenario, args.seeds, policy_of(args), args.total or 0.0, thresholds, shares, gate=args.gate)


def _print(trial: "Trial") -> None:
    from otel_attrib.commands.printable import printable
    from otel_attrib.commands.table import print_table
    from otel_attrib.fleet.trial.report import HEADS, headline, trial_rows

    print(printable("\n".join(headline(trial))), end="\n\n")
    print_table(HEADS, trial_rows(trial), left=2)
