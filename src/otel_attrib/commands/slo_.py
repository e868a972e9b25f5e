"""Say which objective is in trouble: good requests, budget left, burn rate.

  slo                  every objective of the file
  slo NAME             one of them: limits jointly and each alone, burn windows
  slo check FILE       read a file and say what is wrong with it
  slo derive           a limit for each endpoint, from its own P95 by the hour
  slo preset [NAME]    objectives of MLPerf and GuideLLM, to begin with
  slo thresholds       which threshold should move and why; dry unless --apply
  slo scale NAME       a HorizontalPodAutoscaler or KEDA ScaledObject, as YAML
  slo arbiter          a factor for each tenant, from its last minute
  slo budget           each tenant's part of a total, tokens a second
  slo trial            what such budgets would do, on a model fleet

Objectives are OpenSLO v1 files; --file names one, or a folder, else setting slo
does. A request is good when it met every limit (equal is met) and did not fail.
Counts are exact, read from the rows, up to the last whole minute; a request
counts when it arrived, so minutes fill up while their requests still run.
States: page and warn while a pair of burn windows is too fast (warn also
without budget left).
"""

import argparse
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otel_attrib.analytics.objectives import Objective
    from otel_attrib.analytics.objectives.standing import Standing
    from otel_attrib.schema.store import Store

__all__ = ["add_arguments", "run"]

# Each module declares its own options with `add_arguments(group)` (those below are common to all) and has
# `run(args, words) -> int`; `words` stand behind its name.
PARTS = {
    "check": "slo_check",
    "derive": "slo_derive",
    "preset": "slo_preset",
    "thresholds": "slo_thresholds",
    "scale": "slo_scale",
    "arbiter": "slo_arbiter",
    "budget": "slo_budget",
    "trial": "slo_trial",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command and of its parts."""
    from otel_attrib.commands.question import METRICS, add_where_arguments
    from otel_attrib.schema.store import add_store_arguments

    parser.usage = "otel-attrib slo [options] [NAME | PART [NAME ...]]"
    parser.epilog = (
        "example: otel-attrib slo --file examples/slo/classes.yaml\n"
        "         otel-attrib slo gold-ttft --file examples/slo/classes.yaml\n"
        "         otel-attrib slo check examples/slo\n"
        "         otel-attrib slo derive --last 14d --yaml\n"
        "         otel-attrib slo preset llama2-70b-interactive\n"
        "         otel-attrib slo thresholds --every 1m --apply\n"
        "         otel-attrib slo scale gold-ttft --format keda --deployment vllm --max 8\n"
        "         otel-attrib slo budget --total 80000 --policy throttle\n"
        "         otel-attrib slo trial --seeds 5"
    )
    parser.add_argument("words", nargs="*", metavar="NAME", help="an objective, or a part with its words")
    parser.add_argument("--file", metavar="F", help="OpenSLO file or folder (setting slo)")
    parser.add_argument(
        "--metric",
        choices=METRICS,
        default="ttft",
        help="which latency, for derive, scale, arbiter and budget (ttft)",
    )
    add_where_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_store_arguments(parser)
    for name in PARTS:
        _part(name).add_arguments(parser.add_argument_group(f"options of {name}"))


def run(args: argparse.Namespace) -> int:
    """Print where objectives stand, or hand over to the part that the first word names."""
    first, others = (args.words[0], args.words[1:]) if args.words else ("", [])
    if first in PARTS:
        code: int = _part(first).run(args, others)
        return code
    return _show(args)


def _part(name: str) -> Any:
    return import_module(f"otel_attrib.commands.{PARTS[name]}")


def _show(args: argparse.Namespace) -> int:
    from otel_attrib.analytics.objectives.slo_object import slo_object
    from otel_attrib.commands.printable import json_line
    from otel_attrib.commands.slo_file import named, objectives_of_file
    from otel_attrib.schema.store import connect

    objectives = named(objectives_of_file(args.file), args.words)
    with connect(args.dsn, args.url) as store:
        standings = _standings(store, objectives, args)
    if args.json:
        print(json_line(slo_object(standings)))
    elif args.words:
        _detail(standings)
    else:
        _table(standings)
    return 0


def _standings(
    store: "Store", objectives: "tuple[Objective, ...]", args: argparse.Namespace
) -> "list[Standing]":
    from otel_attrib.analytics.filters import parse_filter
    from otel_attrib.analytics.objectives.minutes import last_minute
    from otel_attrib.analytics.objectives.standing import stand
    from otel_attrib.analytics.question import end_of

    where = parse_filter(args.where)
    end = last_minute(end_of(store, args.at, where), whole=args.at == "newest")
    return stand(store, [objective.narrowed(where) for objective in objectives], end)


def _table(standings: "list[Standing]") -> None:
    from otel_attrib.analytics.objectives.slo_text import HEADS, headline, notes, table_rows
    from otel_attrib.analytics.wording import wrapped
    from otel_attrib.commands.printable import printable
    from otel_attrib.commands.table import print_table

    print(printable("\n".join(wrapped(headline(standings)))), end="\n\n")
    print_table(HEADS, table_rows(standings), left=2)
    print(printable("\n".join(notes(standings))))


def _detail(standings: "list[Standing]") -> None:
    from otel_attrib.analytics.objectives.slo_text import FIRING_HEADS, detail_lines, firing_rows
    from otel_attrib.commands.printable import printable
    from otel_attrib.commands.table import print_table

    for standing in standings:
        print(printable("\n".join(detail_lines(standing))), end="\n\n")
        print_table(FIRING_HEADS, firing_rows(standing), left=2)
