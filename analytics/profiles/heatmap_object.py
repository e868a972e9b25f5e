"""A heatmap as the JSON object `otel-attrib/profile-heatmap/1`."""

from typing import Any

from otel_attrib.analytics.profiles.heatmap import Heatmap

__all__ = ["SCHEMA", "heatmap_object"]

SCHEMA = "otel-attrib/profile-heatmap/1"


def heatmap_object(found: Heatmap) -> dict[str, Any]:
    """Return the whole object: the cells' edges in µs, and of each lane its busy share whole and by cell."""
    return {
        "schema": SCHEMA,
        "file": found.path,
        "edges_us": [round(float(edge) / 1e3, 3) for edge in found.edges_ns],
        "lanes": [
            {
                "device": lane.device,
                "kind": lane.kind,
                "label": lane.label,
                "busy": lane.busy,
                "share": [round(float(share), 4) for share in lane.share],
            }
            for lane in found.lanes
        ],
        "missing": list(found.missing),
    }
