"""`profile diff A B`: what moved on the GPU between two profiles, and whether the step got shorter."""

import argparse
from collections.abc import Sequence

__all__ = ["add_arguments", "run"]


def add_arguments(group: argparse._ArgumentGroup) -> None:
    """Declare nothing beyond what all parts of `profile` have."""


def run(args: argparse.Namespace, files: Sequence[str]) -> int:
    """Read both, print the difference."""
    from otel_attrib.analytics.profiles.diff import diff
    from otel_attrib.analytics.profiles.diff_object import diff_object
    from otel_attrib.analytics.profiles.diff_text import diff_lines
    from otel_attrib.analytics.profiles.read import read_profile
    from otel_attrib.commands.printable import json_line, printable
    from otel_attrib.errors import UsageError

    if len(files) != 2:
        raise UsageError("profile diff takes two profiles: otel-attrib profile diff A B")
    found = diff(read_profile(files[0]), read_profile(files[1]))
    if args.json:
        print(json_line(diff_object(found)))
    else:
        print(printable("\n".join(diff_lines(found))))
    return 0
