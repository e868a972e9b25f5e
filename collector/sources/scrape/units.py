"""Units in which exporters count, and what turns them into those of the registry (UCUM's names)."""

from types import MappingProxyType
from typing import Final

from otel_attrib.errors import OtelAttribError

__all__ = ["SCALES", "factor"]

SCALES: Final = MappingProxyType(
    {
        "%": ("1", 0.01),
        "Hz": ("MHz", 1e-6),
        "mW": ("W", 1e-3),
        "uJ": ("J", 1e-6),
        "mJ": ("J", 1e-3),
        "ns": ("s", 1e-9),
        "us": ("s", 1e-6),
        "ms": ("s", 1e-3),
        "kBy": ("By", 1e3),
        "KiBy": ("By", 2.0**10),
        "MBy": ("By", 1e6),
        "MiBy": ("By", 2.0**20),
        "GiBy": ("By", 2.0**30),
        "kBy/s": ("By/s", 1e3),
        "MBy/s": ("By/s", 1e6),
        "MiBy/s": ("By/s", 2.0**20),
    }
)
"""Unit of an exporter → unit of the registry and how much of it one is."""


def factor(unit: str, wanted: str) -> float:
    """Return how many `wanted` one `unit` is; an error where one is not made of the other."""
    if unit == wanted:
        return 1.0
    base, scale = SCALES.get(unit, ("", 0.0))
    if base != wanted:
        raise OtelAttribError(f"{unit} cannot be turned into {wanted}")
    return scale
