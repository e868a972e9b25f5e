"""A heatmap as a PNG image, drawn by matplotlib without a display (the extra `plot`)."""

from io import BytesIO

import numpy as np

from otel_attrib.analytics.profiles.heatmap import Heatmap, answer
from otel_attrib.analytics.profiles.heatmap_colours import rgb

__all__ = ["CELLS", "heatmap_png"]

CELLS = 600
_INCHES = 12.0
_LANE = 0.24


def heatmap_png(found: Heatmap) -> bytes:
    """Return the image's bytes; ModuleNotFoundError where matplotlib is not installed."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_INCHES, 1.4 + _LANE * max(len(found.lanes), 1)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    span, lanes = found.span_ns / 1e6 or 1.0, max(len(found.lanes), 1)
    axes.imshow(
        _image(found),
        aspect="auto",
        interpolation="nearest",
        extent=(0.0, span, lanes - 0.5, -0.5),
    )
    axes.set_yticks(range(len(found.lanes)), [lane.label for lane in found.lanes], fontsize=8)
    for tick, lane in zip(axes.get_yticklabels(), found.lanes, strict=True):
        tick.set_fontweight("bold" if lane.kind == "device" else "normal")
    busy = axes.secondary_yaxis("right")
    busy.set_yticks(range(len(found.lanes)), [f"{lane.busy:.0%}" for lane in found.lanes], fontsize=8)
    axes.set_xlabel("ms from the first start")
    axes.set_title(f"{found.path.rsplit('/', 1)[-1]}\n{answer(found)}", fontsize=9, loc="left")
    file = BytesIO()
    figure.savefig(file, format="png", dpi=120, metadata={"Software": None})
    return file.getvalue()


def _image(found: Heatmap) -> np.ndarray:
    """(lanes, cells, 3): from nearly white to the lane's colour by its share."""
    if not found.lanes:
        return np.ones((1, 1, 3))
    shares = np.array([lane.share for lane in found.lanes])[:, :, None]
    full = np.array([rgb(lane) for lane in found.lanes])[:, None, :]
    return np.asarray(0.96 * (1 - shares) + full * shares)
