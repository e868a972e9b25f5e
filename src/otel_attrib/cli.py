"""`otel-attrib`: parse the command line and hand over to one module of `commands` each.

A command is a module with `HELP` (one line), `add_arguments(parser)` and
`run(args) -> int`; its name stands once, in `COMMANDS`. Modules are imported
only for the command that runs, so `otel-attrib run` starts with the base install.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from otel_attrib import __version__
from otel_attrib.errors import OtelAttribError

__all__ = ["COMMANDS", "main", "parser"]

COMMANDS = {
    "up": "receive, store and answer, in one process",
    "run": "start an LLM server with instrumentation on",
    "why": "say what made the tail slower, and how sure that is",
    "top": "watch the slowest stages live",
    "quantiles": "sliding P99 of TTFT, TPOT, TBT or E2E",
    "trace": "one request as a waterfall",
    "import": "read requests or OTLP from a file",
    "migrate": "create or update the store's tables",
    "sql": "run one read-only statement",
    "dashboards": "print a Grafana dashboard",
    "doctor": "check this installation and say how to mend it",
    "demo": "a real vLLM, a real fault, the answer",
}


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
    args = parser(only=named).parse_args(words)
    try:
        code: int = args.run(args)
    except OtelAttribError as fault:
        print(f"otel-attrib {args.command}: {fault}", file=sys.stderr)
        return fault.exit_code
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        return 130
    return code
