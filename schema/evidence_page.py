"""The reference page of the counters that are read as evidence.

python -m otel_attrib.schema.evidence_page > docs/reference/evidence.md
"""

import sys
from collections.abc import Iterator

from otel_attrib.schema.attributes import LAYERS
from otel_attrib.schema.counters import COUNTERS, Counter

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
    return "\n".join([_HEAD, *(line for layer in LAYERS for line in _section(layer))])


def _section(layer: str) -> Iterator[str]:
    counters = [counter for counter in COUNTERS if counter.layer == layer]
    if not counters:
        return
    yield f"## {layer}\n"
    yield "| --map name | metric | of | unit | kind | bad | at most | meaning |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    yield from (_row(counter) for counter in counters)
    yield ""


def _row(counter: Counter) -> str:
    selected = f" {{{counter.select[0]}={counter.select[1]}}}" if counter.select else ""
    bad = {1: "more", -1: "less", 0: ""}[counter.bad]
    most = "" if counter.most == float("inf") else f"{counter.most:g}"
    place = "device" if counter.per_device else "host"
    cells = (
        f"`{counter.key}`",
        f"`{counter.metric}{selected}`",
        place,
        counter.unit,
        counter.kind,
        bad,
        most,
        counter.meaning,
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.stdout.write(page())
