"""The reference page of the counters that are read as evidence.

python -m otel_attrib.schema.evidence_page > docs/reference/evidence.md
"""

import sys

from otel_attrib.schema.counters import COUNTERS
from otel_attrib.schema.counters_table import sections

__all__ = ["page"]

_HEAD = """\
# Counters read as evidence

<!-- Generated from schema/counters.py by `make docs`; do not edit. -->

What `otel-attrib why` looks for in the table `samples`, by layer; the names are those that
`otel-attrib import samples --map` takes.
A *gauge* is a level at its time; a *total* only grows, and what counts is its increase.
A value above "at most" is no measurement and is refused.
`bad` says which direction speaks for trouble in the layer; none means context, such as an engine's own bytes.
A counter that is absent is a missing sensor, never a zero.
"""


def page() -> str:
    """The page as Markdown."""
    return "\n".join([_HEAD, *sections(COUNTERS, "--map name", bad=True)])


if __name__ == "__main__":
    sys.stdout.write(page())
