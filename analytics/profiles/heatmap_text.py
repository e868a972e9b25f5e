"""A heatmap as lines of blocks, 80 columns wide."""

from collections.abc import Iterator, Sequence

import numpy as np

from otel_attrib.analytics.profiles.heatmap import Heatmap, Lane, answer
from otel_attrib.analytics.profiles.missing_text import missing_lines
from otel_attrib.analytics.profiles.verdict import duration
from otel_attrib.analytics.wording import wrapped

__all__ = ["CELLS", "heatmap_lines"]

CELLS = 54
_LABEL = 19
_BLOCKS = " ▁▂▃▄▅▆▇█"
_PLAIN = " .:-=+*#@"


def heatmap_lines(found: Heatmap, blocks: bool = True) -> Iterator[str]:
    """Yield the answer, one line a lane with its busy share, and the axis; `blocks` False keeps to ASCII."""
    levels = _BLOCKS if blocks else _PLAIN
    yield from wrapped(answer(found))
    for lane in found.lanes:
        if lane.kind == "device":
            yield ""
            yield f"{lane.label}  {found.titles.get(lane.device, '')}".rstrip()[:80]
        yield _line(lane, levels)
    if found.lanes:
        yield ""
        yield _axis(found)
        yield f"{'':{_LABEL}}  busy share of a cell: 0 {''.join(levels[1:])} 1; blank: nothing ran"
    yield from missing_lines([(found.path, text) for text in found.missing])


def _line(lane: Lane, levels: Sequence[str]) -> str:
    label = "all" if lane.kind == "device" else lane.label
    cells = "".join(levels[int(level)] for level in np.ceil(lane.share * (len(levels) - 1) - 1e-9))
    return f"  {label[: _LABEL - 2]:{_LABEL - 2}}  {cells} {lane.busy:4.0%}"


def _axis(found: Heatmap) -> str:
    width = found.lanes[0].share.size
    left, middle, right = "0", duration(found.span_ns / 2), duration(found.span_ns)
    gap = width // 2 - len(left) - len(middle) // 2
    half = left + " " * gap + middle
    return f"{'':{_LABEL}}  {half}{right:>{max(width - len(half), len(right) + 1)}}"
