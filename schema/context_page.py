"""The reference page of the counters that are kept beside a request.

python -m otel_attrib.schema.context_page > docs/reference/context.md
"""

import sys

from otel_attrib.schema.context_counters import CONTEXT
from otel_attrib.schema.counters_table import sections

__all__ = ["page"]

_HEAD = """\
# Counters kept beside a request

<!-- Generated from schema/context_counters.py by `make docs`; do not edit. -->

What `otel-attrib agent` writes into the table `samples` besides the [counters that are weighed](evidence.md).
No rule of `why` reads these; they are shown with a request and can be queried.
A *gauge* is a level at its time; a *total* only grows.
A value above "at most" is no measurement and is refused.
"""


def page() -> str:
    """The page as Markdown."""
    return "\n".join([_HEAD, *sections(CONTEXT, "key", bad=False)])


if __name__ == "__main__":
    sys.stdout.write(page())
