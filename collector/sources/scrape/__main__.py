"""Print what every mapping turns into what, as the table of docs/scrape.md.

python -m otel_attrib.collector.sources.scrape
"""

import sys
from collections.abc import Iterator

from otel_attrib.collector.sources.scrape.mapping import KINDS, Mapping, Metric, mapping

__all__ = ["page"]


def page() -> str:
    """Every mapping with its metrics, one row for each counter that they become."""
    return "\n".join(line for kind in KINDS for line in _section(mapping(kind)))


def _section(rules: Mapping) -> Iterator[str]:
    yield f"\n### {rules.name} (`{rules.kind}`)\n"
    yield f"Names of version {rules.version} ({rules.licence}).\n"
    yield "| metric on the page | unit there | counter | metric written |"
    yield "| --- | --- | --- | --- |"
    rows: dict[tuple[str, str, str, str], list[str]] = {}
    for metric in (metric for each in rules.metrics.values() for metric in each):
        counter = metric.counter
        row = (_detail(metric), metric.unit, counter.key, counter.metric)
        rows.setdefault(row, []).append(metric.name)
    for (detail, unit, key, written), names in rows.items():
        plain = [name for name in names if name.removeprefix("amd_") not in {*names} - {name}]
        yield f"| {', '.join(f'`{name}`' for name in plain)}{detail} | {unit} | `{key}` | `{written}` |"


def _detail(metric: Metric) -> str:
    """What of the metric is meant: the labels that it must have, and the attributes that it gets."""
    where = "".join(
        f" with `{label}={values[0]}`" for label, values in metric.where.items() if label in metric.must
    )
    fixed = "".join(f" → `{value}`" for value in metric.fixed.values())
    return where + fixed + (" → " + ", ".join(f"`{bit}`" for bit in metric.bits) if metric.bits else "")


if __name__ == "__main__":
    sys.stdout.write(page() + "\n")
