"""Serve a tiny model with a real vLLM on this CPU, do it harm, and ask why it became slow.

The first run sets up vLLM in an environment of its own (2.5 GB, some minutes). Then a
private `otel-attrib up` is started, vLLM behind `otel-attrib run`, and recorded traffic
of a coding assistant is sent four times: undisturbed, with busy processes on the engine's
cores, after they are gone, and after a restart with a small key-value cache. `why` is
asked about both faults, and the server's figures are held against the clients' clocks.

With --replay the exports of such a run are sent instead, with their times moved to now:
the same path and the same report in half a minute, without vLLM.

Exit code: 0 both faults were seen and everything adds up, 1 not so, 2 usage.
"""

import argparse
import sys
from pathlib import Path

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = "example: otel-attrib demo --replay"
    parser.add_argument(
        "--replay", action="store_true", help="from the recording: half a minute, and no vLLM is needed"
    )
    parser.add_argument("--json", action="store_true", help="print the account as JSON (otel-attrib/demo/1)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave store, logs and stamps in DIR")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write this run as a recording")
    parser.add_argument(
        "--recording", type=Path, metavar="FILE", help="what --replay shows (the shipped one)"
    )


def run(args: argparse.Namespace) -> int:
    """Run it in a temporary folder, or in the one to keep."""
    import signal
    from tempfile import TemporaryDirectory

    # A closed terminal or a `kill` must not leave servers behind: unwind, which ends them.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    if args.keep:
        _make(args.keep)
        return _run_in(args.keep.resolve(), args)
    with TemporaryDirectory(prefix="otel-attrib-demo-") as folder:
        return _run_in(Path(folder), args)


def _make(folder: Path) -> None:
    from otel_attrib.errors import UsageError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise UsageError(f"--keep {folder} cannot be made: {fault.strerror}") from fault


def _leave(number: int, _: object) -> None:
    raise SystemExit(128 + number)


def _run_in(folder: Path, args: argparse.Namespace) -> int:
    import json

    from otel_attrib.demo.show import show_live, show_recording

    # With --json the narration must not stand in the way of a reader of stdout.
    out = sys.stderr if args.json else sys.stdout

    def tell(line: str) -> None:
        print(line, file=out, flush=True)

    if args.replay:
        account = show_recording(folder, tell, args.recording)
    else:
        account = show_live(folder, tell, args.record)
    if args.json:
        print(json.dumps(account.as_dict(), ensure_ascii=False))
    else:
        print(f"\n{account.render()}", end="")
    if args.keep:
        tell(f"\nlook around: otel-attrib up --dsn chdb://{folder}/store")
    return 1 if account.complaints else 0
