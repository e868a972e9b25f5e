"""`profile heatmap FILE`: how busy devices, classes of work and streams were over time."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from otel_attrib.errors import UsageError

__all__ = ["add_arguments", "run"]


def add_arguments(group: argparse._ArgumentGroup) -> None:
    """Declare where the picture goes and what its lanes are."""
    group.add_argument("--png", metavar="FILE", help="write an image (needs the extra `plot`)")
    group.add_argument("--html", metavar="FILE", help="write one page that needs nothing else")
    group.add_argument(
        "--by", choices=("class", "stream", "both"), default="both", help="lanes below each device's (both)"
    )


def run(args: argparse.Namespace, files: Sequence[str]) -> int:
    """Write what was asked for, else draw on the terminal."""
    from otel_attrib.analytics.profiles import heatmap_html, heatmap_text
    from otel_attrib.analytics.profiles.heatmap import answer, heatmap
    from otel_attrib.analytics.profiles.heatmap_object import heatmap_object
    from otel_attrib.analytics.profiles.read import read_profile
    from otel_attrib.commands.printable import json_line, printable

    if len(files) != 1:
        raise UsageError("profile heatmap takes one profile: otel-attrib profile heatmap FILE")
    _check_places(files[0], args.png, args.html)
    profile = read_profile(files[0])
    found = heatmap(profile, heatmap_text.CELLS, args.by)
    if args.json:
        print(json_line(heatmap_object(found)))
    if args.html:
        _write(args.html, heatmap_html.heatmap_html(heatmap(profile, heatmap_html.CELLS, args.by)).encode())
    if args.png:
        from otel_attrib.analytics.profiles import heatmap_png

        _write(args.png, heatmap_png.heatmap_png(heatmap(profile, heatmap_png.CELLS, args.by)))
    if args.json:
        return 0
    if args.html or args.png:
        written = " and ".join(name for name in (args.png, args.html) if name)
        print(printable(f"{answer(found)}; written to {written}"))
    else:
        print(printable("\n".join(heatmap_text.heatmap_lines(found, blocks=_blocks()))))
    return 0


def _check_places(profile: str, png: str | None, html: str | None) -> None:
    """Refuse to write over the profile, or both pictures to one place."""
    read = os.path.realpath(profile)
    places = [os.path.realpath(place) for place in (png, html) if place]
    if read in places:
        raise UsageError(f"{profile} is the profile itself: write the picture elsewhere")
    if len(places) != len(set(places)):
        raise UsageError("--png and --html name one file")


def _write(file: str, content: bytes) -> None:

    try:
        Path(file).write_bytes(content)
    except OSError as fault:
        raise UsageError(f"cannot write {file}: {fault.strerror or fault}") from fault


def _blocks() -> bool:
    try:
        "▁█".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
