"""Copies of one device by direction, against what carried them can carry.

A copy between host and device takes the host's link, one between devices the link of peers, one within a
device its memory, where each byte is read and written. The rate is bytes over the union of the copies'
times: what the link saw while anything was copied.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from otel_attrib.analytics.profiles.cards import Card
from otel_attrib.analytics.profiles.copies import Copies, copies_by_direction
from otel_attrib.analytics.profiles.links import Link
from otel_attrib.analytics.profiles.timeline import UNKNOWN, Direction, Kind, Profile

__all__ = ["LinkUse", "link_uses"]

_HOST: Final = (Direction.H2D.word, Direction.D2H.word)
_WELL: Final = 0.5
_SMALL: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class LinkUse:
    """One direction; `over` names what carried it, `capacity` (bytes/s) is None where that is not known.

    `pageable` is how many of the bytes came from or went to host memory that is not pinned, None where the
    file does not tell.
    """

    copies: Copies
    over: str
    capacity: float | None
    median_bytes: int | None
    pageable: int | None

    @property
    def share(self) -> float | None:
        """Return the rate as a share of what can be carried."""
        rate = self.copies.gb_per_s
        return None if rate is None or not self.capacity else rate * 1e9 / self.capacity

    @property
    def reason(self) -> str:
        """Return why so little was used, as far as the file tells; empty when it was well used."""
        if self.share is None or self.share >= _WELL or self.copies.bytes is None:
            return ""
        if self.median_bytes is not None and self.median_bytes < _SMALL:
            return f"small copies, half of them of {self.median_bytes:,} B or less"
        if self.pageable and self.pageable * 2 > self.copies.bytes:
            return "host memory that is not pinned: the driver copies it twice"
        return ""


def link_uses(
    profile: Profile, device: int, card: Card | None = None, link: Link | None = None
) -> list[LinkUse]:
    """Return the directions in which a device copied; `link` goes before the card's own link to the host."""
    rows = profile.on(device)
    rows = rows.take(rows.kind == Kind.COPY)
    return [_use(profile, device, copies, card, link) for copies in copies_by_direction(rows)]


def _use(profile: Profile, device: int, copies: Copies, card: Card | None, link: Link | None) -> LinkUse:
    rows = profile.on(device)
    rows = rows.take((rows.kind == Kind.COPY) & (rows.direction == Direction[copies.direction.upper()]))
    sized = rows.bytes[rows.bytes != UNKNOWN]
    over, capacity = _carrier(copies.direction, card, link)
    told = {int(code): profile.names[code].casefold() for code in np.unique(rows.name)}
    tells = any("pageable" in name or "pinned" in name for name in told.values())
    pageable = [code for code, name in told.items() if "pageable" in name]
    return LinkUse(
        copies=copies,
        over=over,
        capacity=capacity,
        median_bytes=int(np.median(sized)) if sized.size else None,
        pageable=int(sized[np.isin(rows.name[rows.bytes != UNKNOWN], pageable)].sum()) if tells else None,
    )


def _carrier(direction: str, card: Card | None, link: Link | None) -> tuple[str, float | None]:
    """Within a device each byte is read and written: half its memory's bandwidth is the most it can show."""
    if direction in _HOST:
        host = link or (card.host_link if card else None)
        return (str(host), host.bytes_per_second) if host else ("", None)
    if card and direction == Direction.P2P.word:
        return str(card.peer_link), card.peer_link.bytes_per_second
    if card and direction == Direction.D2D.word:
        return "memory", card.memory_bandwidth / 2
    return "", None
