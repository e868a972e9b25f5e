"""Attributes of requests, as the slice finders among the peers get them."""

from typing import Any

import numpy as np

from benchmarks.attribution.peers.stage_layers import ATTRIBUTE_LAYER
from otel_attrib.analytics.columns import Dimension, Rows

__all__ = ["layer_of", "useful_dimensions"]


def useful_dimensions(rows: Rows) -> dict[str, Dimension]:
    """Return the dimensions with two or more values and no more than one in ten rows distinct."""
    named = {name: dim for name, dim in rows.dims.items() if name in ATTRIBUTE_LAYER}
    return {
        name: dim for name, dim in named.items() if 2 <= np.unique(dim.codes).size <= max(2, rows.n // 10)
    }


def layer_of(where: dict[str, Any]) -> str | None:
    """Return the layer that the first attribute of a slice stands for."""
    return next((ATTRIBUTE_LAYER[name] for name in sorted(where) if name in ATTRIBUTE_LAYER), None)
