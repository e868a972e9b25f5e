"""Counters as tables of Markdown, a section a layer: what both reference pages of counters are made of."""

from collections.abc import Iterator, Sequence

from otel_attrib.schema.attributes import LAYERS
from otel_attrib.schema.counters import Counter

__all__ = ["sections"]

_BAD = {1: "more", -1: "less", 0: ""}


def sections(counters: Sequence[Counter], key: str, *, bad: bool) -> Iterator[str]:
    """Give the lines of a table for each layer that has counters; `bad` adds the column of that name."""
    for layer in LAYERS:
        mine = [counter for counter in counters if counter.layer == layer]
        if mine:
            yield f"## {layer}\n"
            yield _line(_chosen((key, "metric", "of", "unit", "kind", "bad", "at most", "meaning"), bad))
            yield _line(_chosen(("---",) * 8, bad))
            yield from (_line(_chosen(_cells(counter), bad)) for counter in mine)
            yield ""


def _cells(counter: Counter) -> tuple[str, ...]:
    selected = f" {{{counter.select[0]}={counter.select[1]}}}" if counter.select else ""
    return (
        f"`{counter.key}`",
        f"`{counter.metric}{selected}`",
        "device" if counter.per_device else "host",
        counter.unit,
        counter.kind,
        _BAD[counter.bad],
        "" if counter.most == float("inf") else f"{counter.most:g}",
        counter.meaning,
    )


def _chosen(cells: Sequence[str], bad: bool) -> Sequence[str]:
    return cells if bad else (*cells[:5], *cells[6:])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
