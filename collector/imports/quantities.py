"""Units of counters, converted by declaration: what a table says a column is in → the registry's unit."""

from typing import Final

from otel_attrib.errors import UsageError

__all__ = ["UNITS_OF", "factor"]

_DECIMAL: Final = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BINARY: Final = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_BYTES: Final = {f"{prefix}B": size for prefix, size in {**_DECIMAL, "K": 1e3, **_BINARY}.items()}
_BITS: Final = {f"{prefix}bit": size / 8 for prefix, size in _DECIMAL.items()}

UNITS_OF: Final[dict[str, dict[str, float]]] = {
    "s": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0},
    "MHz": {"MHz": 1.0, "Hz": 1e-6, "kHz": 1e-3, "GHz": 1e3},
    "Hz": {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9},
    "W": {"W": 1.0, "mW": 1e-3, "kW": 1e3},
    "1": {"1": 1.0, "%": 1e-2},
    "Cel": {"Cel": 1.0, "C": 1.0},
    "By": {"By": 1.0, **_BYTES, **_BITS},
    "By/s": {"By/s": 1.0, **{f"{name}/s": size for name, size in {**_BYTES, **_BITS}.items()}},
}
"""Unit of the registry → the units it may be given in and what each is multiplied by."""


def factor(key: str, unit: str, given: str) -> float:
    """Return what a value of counter `key` in unit `given` is multiplied by to be in `unit`."""
    known = UNITS_OF.get(unit, {unit: 1.0, unit.strip("{}"): 1.0, "1": 1.0})
    if given not in known:
        raise UsageError(f"--unit {key}:{given}: {key} is in {unit}; write one of {', '.join(known)}")
    return known[given]
