"""The reference page of the commands, made from their own `--help`.

python -m otel_attrib.commands.page > docs/reference/commands.md
"""

import argparse
import os
import sys
from collections.abc import Iterator

from otel_attrib.cli import COMMANDS, parser

__all__ = ["page"]

_HEAD = """\
# Commands

<!-- Generated from each command's --help by `make docs`; do not edit. -->

Every command that reads a store takes `--dsn` or `--url`; with neither, the service on its
default port is asked, else the default store is opened.
Exit codes: 0 done or no regression, 3 regression attributed, 4 regression or data without
enough evidence to attribute, 1 error, 2 usage.
"""


def page() -> str:
    """The page as Markdown, wrapped at 80 columns whatever the terminal."""
    os.environ["COLUMNS"] = "80"
    os.environ["NO_COLOR"] = "1"
    return "\n".join([_HEAD, *(line for name in COMMANDS for line in _section(name))])


def _section(name: str) -> Iterator[str]:
    found = _parser_of(name)
    yield f"## otel-attrib {name}\n"
    yield f"```text\n{found.format_help().rstrip()}\n```\n"
    for kind, nested in _parsers_below(found).items():
        yield f"### otel-attrib {name} {kind}\n"
        yield f"```text\n{nested.format_help().rstrip()}\n```\n"


def _parser_of(name: str) -> argparse.ArgumentParser:
    return _parsers_below(parser(only=name))[name]


def _parsers_below(top: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in top._actions:  # argparse offers no other way to a sub-command's parser
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


if __name__ == "__main__":
    sys.stdout.write(page())
