"""NVLink of one card, link by link: state, bytes, CRC errors, replays and recoveries.

Three generations of counters hold the same facts: fields that take the link as scope (Hopper: 138 and 139 in
KiB, 161 to 163), those of NVLink 5 (202 and 204 in bytes, 208, 215), and before Hopper one field number for
each link, for at most twelve links.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from otel_attrib.collector.sources.nvml_library import Library

__all__ = ["MOST_LINKS", "Link", "Links", "links_of", "wanted_fields"]

MOST_LINKS: Final = 36
STATE: Final = 165
SPEED: Final = 164
_KIB: Final = 1024.0

_BYTES_IN: Final = ((204, 1.0), (139, _KIB))
_BYTES_OUT: Final = ((202, 1.0), (138, _KIB))
"""Field and bytes a count, in the order of preference."""

_ERRORS: Final[Mapping[str, tuple[int, ...]]] = MappingProxyType(
    {"nvlink_crc": (163, 208), "nvlink_replays": (161, 295), "nvlink_recoveries": (162, 215)}
)
_ERRORS_BEFORE_HOPPER: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {"nvlink_crc": (32, 96), "nvlink_replays": (46, 108), "nvlink_recoveries": (53, 114)}
)
"""Key → field of link 0, field of link 6; each set of six is consecutive."""

_LINK_BYTES: Final[Mapping[int, float]] = MappingProxyType(
    {1: 20e9, 2: 25e9, 3: 25e9, 4: 25e9, 5: 25e9, 6: 26.5625e9, 7: 53.125e9}
)
"""`NVML_NVLINK_VERSION_*` → bytes per second of one link in one direction, where the card tells no speed."""


@dataclass(frozen=True)
class Link:
    """One link: (field, scope) of what the card counts; absent keys it does not count."""

    number: int
    fields: Mapping[str, tuple[int, int]]
    bytes_in: tuple[tuple[int, int], float] | None
    bytes_out: tuple[tuple[int, int], float] | None
    by_call: bool
    """The state is told by `nvmlDeviceGetNvLinkState`, not by a field."""


@dataclass(frozen=True)
class Links:
    """The links of one card and what all of them can carry in one direction (bytes/s)."""

    links: tuple[Link, ...]
    most: float


def wanted_fields() -> list[tuple[int, int]]:
    """Return every (field, scope) that may say something of a link."""
    scoped = [
        STATE,
        SPEED,
        *(n for n, _ in (*_BYTES_IN, *_BYTES_OUT)),
        *(n for e in _ERRORS.values() for n in e),
    ]
    found = [(number, link) for number in scoped for link in range(MOST_LINKS)]
    return found + [(_before_hopper(key, link), 0) for key in _ERRORS_BEFORE_HOPPER for link in range(12)]


def links_of(library: Library, handle: object, answered: Mapping[tuple[int, int], float]) -> Links:
    """Return the links that exist, given (field, scope) → value of what the card answers."""
    found = tuple(
        link for number in range(MOST_LINKS) if (link := _link(library, handle, number, answered)) is not None
    )
    return Links(found, sum(_capacity(library, handle, link.number, answered) for link in found))


def _link(
    library: Library, handle: object, number: int, answered: Mapping[tuple[int, int], float]
) -> Link | None:
    by_field = (STATE, number) in answered
    if not by_field and (number >= 18 or library.ask("nvmlDeviceGetNvLinkState", handle, number) is None):
        return None
    fields = {} if not by_field else {"nvlink_state": (STATE, number)}
    for key, candidates in _ERRORS.items():
        choices = [(field, number) for field in candidates]
        if number < 12:
            choices.append((_before_hopper(key, number), 0))
        chosen = next((choice for choice in choices if choice in answered), None)
        if chosen is not None:
            fields[key] = chosen
    return Link(
        number,
        fields,
        _bytes(_BYTES_IN, number, answered),
        _bytes(_BYTES_OUT, number, answered),
        not by_field,
    )


def _bytes(
    candidates: Sequence[tuple[int, float]], number: int, answered: Mapping[tuple[int, int], float]
) -> tuple[tuple[int, int], float] | None:
    return next((((field, number), unit) for field, unit in candidates if (field, number) in answered), None)


def _before_hopper(key: str, link: int) -> int:
    low, high = _ERRORS_BEFORE_HOPPER[key]
    return low + link if link < 6 else high + link - 6


def _capacity(
    library: Library, handle: object, number: int, answered: Mapping[tuple[int, int], float]
) -> float:
    """The card's own figure (MB/s), else the version's."""
    speed = answered.get((SPEED, number), 0.0)
    if speed > 0:
        return speed * 1e6
    version = library.ask("nvmlDeviceGetNvLinkVersion", handle, number)
    return _LINK_BYTES.get(version or 0, float("inf"))
