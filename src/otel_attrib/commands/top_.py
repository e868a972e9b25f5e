"""Watch the groups of requests live: rate, failures, TTFT, TPOT and their tail.

Per group (--by): requests/s, failures, P50 and P99 of TTFT, the P99's change
against the window before, P99 of TPOT, and the stage that takes the most of the
P99 TTFT: what is in the tail, not a cause. --stages shows every stage instead.
Quantiles are within 1 % of the value at their rank. A request is counted when it
has ended, so the last seconds of long requests are still to come.
On a terminal the table renews itself until Ctrl-C; in a pipe it is printed once.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otel_attrib.analytics.overview import Group
    from otel_attrib.analytics.stage_table import StageRow
    from otel_attrib.schema.store import Store

__all__ = ["add_arguments", "run"]

Cells = list[tuple[str, ...]]
CAPTION = "ms; quantiles within 1 %; in the tail: most of the TTFT P99, not a cause"
STAGES_CAPTION = "ms; P50 and P99 within 1 %; missing: share of requests without the stage"
GROUP_COLUMNS = 22


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from otel_attrib.commands.question import METRICS, add_where_arguments
    from otel_attrib.schema.store import add_store_arguments

    parser.epilog = "example: otel-attrib top --by model,node --window 5m"
    parser.add_argument("--by", default="model,tenant,node", metavar="K,K", help="groups (model,tenant,node)")
    parser.add_argument("--window", default="5m", metavar="T", help="how far the numbers look back (5m)")
    parser.add_argument("--stages", action="store_true", help="one row a stage: mean, P50, P99, missing")
    parser.add_argument("--metric", choices=METRICS, default="ttft", help="whose stages with --stages (ttft)")
    add_where_arguments(parser)
    parser.add_argument("--interval", default="2s", metavar="T", help="time between two looks (2s)")
    parser.add_argument("--once", action="store_true", help="print once, on a terminal too")
    parser.add_argument("--json", action="store_true", help="print one JSON object, once")
    add_store_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Look once, or until interrupted."""
    import json

    from otel_attrib.commands.table import print_table
    from otel_attrib.schema.store import connect

    left, caption = (2, STAGES_CAPTION) if args.stages else (1, CAPTION)
    with connect(args.dsn, args.url) as store:
        look = _stages if args.stages else _groups
        if args.json:
            print(json.dumps(look(store, args)[2], ensure_ascii=False))
        elif args.once or not sys.stdout.isatty():
            heads, cells, _ = look(store, args)
            if cells:
                print_table(heads, cells, left, caption)
            else:
                print(_nothing(args))
        else:
            _watch(lambda: look(store, args), args.interval, left, caption, _nothing(args))
    return 0


def _nothing(args: argparse.Namespace) -> str:
    """What is said in place of an empty table."""
    matching = f" with {' '.join(args.where)}" if args.where else ""
    if ".." in args.window:
        return f"no request{matching} in {args.window}"
    before = "" if args.at == "now" else f" before {args.at}"
    return f"no request{matching} in the {'last ' * (not before)}{args.window}{before}"


def _watch(
    look: Callable[[], tuple[tuple[str, ...], Cells, Any]],
    interval: str,
    left: int,
    caption: str,
    nothing: str,
) -> None:
    import time

    from rich.live import Live

    from otel_attrib.analytics.windows import parse_duration
    from otel_attrib.commands.table import rich_table

    seconds = parse_duration(interval).total_seconds()
    with Live(auto_refresh=False, screen=True) as live:
        while True:
            heads, cells, _ = look()
            rows = cells[: max(1, live.console.height - 6)]
            live.update(rich_table(heads, rows, left, caption if rows else nothing), refresh=True)
            time.sleep(seconds)


def _groups(store: "Store", args: argparse.Namespace) -> tuple[tuple[str, ...], Cells, Any]:
    from datetime import timedelta

    from otel_attrib.analytics.filters import parse_filter
    from otel_attrib.analytics.overview import overview
    from otel_attrib.analytics.quantiles_object import dimensions
    from otel_attrib.analytics.question import end_of
    from otel_attrib.analytics.windows import parse_duration

    by, where = dimensions(args.by), parse_filter(args.where)
    # The state of the running ten seconds is not full yet.
    end = end_of(store, args.at, where) - timedelta(seconds=10 if args.at == "now" else 0)
    groups = overview(store, end, int(parse_duration(args.window).total_seconds()), by, where)
    heads = ("/".join(by), "req/s", "err", "TTFT p50", "p99", "±", "TPOT p99", "in the tail")
    return heads, [_group_cells(group) for group in groups], _groups_object(by, groups)


def _group_cells(group: "Group") -> tuple[str, ...]:
    from otel_attrib.analytics.wording import digits

    shown = "/".join(word or "-" for word in group.key)
    tail = [f"{stage} {100 * ms / (group.ttft_p99 or 1):.0f}%" for stage, ms in group.tail.items()]
    return (
        shown if len(shown) <= GROUP_COLUMNS else "…" + shown[1 - GROUP_COLUMNS :],
        digits(group.per_second),
        f"{100 * group.failed:.0f}%",
        _ms(group.ttft_p50),
        _ms(group.ttft_p99),
        "-" if group.change is None else f"{100 * group.change:+.0f}%",
        _ms(group.tpot_p99),
        tail[0] if tail else "-",
    )


def _groups_object(by: tuple[str, ...], groups: list["Group"]) -> dict[str, Any]:
    rows = [{**dict(zip(by, group.key, strict=True)), **_without(asdict(group), "key")} for group in groups]
    return {"schema": "otel-attrib/top/1", "unit": "ms", "error": 0.01, "groups": rows}


def _stages(store: "Store", args: argparse.Namespace) -> tuple[tuple[str, ...], Cells, Any]:
    from otel_attrib.analytics.filters import parse_filter
    from otel_attrib.analytics.metric import metric_named
    from otel_attrib.analytics.quantiles_object import dimensions
    from otel_attrib.analytics.question import end_of
    from otel_attrib.analytics.stage_table import stage_table
    from otel_attrib.analytics.windows import parse_window

    by, where = dimensions(args.by), parse_filter(args.where)
    window = parse_window(args.window, end_of(store, args.at, where))
    rows = stage_table(store, metric_named(args.metric), window, by, where)
    heads = ("/".join(by), "stage", "requests", "missing", "mean ms", "P50", "P99")
    return heads, [_stage_cells(row) for row in rows], _stages_object(args.metric, by, rows)


def _stage_cells(row: "StageRow") -> tuple[str, ...]:
    group = "/".join(word or "-" for word in row.group)
    missing = f"{100 * row.missing:.0f}%"
    return group, row.stage, str(row.requests), missing, _ms(row.mean), _ms(row.p50), _ms(row.p99)


def _stages_object(metric: str, by: tuple[str, ...], rows: list["StageRow"]) -> dict[str, Any]:
    stages = [{**dict(zip(by, row.group, strict=True)), **_without(asdict(row), "group")} for row in rows]
    return {"schema": "otel-attrib/stages/1", "metric": metric, "unit": "ms", "error": 0.01, "stages": stages}


def _without(row: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != name}


def _ms(value: float | None) -> str:
    from otel_attrib.analytics.report_text import milliseconds

    return "-" if value is None else milliseconds(value)
