"""A number with its unit as a person reads it: 79.6 GB, 1,980 MHz, 12.5 %, within 13 columns."""

from math import floor, log10

__all__ = ["quantity"]

_STEPS = ("", "k", "M", "G", "T", "P", "E")
_BYTES = {"By": "B", "By/s": "B/s"}
_NAMES = {"Cel": "°C", "1": ""}


def quantity(value: float, unit: str, per: str = "") -> str:
    """`value` in a unit of the registry; `per` stands behind it, such as `/s`."""
    if unit in _BYTES:
        return _scaled(value, _BYTES[unit] + per)
    name = _NAMES.get(unit, "" if unit.startswith("{") else unit)
    shown = _plain(value)
    return f"{shown} {name}{per}" if name or per else shown


def _scaled(value: float, unit: str) -> str:
    step = 0 if abs(value) < 1 else min(floor(log10(abs(value)) / 3 + 1e-12), len(_STEPS) - 1)
    return f"{_plain(value / 1000**step)} {_STEPS[step]}{unit}"


def _plain(value: float) -> str:
    """Four digits, or all of a whole number up to a billion; never a power of ten below that."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.3e}"
    digits = max(0, min(6, 3 - floor(log10(abs(value)))))
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
