"""The reference page of the counters that are kept beside a request.

python -m otel_attrib.schema.context_page > docs/reference/context.md
"""

import sys
from collections.abc import Iterator

from otel_attrib.schema.attributes import LAYERS
from otel_attrib.schema.context_counters import CONTEXT
from otel_attrib.schema.counters import Counter

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
    return "\n".join([_HEAD, *(line for layer in LAYERS for line in _section(layer))])


def _section(layer: str) -> Iterator[str]:
    counters = [counter for counter in CONTEXT if counter.layer == layer]
    if not counters:
        return
    yield f"## {layer}\n"
    yield "| key | metric | of | unit | kind | at most | meaning |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    yield from (_row(counter) for counter in counters)
    yield ""


def _row(counter: Counter) -> str:
    selected = f" {{{counter.select[0]}={counter.select[1]}}}" if counter.select else ""
    most = "" if counter.most == float("inf") else f"{counter.most:g}"
    place = "device" if counter.per_device else "host"
    cells = (
        f"`{counter.key}`",
        f"`{counter.metric}{selected}`",
        place,
        counter.unit,
        counter.kind,
        most,
        counter.meaning,
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.stdout.write(page())
