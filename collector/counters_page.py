"""The reference page of the counters.

python -m otel_attrib.collector.counters_page > docs/reference/counters.md
"""

import sys
from collections.abc import Iterator

from otel_attrib.collector.counters import Counters

__all__ = ["page"]

_HEAD = """\
# Counters

<!-- Generated from collector/counters.py by `make docs`; do not edit. -->

Of `otel-attrib up`: in Prometheus' format at `/metrics` of the HTTP port, and those that are not 0 in
`/api/v1/status`, without the prefix.
Items are spans, data points or log records.
When nothing is under way, per signal: received = accepted + duplicate + refused requests, and
accepted items = written + quarantined + spooled ones, counted from the same start
(add replayed items to the left for those that an earlier process accepted).

| name | kind | labels | meaning |
| --- | --- | --- | --- |
"""


def page() -> str:
    """The page as Markdown, one row a counter."""
    return _HEAD + "".join(_rows(Counters()))


def _rows(counters: Counters) -> Iterator[str]:
    for metric in counters.registry.collect():
        suffix = "_total" if metric.type == "counter" else ""
        labels = ", ".join(f"`{label}`" for label in counters.labels(metric.name))
        yield f"| `{metric.name}{suffix}` | {metric.type} | {labels} | {metric.documentation} |\n"


if __name__ == "__main__":
    sys.stdout.write(page())
