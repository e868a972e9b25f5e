"""What a link between a card and its host or its peers can carry, in bytes per second and direction.

PCIe: `schema.pcie`. NVLink: the maker's rate per link and direction. Headers of packets are not taken off: a
copy of ordinary size reaches 80–90 % of a PCIe figure, so a share near 1 is a measurement error, not a fast
copy.
"""

import re
from dataclasses import dataclass
from typing import Final

from otel_attrib.errors import UsageError
from otel_attrib.schema.pcie import LANE_BYTES

__all__ = ["Link", "parse_link"]

_LANE: Final = {generation: LANE_BYTES[generation] for generation in range(1, 7)}
_NVLINK: Final = {1: 20e9, 2: 25e9, 3: 25e9, 4: 25e9, 5: 50e9}
_XGMI: Final = {3: 64e9}
_RATES: Final = {"pcie": _LANE, "nvlink": _NVLINK, "xgmi": _XGMI}
_WRITTEN: Final = re.compile(r"(pcie|nvlink|xgmi)(\d)x(\d{1,2})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Link:
    """`width` lanes of PCIe, or links of NVLink or xGMI, of one generation."""

    kind: str
    generation: int
    width: int

    @property
    def bytes_per_second(self) -> float:
        """Return what it carries in one direction."""
        return _RATES[self.kind][self.generation] * self.width

    def __str__(self) -> str:
        """Return it as `--link` takes it: `pcie4x16`."""
        return f"{self.kind}{self.generation}x{self.width}"


def parse_link(word: str) -> Link:
    """Read `pcie4x16` or `nvlink4x18`; a `UsageError` says what is possible."""
    found = _WRITTEN.fullmatch(word.strip())
    if found:
        link = Link(found[1].lower(), int(found[2]), int(found[3]))
        if link.generation in _RATES[link.kind] and link.width > 0:
            return link
    raise UsageError(
        f"--link {word!r}: write pcie<generation>x<lanes> (pcie4x16) or nvlink<generation>x<links>"
    )
