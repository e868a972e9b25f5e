"""Check this installation and say how to mend what is wrong.

Store and service, ports, rights and room on disk, the spool, clocks, versions,
optional parts, and OTEL_* variables that would keep spans from arriving.
Nothing is changed. Exit code: 0 unless something FAILs, then 1.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_attrib.doctor.check import Finding

__all__ = ["add_arguments", "run"]

_LEVELS = ("FAIL", "WARN", "OK")
_STYLES = {"FAIL": "bold red", "WARN": "yellow", "OK": "green"}
_NAME = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from otel_attrib.schema.store import add_store_arguments

    parser.epilog = (
        "example: otel-attrib doctor\n         otel-attrib doctor --dsn clickhouse://host:8123/otel --json"
    )
    parser.add_argument("--json", action="store_true", help="print every finding as JSON")
    add_store_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Run every check, print the findings."""
    import json
    from dataclasses import asdict

    from otel_attrib.doctor.check import Surroundings, run_all

    findings = run_all(Surroundings(dsn=args.dsn, url=args.url))
    counts = {level: sum(found.level == level for found in findings) for level in _LEVELS}
    if args.json:
        print(
            json.dumps(
                {"counts": counts, "findings": [asdict(found) for found in findings]}, ensure_ascii=False
            )
        )
    else:
        _print(counts, findings)
    return 1 if counts["FAIL"] else 0


def _print(counts: dict[str, int], findings: Sequence["Finding"]) -> None:
    answer = ", ".join(f"{count} {level}" for level, count in counts.items() if count)
    if not sys.stdout.isatty():
        print("\n".join([answer, "", *(line for found in findings for line in lines(found))]))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    console.print(answer, style="bold")
    for found in findings:
        head, *rest = lines(found)
        console.print(Text(found.level, style=_STYLES[found.level]) + head[len(found.level) :])
        for line in rest:
            console.print(Text(line, style="dim"))


def lines(found: "Finding") -> list[str]:
    """A finding within 80 columns: level, name, text, and the fix below."""
    from textwrap import wrap

    indent = " " * (_NAME + 7)
    text = wrap(found.text, 80 - len(indent)) or [""]
    fix = wrap(f"fix: {found.fix}", 80 - len(indent), subsequent_indent="     ") if found.fix else []
    head = f"{found.level:<6}{found.name:<{_NAME}} {text[0]}"
    return [head, *(indent + line for line in (*text[1:], *fix))]
