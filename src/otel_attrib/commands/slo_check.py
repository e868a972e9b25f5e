"""`slo check FILE …`: read OpenSLO files and say what is wrong, or what they ask for."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from otel_attrib.errors import UsageError

if TYPE_CHECKING:
    from otel_attrib.analytics.objectives import Objective

__all__ = ["add_arguments", "run"]


def add_arguments(group: "argparse._ArgumentGroup") -> None:
    """Declare nothing: all options are common."""


def run(args: argparse.Namespace, words: Sequence[str]) -> int:
    """Read the files; a fault is told with its line and ends with exit code 1."""
    from pathlib import Path

    from otel_attrib.analytics.objectives import load_objectives
    from otel_attrib.analytics.objectives.slo_object import objective_object
    from otel_attrib.commands.printable import json_line
    from otel_attrib.config import load

    paths = list(words) or [path for path in (args.file, load().slo) if path][:1]
    if not paths:
        raise UsageError("name a file or folder: otel-attrib slo check FILE")
    found = [objective for path in paths for objective in load_objectives(Path(path))]
    if args.json:
        items = [objective_object(objective) for objective in found]
        print(json_line({"schema": "otel-attrib/slo-check/1", "items": items}))
    else:
        _print(found)
    return 0


def _print(found: "list[Objective]") -> None:
    from otel_attrib.analytics.objectives.slo_text import limits_text
    from otel_attrib.analytics.windows import duration_text
    from otel_attrib.analytics.wording import wrapped
    from otel_attrib.commands.printable import printable

    print(f"{len(found)} objective{'s' * (len(found) != 1)}, nothing wrong")
    for objective in found:
        where = f" where {objective.where}" if objective.where.allowed else ""
        of = "requests" if objective.slices is None else f"{duration_text(objective.slices.length)} slices"
        promise = f"{100 * objective.target:.10g} % of {of} over {duration_text(objective.window)}{where}"
        lines = wrapped(f"{objective.name}: {limits_text(objective)}, {promise}", "  ", "    ")
        print(printable("\n".join(lines)))
