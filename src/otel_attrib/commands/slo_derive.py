"""`slo derive`: limits to promise, from each endpoint's P95 by the hour of day."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from otel_attrib.errors import UsageError

if TYPE_CHECKING:
    from otel_attrib.analytics.filters import Filter
    from otel_attrib.analytics.objectives.endpoint import Derived

__all__ = ["add_arguments", "run"]


def add_arguments(group: "argparse._ArgumentGroup") -> None:
    """Declare `--last` and `--yaml`; `--metric` is common."""
    group.add_argument("--last", default="14d", metavar="T", help="how many days to learn from (14d)")
    group.add_argument("--yaml", action="store_true", help="print the proposals as an OpenSLO file")


def run(args: argparse.Namespace, words: Sequence[str]) -> int:
    """Read the last days and propose; objectives of the file are held against them."""
    from otel_attrib.analytics.filters import parse_filter
    from otel_attrib.analytics.metric import metric_named
    from otel_attrib.analytics.objectives.derive import derive, derived_span
    from otel_attrib.analytics.objectives.derived_object import derived_object
    from otel_attrib.commands.printable import json_line
    from otel_attrib.commands.slo_file import objectives_if_any
    from otel_attrib.schema.store import connect

    if words:
        raise UsageError(f"derive takes no {words[0]!r}; choose requests with --where")
    where, objectives = parse_filter(args.where), objectives_if_any(args.file)
    with connect(args.dsn, args.url) as store:
        span = derived_span(store, args.last, where, args.at)
        derived = derive(store, metric_named(args.metric), span, where, objectives)
    if args.json:
        print(json_line(derived_object(derived)))
    elif args.yaml:
        _yaml(derived, where)
    else:
        _print(derived)
    return 0


def _yaml(derived: "Derived", where: "Filter") -> None:
    from otel_attrib.analytics.objectives.derived_object import derived_objectives
    from otel_attrib.analytics.objectives.writing import openslo_yaml
    from otel_attrib.commands.printable import printable
    from otel_attrib.errors import NotFound

    objectives = derived_objectives(derived, where)
    if not objectives:
        raise NotFound("no hour holds the 100 requests that a proposal needs; take a longer --last")
    print(printable(openslo_yaml(objectives)), end="")


def _print(derived: "Derived") -> None:
    from otel_attrib.analytics.objectives.derived_text import (
        HEADS,
        derived_headline,
        derived_notes,
        derived_rows,
        strips,
    )
    from otel_attrib.analytics.wording import wrapped
    from otel_attrib.commands.printable import printable
    from otel_attrib.commands.table import print_table

    print(printable("\n".join(wrapped(derived_headline(derived)))))
    if not derived.endpoints:
        return
    print()
    print_table(HEADS, derived_rows(derived))
    print(printable("\n".join(("", *strips(derived), "", *derived_notes(derived)))))
