"""`profile roofline FILE`: what bounds kernels, copies and collectives."""

import argparse
from collections.abc import Sequence

__all__ = ["add_arguments", "run"]


def add_arguments(group: argparse._ArgumentGroup) -> None:
    """Declare what stands in for what the file lacks."""
    group.add_argument(
        "--card", metavar="NAME", help="the accelerator, such as h100_sxm, if the file does not say"
    )
    group.add_argument(
        "--link", metavar="LINK", help="the card's link to its host, such as pcie4x16 or pcie5x8"
    )


def run(args: argparse.Namespace, files: Sequence[str]) -> int:
    """Print it."""
    from otel_attrib.analytics.profiles.cards import card_named
    from otel_attrib.analytics.profiles.limits import limits
    from otel_attrib.analytics.profiles.limits_object import limits_object
    from otel_attrib.analytics.profiles.links import parse_link
    from otel_attrib.analytics.profiles.read import read_profile
    from otel_attrib.analytics.profiles.roofline_text import limit_lines
    from otel_attrib.commands.printable import json_line, printable
    from otel_attrib.errors import UsageError

    if len(files) != 1:
        raise UsageError("profile roofline takes one profile: otel-attrib profile roofline FILE")
    card = card_named(args.card) if args.card else None
    link = parse_link(args.link) if args.link else None
    profile = read_profile(files[0])
    found = limits(profile, card, link)
    if args.json:
        print(json_line(limits_object(found, profile.missing)))
    else:
        missing = [(profile.path, text) for text in profile.missing]
        print(printable("\n".join(limit_lines(found, missing))))
    return 0
