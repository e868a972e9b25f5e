"""One colour a kind of work, the same in the PNG and the HTML page; readable with deuteranopia."""

from typing import Final

from otel_attrib.analytics.profiles.heatmap import Lane

__all__ = ["colour", "rgb"]

_COMPUTE: Final = "#0072b2"
_COLOURS: Final = {
    "device": "#444444",
    "stream": "#666666",
    "collective": "#d55e00",
    "copy engine": "#009e73",
    "copy": "#009e73",
    "memset": "#009e73",
    "kv cache": "#009e73",
}


def colour(lane: Lane) -> str:
    """Return a lane's colour as `#rrggbb`: grey a whole, orange collectives, green moves, blue compute."""
    return _COLOURS.get(lane.kind) or _COLOURS.get(lane.label, _COMPUTE)


def rgb(lane: Lane) -> tuple[float, float, float]:
    """Return it as three numbers from 0 to 1."""
    text = colour(lane)
    red, green, blue = (int(text[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue
