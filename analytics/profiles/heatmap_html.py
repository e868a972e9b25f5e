"""A heatmap as one HTML page that needs nothing else: no script, no font, no network."""

from collections.abc import Iterator
from html import escape

import numpy as np

from otel_attrib.analytics.profiles.heatmap import Heatmap, Lane, answer
from otel_attrib.analytics.profiles.heatmap_colours import colour
from otel_attrib.analytics.profiles.verdict import duration

__all__ = ["CELLS", "heatmap_html"]

CELLS = 240
_LEVELS = 20
_CELL, _HIGH, _LEFT, _RIGHT = 4, 16, 150, 60
_STYLE = """\
body{font:14px/1.4 system-ui,sans-serif;margin:2em;color:#222;background:#fff}
h1{font-size:1.2em}h2{font-size:1em;margin:1.2em 0 .2em}p{max-width:60em}
svg{display:block;max-width:100%;height:auto}text{font-size:11px;fill:currentColor}
.track{fill:#8883;stroke:none}.device text{font-weight:600}
.key{max-width:none}.key span{white-space:nowrap;margin-right:1em}
.key i{display:inline-block;width:1em;height:1em;vertical-align:-.15em;margin-right:.3em}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}}
"""


def heatmap_html(found: Heatmap) -> str:
    """Return the page; a cell's text appears under the pointer."""
    title = found.path.rsplit("/", 1)[-1]
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(answer(found))}</p>",
        _key(),
        *_devices(found),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _key() -> str:
    kinds = {
        "#444444": "device as a whole",
        "#0072b2": "compute",
        "#d55e00": "collectives",
        "#009e73": "copies and moves",
        "#666666": "stream",
    }
    items = "".join(f'<span><i style="background:{code}"></i>{word}</span>' for code, word in kinds.items())
    return f'<p class="key">{items}The darker, the larger the share of a cell in which the lane ran.</p>'


def _devices(found: Heatmap) -> Iterator[str]:
    for device, name in found.titles.items():
        lanes = [lane for lane in found.lanes if lane.device == device]
        yield f"<h2>{escape(f'GPU {device}  {name}'.strip())}</h2>"
        yield "\n".join(_svg(found, lanes))


def _svg(found: Heatmap, lanes: list[Lane]) -> Iterator[str]:
    cells = lanes[0].share.size
    width, height = _LEFT + cells * _CELL + _RIGHT, len(lanes) * (_HIGH + 2) + 20
    yield f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
    for place, lane in enumerate(lanes):
        yield from _lane(found, lane, place * (_HIGH + 2))
    bottom = len(lanes) * (_HIGH + 2) + 13
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        at = _LEFT + share * cells * _CELL
        text = duration(found.span_ns * share) if share else "0"
        yield f'<text x="{at:.0f}" y="{bottom}" text-anchor="{anchor}">{escape(text)}</text>'
    yield "</svg>"


def _lane(found: Heatmap, lane: Lane, top: int) -> Iterator[str]:
    label = "all" if lane.kind == "device" else lane.label
    yield f'<g class="{lane.kind}">'
    yield f'<text x="{_LEFT - 6}" y="{top + 12}" text-anchor="end">{escape(label)}</text>'
    wide = lane.share.size * _CELL
    yield f'<rect class="track" x="{_LEFT}" y="{top}" width="{wide}" height="{_HIGH}"/>'
    levels = np.ceil(lane.share * _LEVELS - 1e-9).astype(int)
    for begin, end in _runs(levels):
        if not levels[begin]:
            continue
        busy = float(lane.share[begin:end].mean())
        when = f"{duration(float(found.edges_ns[begin]))} – {duration(float(found.edges_ns[end]))}"
        yield (
            f'<rect x="{_LEFT + begin * _CELL}" y="{top}" width="{(end - begin) * _CELL}" height="{_HIGH}" '
            f'fill="{colour(lane)}" fill-opacity="{levels[begin] / _LEVELS:.2f}">'
            f"<title>{escape(label)}: {busy:.0%}, {escape(when)}</title></rect>"
        )
    yield f'<text x="{_LEFT + wide + 6}" y="{top + 12}">{lane.busy:.0%}</text></g>'


def _runs(levels: np.ndarray) -> Iterator[tuple[int, int]]:
    """Neighbouring cells of one level are one rectangle."""
    edges = [0, *(np.flatnonzero(np.diff(levels)) + 1).tolist(), levels.size]
    yield from zip(edges[:-1], edges[1:], strict=True)
