"""`slo preset [NAME …]`: objectives that others published, as an OpenSLO file to begin with."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from otel_attrib.errors import UsageError

if TYPE_CHECKING:
    from otel_attrib.analytics.objectives import Limit

__all__ = ["add_arguments", "run"]


def add_arguments(group: "argparse._ArgumentGroup") -> None:
    """Declare nothing: all options are common."""


def run(args: argparse.Namespace, words: Sequence[str]) -> int:
    """List the presets, or print the named ones; `--where` says whose requests they are about."""
    from otel_attrib.analytics.filters import parse_filter
    from otel_attrib.analytics.objectives.presets import PRESETS
    from otel_attrib.analytics.objectives.writing import openslo_yaml
    from otel_attrib.commands.printable import printable

    if not words:
        _list(args.json)
        return 0
    unknown = next((word for word in words if word not in PRESETS), None)
    if unknown is not None:
        raise UsageError(f"no preset {unknown!r}; choose from {', '.join(PRESETS)}")
    where = parse_filter(args.where)
    objectives = [PRESETS[word].objective(word.replace(".", "-"), where) for word in words]
    print(printable(openslo_yaml(objectives)), end="")
    return 0


def _list(as_json: bool) -> None:
    from otel_attrib.analytics.objectives.presets import PRESETS
    from otel_attrib.analytics.objectives.slo_object import objective_object
    from otel_attrib.commands.printable import json_line
    from otel_attrib.commands.table import print_table

    if as_json:
        items = [
            {**objective_object(preset.objective(name)), "source": preset.source}
            for name, preset in PRESETS.items()
        ]
        print(json_line({"schema": "otel-attrib/slo-presets/1", "items": items}))
        return
    rows = [
        (
            name,
            "joint" if preset.joint else "marginal",
            preset.source.split(" ")[0].rstrip(","),
            *(_limit(preset.limits, metric) for metric in ("ttft", "tpot", "e2e")),
        )
        for name, preset in PRESETS.items()
    ]
    print_table(
        ("preset", "limits", "source", "TTFT ms", "TPOT ms", "E2E ms"),
        rows,
        left=3,
        caption="99 of 100 requests over 30 days; `otel-attrib slo preset NAME` prints a file",
    )


def _limit(limits: "Sequence[Limit]", metric: str) -> str:
    found = {limit.metric: limit.ms for limit in limits}
    return f"{found[metric]:g}" if metric in found else "-"
