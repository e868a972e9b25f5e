"""Say what a GPU profile's time went to: computing, communication, copies, or nothing.

  profile FILE [FILE …]   one profile, or the ranks of one run
  profile diff A B        what moved between two profiles, and whether the step did
  profile roofline FILE   what bounds kernels, copies and collectives
  profile heatmap FILE    the device's work over time

Reads traces of the PyTorch profiler (JSON, gzipped or not; also vLLM's and ROCm's)
and Nsight Systems exports (nsys export --type sqlite), told apart by content; no
store is needed. Times are unions of intervals: parallel work is counted once, so
the parts of the busy time and the idle time add up to the span. Idle time is split
into waiting for the host (the launch came after the device had run dry), short gaps
between queued kernels (below 30 µs), and queued work that did not start.
"""

import argparse
import os
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from otel_attrib.errors import UsageError

if TYPE_CHECKING:
    from otel_attrib.analytics.profiles.breakdown import Breakdown

__all__ = ["add_arguments", "run"]

# Each module declares its own options with `add_arguments(group)` (`--json` and the words are common)
# and has `run(args, files) -> int`; `args` holds all options, `files` the words behind its name.
PARTS = {"diff": "profile_diff", "roofline": "profile_roofline", "heatmap": "profile_heatmap"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command and of its parts."""
    parser.usage = (
        "otel-attrib profile [options] FILE [FILE ...]\n"
        "       otel-attrib profile [options] diff A B | roofline FILE | heatmap FILE"
    )
    parser.epilog = (
        "example: otel-attrib profile trace.json.gz\n"
        "         otel-attrib profile rank0.json.gz rank1.json.gz --json\n"
        "         otel-attrib profile diff before.sqlite after.sqlite\n"
        "         otel-attrib profile roofline trace.json.gz --card h100_sxm\n"
        "         otel-attrib profile heatmap trace.json.gz"
    )
    parser.add_argument("words", nargs="+", metavar="FILE", help="profiles, behind the name of a part if any")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    for name, module in _parts().items():
        module.add_arguments(parser.add_argument_group(f"options of {name}"))


def run(args: argparse.Namespace) -> int:
    """Print the breakdown, or hand over to the part that the first word names."""
    first, *others = args.words
    if first in _parts():
        code: int = _parts()[first].run(args, others)
        return code
    return _show(args.words, args.json)


def _parts() -> dict[str, Any]:
    found = {name: f"otel_attrib.commands.{module}" for name, module in PARTS.items()}
    return {name: import_module(module) for name, module in found.items() if find_spec(module)}


def _show(files: list[str], as_json: bool) -> int:
    from otel_attrib.analytics.profiles.profile_object import profile_object
    from otel_attrib.analytics.profiles.profile_text import lines
    from otel_attrib.commands.printable import json_line, printable

    devices, missing = _read(files)
    if as_json:
        print(json_line(profile_object(devices, missing)))
    else:
        print(printable("\n".join(lines(devices, missing))))
    return 0


def _read(files: list[str]) -> "tuple[list[Breakdown], list[tuple[str, str]]]":
    """Break the files down one by one, so that one is in memory at a time; what each lacks beside it."""
    from otel_attrib.analytics.profiles.breakdown import breakdowns
    from otel_attrib.analytics.profiles.read import read_profile

    _check_different(files)
    devices: list[Breakdown] = []
    missing: list[tuple[str, str]] = []
    for file in files:
        profile = read_profile(file)
        devices.extend(breakdowns(profile))
        missing.extend((file, text) for text in profile.missing)
        del profile
    return sorted(devices, key=lambda one: (one.rank, one.device)), missing


def _check_different(files: list[str]) -> None:
    """Refuse one file given twice: its devices would count as those of two ranks."""
    seen: set[str] = set()
    for file in files:
        place = os.path.realpath(file)
        if place in seen:
            raise UsageError(f"{file} is given twice: each file is one rank")
        seen.add(place)
