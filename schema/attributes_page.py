"""The reference page of the attribute registry.

python -m otel_attrib.schema.attributes_page > docs/reference/attributes.md
"""

import sys
from collections.abc import Iterable, Iterator

from otel_attrib.schema.attributes import ATTRIBUTES, Attribute

__all__ = ["page"]

_SECTIONS = {
    "resource": ("Resource", "Of the process that served the request."),
    "span": ("Request spans", "One span a request; on its child spans and events where said."),
    "step": ("Step spans", "Up to 256 engine steps a span, packed as comma-separated integers."),
    "metric": ("Metrics", "On the data points of device and host counters."),
}

_HEAD = """\
# Attributes

<!-- Generated from schema/attributes.py by `make docs`; do not edit. -->

Every name that `otel-attrib` writes or reads.
Durations of ours are microseconds as doubles.
An absent attribute means *not observed*, 0 means *took no time*.
"""


def page() -> str:
    """The page as Markdown."""
    return "\n".join([_HEAD, *(line for where in _SECTIONS for line in _section(where))])


def _section(where: str) -> Iterator[str]:
    title, lead = _SECTIONS[where]
    yield f"## {title}\n\n{lead}\n"
    yield from _table(entry for entry in ATTRIBUTES if entry.where == where)
    yield ""


def _table(entries: Iterable[Attribute]) -> Iterator[str]:
    yield "| name | type | unit | meaning | source |"
    yield "| --- | --- | --- | --- | --- |"
    for entry in entries:
        yield f"| `{entry.name}` | {entry.type} | {entry.unit} | {entry.meaning} | {entry.source} |"


if __name__ == "__main__":
    sys.stdout.write(page())
