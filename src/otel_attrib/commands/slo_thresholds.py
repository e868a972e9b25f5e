"""`slo thresholds`: what the dynamic threshold loop decides, now or every so often; dry unless --apply."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_attrib.analytics.control.judged import Judged
    from otel_attrib.analytics.control.loop import Keep
    from otel_attrib.analytics.control.rule import ThresholdRule
    from otel_attrib.analytics.objectives import Objective
    from otel_attrib.schema.decisions import DecisionRow
    from otel_attrib.schema.store import Store

__all__ = ["add_arguments", "run"]

HEADS = ("objective", "latency", "decision", "limit", "in force", "recommended")


def add_arguments(group: "argparse._ArgumentGroup") -> None:
    """Declare the options."""
    group.add_argument("--every", metavar="T", help="judge again every T, such as 1m, until stopped")
    group.add_argument("--once", action="store_true", help="judge once and end (so without --every)")
    group.add_argument(
        "--apply", action="store_true", help="keep decisions: thresholds move (else a dry run)"
    )
    group.add_argument("--period", default="5m", metavar="T", help="length of a period (5m)")
    group.add_argument("--day", default="24h", metavar="T", help="what a candidate has to agree with (24h)")
    group.add_argument("--log", metavar="LAST", help="print the decisions of this span instead, such as 7d")


def run(args: argparse.Namespace, words: Sequence[str]) -> int:
    """Judge once, or again and again."""
    from otel_attrib.analytics.control.ask_control import rule_of
    from otel_attrib.commands.slo_file import named, objectives_of_file
    from otel_attrib.errors import UsageError
    from otel_attrib.schema.store import chosen, connect

    if args.every and args.once:
        raise UsageError("give --every or --once, not both")
    if args.every and args.at != "now":
        raise UsageError("--at goes with --once: a loop looks at now")
    objectives, rule = named(objectives_of_file(args.file), words), rule_of(args.period, args.day)
    dsn, url = chosen(args.dsn, args.url)
    with connect(dsn, url) as store:
        if args.log:
            return _log(store, objectives, args)
        keep = _keep(store, url) if args.apply else None
        if args.every:
            return _loop(store, objectives, rule, keep, args)
        return _once(store, objectives, rule, keep, args)


def _keep(store: "Store", url: str | None) -> "Keep":
    from otel_attrib.schema.decisions import decision_into_receiver, decision_into_store
    from otel_attrib.schema.migrate import check_schema

    if url:
        return decision_into_receiver(url)
    check_schema(store)
    return decision_into_store(store)


def _once(
    store: "Store",
    objectives: "Sequence[Objective]",
    rule: "ThresholdRule",
    keep: "Keep | None",
    args: argparse.Namespace,
) -> int:
    from otel_attrib.analytics.control.ask_control import lag_of
    from otel_attrib.analytics.control.loop import turn
    from otel_attrib.analytics.filters import EVERY_REQUEST
    from otel_attrib.analytics.question import end_of

    now = end_of(store, args.at, EVERY_REQUEST)
    found = turn(store, objectives, rule, now, keep, lag_of(args.at))
    _say(found, rule, args, keep is not None)
    return 0


def _loop(
    store: "Store",
    objectives: "Sequence[Objective]",
    rule: "ThresholdRule",
    keep: "Keep | None",
    args: argparse.Namespace,
) -> int:
    import time
    from datetime import UTC, datetime

    from otel_attrib.analytics.control.loop import turn
    from otel_attrib.analytics.windows import parse_duration
    from otel_attrib.commands.stopping import raises

    seconds = parse_duration(args.every).total_seconds()
    said = None
    try:
        with raises():
            while True:
                begun = time.monotonic()
                found = turn(store, objectives, rule, datetime.now(UTC), keep)
                if found and found[0].end != said:  # a period is told once, however often it is looked at
                    said = found[0].end
                    _say(found, rule, args, keep is not None)
                time.sleep(max(0.0, seconds - (time.monotonic() - begun)))
    except KeyboardInterrupt:
        return 0


def _say(found: "list[Judged]", rule: "ThresholdRule", args: argparse.Namespace, applied: bool) -> None:
    from otel_attrib.analytics.control.judged import judged_object
    from otel_attrib.analytics.wording import milliseconds, wrapped
    from otel_attrib.commands.printable import json_line, printable
    from otel_attrib.commands.table import print_table

    if args.json:
        print(json_line(judged_object(found, rule, applied)), flush=True)
        return
    print(printable("\n".join(wrapped(_headline(found, applied)))), end="\n\n")
    rows = [
        (
            each.objective.name,
            each.limit.metric.upper(),
            each.decision.word,
            *(f"{milliseconds(ms)} ms" for ms in (each.limit.ms, each.force.ms, each.decision.after_ms)),
        )
        for each in found
    ]
    print_table(HEADS, rows, left=3)
    for each in found:
        told = wrapped(f"{each.objective.name}: {each.decision.sentence}", "", "  ")
        print(printable("\n".join(told)), flush=True)


def _headline(found: "list[Judged]", applied: bool) -> str:
    moved = sum(each.decision.moves for each in found)
    verb = "moved" if applied else "would move"
    of = f"{moved} of {len(found)} thresholds {verb}"
    end = f" at the period ending {found[0].end:%Y-%m-%d %H:%M:%S} UTC" if found else ""
    return f"{of}{end}{'' if applied else ' (a dry run: nothing is kept without --apply)'}"


def _log(store: "Store", objectives: "Sequence[Objective]", args: argparse.Namespace) -> int:
    from otel_attrib.analytics.control.ask_control import logged
    from otel_attrib.analytics.control.judged import logged_object
    from otel_attrib.analytics.filters import EVERY_REQUEST
    from otel_attrib.analytics.question import end_of
    from otel_attrib.commands.printable import json_line

    rows = logged(store, objectives, args.log, end_of(store, args.at, EVERY_REQUEST))
    if args.json:
        print(json_line({"schema": "otel-attrib/threshold-log/1", "items": [logged_object(r) for r in rows]}))
    else:
        _print_log(rows)
    return 0


def _print_log(rows: "list[DecisionRow]") -> None:
    from otel_attrib.analytics.wording import wrapped
    from otel_attrib.commands.printable import printable

    moves = sum(row.word in ("raise", "lower") for row in rows)
    print(f"{len(rows):,} decisions kept, {moves:,} of them moved a threshold")
    for row in rows:
        head = f"{row.time:%Y-%m-%d %H:%M} {row.objective} {row.metric.upper()} {row.word}: {row.sentence}"
        print(printable("\n".join(wrapped(head, "", "  "))))
