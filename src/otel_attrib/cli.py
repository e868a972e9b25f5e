"""`otel-attrib`: parse the command line and hand over to one module of `commands` each.

A command is a module with `HELP` (one line), `add_arguments(parser)` and
`run(args) -> int`; its name stands once, in `COMMANDS`. Modules are imported
only for the command that runs, so `otel-attrib run` starts with the base install.
"""

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from otel_attrib import __version__
from otel_attrib.errors import MissingExtra, OtelAttribError, UsageError

__all__ = ["COMMANDS", "main", "parser"]

COMMANDS = {
    "up": "receive, store and answer, in one process",
    "serve": "the API and web page alone, on a ClickHouse store",
    "run": "start an LLM server with instrumentation on",
    "agent": "read this machine's GPU, link and host counters",
    "why": "say what made the tail slower, and how sure that is",
    "diff": "the same for two versions, windows or selections",
    "watch": "say so and why when the tail gets slower",
    "alerts": "what fires and why, rules, silences, a test",
    "slo": "which objective is in trouble, and its budget",
    "top": "watch the slowest stages live",
    "quantiles": "sliding P99 of TTFT, TPOT, TBT or E2E",
    "heatmap": "latency over time as counts, with the P99 line",
    "requests": "the slowest or the newest requests",
    "trace": "one request as a waterfall",
    "evidence": "what cards, links and hosts did in a window",
    "reports": "what watches and alerts found",
    "mark": "keep a deploy or another change, or list them",
    "profile": "what a GPU profile's time went to",
    "sql": "run one read-only statement",
    "import": "read requests or OTLP from a file",
    "migrate": "create or update the store's tables",
    "tokens": "make, list and remove tokens of the API",
    "dashboards": "dashboards for Grafana: apply, compare, write files",
    "doctor": "check this installation and say how to mend it",
    "simulate": "a model fleet, a fault, and the truth about it",
    "demo": "a real vLLM, a real fault, the answer",
}


# Packages by the extra that brings them.
_EXTRAS = {
    **dict.fromkeys(("chdb", "clickhouse_connect", "llvmlite", "numba", "numpy"), "store"),
    **dict.fromkeys(("polars", "pyarrow", "rich"), "store"),
    **dict.fromkeys(("fastapi", "google", "grpc", "httptools", "prometheus_client", "uvicorn"), "server"),
    **dict.fromkeys(("starlette", "uvloop"), "server"),
    **dict.fromkeys(("grafana_client", "grafana_foundation_sdk"), "grafana"),
    "yaml": "server",
    "pynvml": "gpu",
    "matplotlib": "plot",
}
_UNWRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """Build the whole parser, or with `only` the one command's arguments under it."""
    top = argparse.ArgumentParser(
        prog="otel-attrib",
        description="Why was the first token late, and which layer did it?",
        epilog="example: otel-attrib why --window 15m",
    )
    top.add_argument("--version", action="version", version=f"otel-attrib {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(
            name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if only in (None, name):
            module = import_module(f"otel_attrib.commands.{name}_")
            command.description = module.__doc__
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code, with a one-line message for every known fault."""
    words = list(sys.argv[1:] if argv is None else argv)
    named = next((word for word in words if not word.startswith("-")), "")
    try:
        _check_text(named, words)
        if (named == "watch" and "--once" not in words) or (named == "slo" and "--every" in words):
            from otel_attrib.commands.stopping import ends_at_once

            with ends_at_once():
                return _run(named, words)
        return _run(named, words)
    except OtelAttribError as fault:
        return _failed(named, fault)
    except ModuleNotFoundError as missing:
        extra = _EXTRAS.get((missing.name or "").partition(".")[0])
        if extra is None:
            raise
        return _failed(named, MissingExtra("this command", extra))
    except BrokenPipeError:
        _mute()
        return 0
    except OSError as fault:
        if fault.filename is not None or fault.errno not in _UNWRITTEN:
            raise
        _mute()
        return _failed(named, OtelAttribError(f"cannot write the output: {fault.strerror}"))
    except KeyboardInterrupt:
        return 130


def _run(named: str, words: Sequence[str]) -> int:
    try:
        args = _parsed(parser(only=named), words)
        code: int = args.run(args)
        return code
    finally:
        sys.stdout.flush()  # what cannot be written is a fault of this command, not of the interpreter's end


def _parsed(top: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """Parse; words behind an option (`profile diff --json A B`), which argparse leaves, belong to `words`."""
    args, late = top.parse_known_args(words)
    if late and (not hasattr(args, "words") or any(word.startswith("-") for word in late)):
        top.error(f"unrecognized arguments: {' '.join(late)}")
    if late:
        args.words = [*args.words, *late]
    return args


def _check_text(named: str, words: Sequence[str]) -> None:
    """Refuse bytes that are no text before any part has to; the words that `run` hands on are not ours."""
    for word in words if named != "run" else ():
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UsageError(f"{os.fsencode(word)!r} is not in UTF-8"[1:]) from None


def _failed(named: str, fault: OtelAttribError) -> int:
    print(f"otel-attrib {named}: {fault}", file=sys.stderr)
    return fault.exit_code


def _mute() -> None:
    """Let what is still waiting for a closed or full stdout go nowhere, so that ending says nothing."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # a stand-in for stdout has no descriptor
        pass
