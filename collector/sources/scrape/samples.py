"""The samples of a Prometheus page that are wanted; all other lines cost no more than a look at their name.

prometheus_client's parser makes objects of every sample, for a page of vLLM 17 ms on one core, which once a
second is more than the whole agent may take. Here the name of each line is looked up, and only lines with a
wanted name are taken apart (benchmarks/scrape.py). Both text formats are read: Prometheus 0.0.4, whose
timestamps are milliseconds, and OpenMetrics 1.0, whose timestamps are seconds and which may have exemplars.
"""

import re
from collections.abc import Container, Iterator
from typing import NamedTuple

__all__ = ["Sample", "labels", "samples"]

_LINE = re.compile(
    r'(?P<head>[a-zA-Z_:][a-zA-Z0-9_:]*(?:\s*\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?)'
    r"[ \t]+(?P<value>\S+)(?:[ \t]+(?P<stamp>-?[0-9.]+(?:[eE][+-]?[0-9]+)?))?[ \t\r]*(?:\#.*)?"
)
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_.]*)\s*=\s*"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "\\": "\\", '"': '"'}


class Sample(NamedTuple):
    """One line: `head` is the name with its labels as they stand, `stamp` ms since 1970 or None."""

    name: str
    head: str
    value: float
    stamp: float | None


def samples(
    page: str, wanted: Container[str], stamp_ms: float = 1.0, known: Container[str] = ()
) -> Iterator[Sample]:
    """Yield the samples with a wanted name; what is no sample, or has no number, is left out.

    `known` are heads of samples that were read before: a line of one and a number needs no closer look.
    """
    for line in page.split("\n"):
        name = line.partition("{")[0]
        if " " in name:
            name = name.partition(" ")[0]
        if name not in wanted:
            continue
        head, _, last = line.rpartition(" ")
        found = None if head in known else _LINE.fullmatch(line)
        try:
            if head in known:
                yield Sample(name, head, float(last), None)
            if found is None:
                continue
            stamp = found["stamp"]
            yield Sample(
                name, found["head"], float(found["value"]), stamp and float(stamp) * stamp_ms or None
            )
        except ValueError:
            continue


def labels(head: str) -> dict[str, str]:
    """Return the labels of a sample's head, their escapes undone."""
    return {name: _unescaped(value) for name, value in _LABEL.findall(head.partition("{")[2])}


def _unescaped(value: str) -> str:
    if "\\" not in value:
        return value
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[0]), value)
