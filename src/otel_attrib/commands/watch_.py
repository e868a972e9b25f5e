"""Watch the tail, and when it gets slower say why.

Every --interval the requests that have just ended are counted by service and
model: how many were slower than 99 % of the requests of the same model and size
were in the --baseline before. When these become more than chance and the bursts
that a service has anyway explain, `why` is asked, its first lines are printed,
and the report is kept in the table `reports`; again after 1, 5 and 30 minutes
and when it is over. One incident is one alarm. Nothing is said of a rise below
5 % and 5 ms, nor of what was as frequent at this hour of earlier days.
--alarms-a-day is how many false alarms are allowed, over all that is watched.

Reports go into the store that --dsn names. With --url (or with neither, beside a
running service) the store can only be read, so they go to the service's OTLP
receiver, which files them. A store that does not answer is asked again later.

--once judges the last --window once, for cron: exit code 0 when nothing got
slower, 4 when no service has requests enough to be judged, else that of `why`
(3 or 4). Otherwise Ctrl-C or SIGTERM ends it with 0.
"""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_attrib.analytics.detection.watcher import Judged, Watcher
    from otel_attrib.schema.reports import ReportRow
    from otel_attrib.schema.store import Store

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from otel_attrib.commands.question import add_question_arguments
    from otel_attrib.schema.store import add_store_arguments

    parser.epilog = (
        "example: otel-attrib watch --metric ttft --where model=llama-8b\n"
        "         otel-attrib watch --once --window 15m --json"
    )
    add_question_arguments(parser)
    parser.add_argument("--interval", default="10s", metavar="T", help="time between two looks (10s)")
    parser.add_argument("--baseline", default="1h", metavar="T", help="what is normal is learned from (1h)")
    parser.add_argument(
        "--alarms-a-day", type=float, default=1.0, metavar="N", help="false alarms allowed a day (1)"
    )
    parser.add_argument("--once", action="store_true", help="judge the last --window and end")
    parser.add_argument("--window", default="15m", metavar="T", help="what --once judges (15m)")
    parser.add_argument("--dry-run", action="store_true", help="keep no report")
    parser.add_argument("--json", action="store_true", help="print one line of JSON a report")
    add_store_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Watch until told to stop, or judge once."""
    from math import inf

    from otel_attrib.analytics.detection.watcher import Watcher
    from otel_attrib.analytics.filters import parse_filter
    from otel_attrib.analytics.metric import metric_named
    from otel_attrib.analytics.question import check_level
    from otel_attrib.analytics.why import explain
    from otel_attrib.analytics.windows import parse_duration
    from otel_attrib.errors import UsageError
    from otel_attrib.schema.store import chosen, connect

    if not 0 < args.alarms_a_day < inf:
        raise UsageError(f"--alarms-a-day {args.alarms_a_day:g} is no number above 0")
    if args.at != "now" and not args.once:
        raise UsageError("--at goes with --once: a watch looks at now")
    dsn, url = chosen(args.dsn, args.url)
    with connect(dsn, url) as store:
        keep = _way_to_keep(args, store, url)
        watcher = Watcher(
            store,
            explain,
            metric_named(args.metric),
            check_level(args.quantile),
            parse_filter(args.where),
            parse_duration(args.baseline),
            args.alarms_a_day,
        )
        return _once(watcher, keep, args) if args.once else _loop(watcher, keep, args)


def _way_to_keep(args: argparse.Namespace, store: "Store", url: str | None) -> "Callable[[ReportRow], None]":
    from otel_attrib.errors import StoreError, StoreSchema
    from otel_attrib.schema.migrate import check_schema
    from otel_attrib.schema.reports import into_receiver, into_store

    if args.dry_run:
        return lambda row: None
    if url:
        return into_receiver(url)
    try:
        check_schema(store)
    except StoreError as fault:
        if args.once or isinstance(fault, StoreSchema):
            raise  # else it may answer later: the loop says that it does not
    return into_store(store)


def _once(watcher: "Watcher", keep: "Callable[[ReportRow], None]", args: argparse.Namespace) -> int:
    from otel_attrib.analytics.question import end_of
    from otel_attrib.analytics.windows import parse_duration
    from otel_attrib.analytics.wording import wrapped
    from otel_attrib.commands.answer import EXIT

    length = parse_duration(args.window).total_seconds()
    end = end_of(watcher.store, args.at, watcher.where).timestamp()
    if args.at != "now":
        watcher.lag_s = 0
    watcher.backlog_s = length
    watcher.learn(end - length)
    found = [judged for judged in watcher.step(end) if judged.news]
    for judged in found:
        keep(judged.row)
        _say(judged, args.json)
    if not found and not args.json:
        print("\n".join(wrapped(_quiet(watcher, args.window))))
    quiet = EXIT["NO_REGRESSION" if watcher.detectors else "INSUFFICIENT"]
    return max((EXIT[judged.report.verdict.word] for judged in found), default=quiet)


def _quiet(watcher: "Watcher", window: str) -> str:
    if not watcher.detectors:
        return "no service and model has 200 measured requests in the baseline: nothing is judged"
    names = len(watcher.detectors)
    return f"nothing got slower in the last {window} ({names} service{'s' * (names > 1)} and model watched)"


def _loop(watcher: "Watcher", keep: "Callable[[ReportRow], None]", args: argparse.Namespace) -> int:
    from otel_attrib.analytics.windows import parse_duration
    from otel_attrib.commands.stopping import raises

    seconds = parse_duration(args.interval).total_seconds()
    try:
        with raises():
            _look_again_and_again(watcher, keep, args.json, seconds)
    except KeyboardInterrupt:
        pass
    return 0


def _look_again_and_again(
    watcher: "Watcher", keep: "Callable[[ReportRow], None]", as_json: bool, seconds: float
) -> None:
    import sys
    import time

    from otel_attrib.errors import StoreError

    trouble = ""
    while True:
        started = time.monotonic()
        try:
            _look(watcher, keep, as_json)
            trouble = ""
        except StoreError as fault:
            if str(fault) != trouble:  # said once, however long it lasts
                print(f"otel-attrib watch: {fault}; asking again", file=sys.stderr, flush=True)
            trouble = str(fault)
        time.sleep(max(0.0, seconds - (time.monotonic() - started)))


def _look(watcher: "Watcher", keep: "Callable[[ReportRow], None]", as_json: bool) -> None:
    import time

    if watcher.limits is None or not watcher.detectors:
        watcher.learn(time.time())
    for judged in watcher.step(time.time()):
        if judged.news:
            _say(judged, as_json)
        keep(judged.row)


def _say(judged: "Judged", as_json: bool) -> None:
    import json

    from otel_attrib.analytics.headline import answer
    from otel_attrib.analytics.windows import rfc3339
    from otel_attrib.analytics.wording import wrapped

    row = judged.row
    if as_json:
        body = {
            "schema": "otel-attrib/watch/1",
            "time": rfc3339(row.time),
            "incident": row.incident,
            "state": row.state,
            "onset": rfc3339(row.onset),
            "service": row.service,
            "model": row.model,
            "ratio": judged.incident.alarm.ratio,
            "report": json.loads(row.report),
        }
        print(json.dumps(body, ensure_ascii=False), flush=True)
        return
    series = " ".join(word for word in (row.service, row.model) if word)
    head = f"{rfc3339(row.time)[:19]}Z {series} {row.state} (since {rfc3339(row.onset)[11:19]}Z)"
    print("\n".join([*wrapped(head, others="    "), *answer(judged.report, indent="  ")]), flush=True)
