"""Simulate a serving fleet in which something breaks, and say what is true of it.

A scenario names machines, traffic and one fault (or none); --list shows those
that come with the package, and a file of your own asks your own what-if. The
model is a step loop of continuous batching whose times and counters follow from
one state, so the cause is known: the run is repeated without the fault, and
the difference of the two is printed as the truth.

With --dsn or --url the run is sent to a store as spans and metrics, the way a
real engine's are (--fast inserts its tables instead), and the `why` that asks
about it is printed. --out writes Parquet. Without any of them nothing is
written. The current window ends now, unless --start says when the baseline
starts. With --live it begins now: the baseline is sent at once, then what
happens is sent second by second while it happens, for dashboards and alerts to
see it come.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_attrib.collector.imports.delivery import Delivery
    from otel_attrib.fleet import Simulation
    from otel_attrib.fleet.deliver import Delivered

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from otel_attrib.schema.store import add_store_arguments

    parser.epilog = (
        "example: otel-attrib simulate --list\n"
        "         otel-attrib simulate clock-throttle --set fault.severity=3\n"
        "         otel-attrib simulate pcie-width --dsn chdb:///tmp/fleet --fast\n"
        "         otel-attrib simulate preemption-storm --live --url http://127.0.0.1:8080"
    )
    parser.add_argument("scenario", nargs="?", metavar="SCENARIO", help="a name of --list, or a .toml file")
    parser.add_argument("--list", action="store_true", help="show the scenarios that come with it")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="replace a field of the scenario, such as workload.load=0.75 (repeatable)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of all chance (0)")
    parser.add_argument("--no-fault", action="store_true", help="the same requests, and nothing breaks")
    parser.add_argument("--start", metavar="TIME", help="when the baseline starts (so that all ends now)")
    parser.add_argument("--fast", action="store_true", help="insert tables, not spans (needs --dsn)")
    parser.add_argument("--live", action="store_true", help="the current window in real time (needs --url)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write the tables as Parquet into DIR")
    parser.add_argument("--json", action="store_true", help="print JSON (otel-attrib/simulate/1)")
    add_store_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Simulate, deliver, print."""
    from otel_attrib.errors import UsageError

    if args.list:
        return _list(args.json)
    if not args.scenario:
        raise UsageError("name a scenario (--list shows them) or a .toml file")
    if args.fast and not args.dsn:
        raise UsageError("--fast writes tables into a store: give its --dsn")
    if args.live and (not args.url or args.start or args.fast):
        raise UsageError(
            "--live sends to a running service from now on: give --url, neither --start nor --fast"
        )
    if args.seed < 0:
        raise UsageError(f"--seed {args.seed} is below 0")
    simulation, done = _deliver(args, _simulated(args))
    if done or not args.live:  # what ended early has no windows to ask about
        _show(args, simulation, done)
    return 0


def _list(as_json: bool) -> int:
    import json

    from otel_attrib.commands.table import print_table
    from otel_attrib.fleet import shipped

    if as_json:
        print(json.dumps({"schema": "otel-attrib/simulate/1", "scenarios": shipped()}))
    else:
        print_table(("scenario", "what happens"), list(shipped().items()), left=2)
    return 0


def _simulated(args: argparse.Namespace) -> "Simulation":
    from datetime import UTC, datetime

    from otel_attrib.fleet import load_scenario, simulate
    from otel_attrib.fleet.bounds import check_start

    start = check_start(args.start, "--start") if args.start else None
    found = simulate(load_scenario(args.scenario, tuple(args.set)), args.seed, fault=not args.no_fault)
    if start:
        return found.starting(start)
    if args.dsn or args.url or args.out is None:
        return found.starting(datetime.now(UTC).replace(microsecond=0) - found.length)
    return found


def _deliver(args: argparse.Namespace, simulation: "Simulation") -> "tuple[Simulation, list[Delivered]]":
    """Send it where it is to go; return it with its windows as they were sent, and what went where."""
    from otel_attrib.commands.progress import counted
    from otel_attrib.fleet.deliver import deliver, deliver_fast, write_parquet

    total = len(simulation.run.steps) + simulation.run.requests.n
    done = []
    if args.out:
        with counted(f"writing {args.out}", None) as advance:
            done.append(write_parquet(simulation, args.out, advance))
    if args.fast:
        from otel_attrib.schema.migrate import migrate
        from otel_attrib.schema.store import open_store

        with open_store(args.dsn) as store, counted("inserting", None) as advance:
            if store.embedded:
                migrate(store)
            done.append(deliver_fast(simulation, store, advance))
    elif args.dsn or args.url:
        from otel_attrib.collector.imports.connection import delivery

        with delivery(args.dsn, args.url) as to:
            if args.live:
                return _stream(simulation, to)
            with counted("sending", total) as advance:
                done.append(deliver(simulation, to, advance))
    return simulation, done


def _stream(simulation: "Simulation", to: "Delivery") -> "tuple[Simulation, list[Delivered]]":
    import sys

    from otel_attrib.commands.stopping import raises
    from otel_attrib.fleet.deliver import Delivered
    from otel_attrib.fleet.live import send_live

    def say(line: str) -> None:
        print(f"live: {line}", file=sys.stderr, flush=True)

    say(f"preparing {simulation.run.requests.n:,} requests")
    length = simulation.windows[1].length.total_seconds()
    try:
        with raises():
            sent = send_live(
                simulation,
                to,
                lambda began: say(f"the window begins at {began:%H:%M:%S} UTC and lasts {length:.0f} s"),
            )
    except KeyboardInterrupt:
        say("ended early")
        return simulation, []
    say(f"{sent.live_s} s sent in real time, at most {sent.latest_s:.1f} s late")
    run, (baseline, current) = simulation.run, simulation.windows
    moved = simulation.starting(sent.began - (current.start - baseline.start))
    return moved, [Delivered(to.shown, run.requests.n, len(run.steps), simulation.samples.num_rows, 0)]


def _show(args: argparse.Namespace, simulation: "Simulation", done: "list[Delivered]") -> None:
    import json

    from otel_attrib.commands.simulated import as_dict, lines, question

    ask = question(simulation, args.dsn, args.url)
    if args.json:
        print(json.dumps(as_dict(simulation, done, ask), ensure_ascii=False))
    else:
        print("\n".join(lines(simulation, done, ask)))
