"""What an XID says: the number with which the NVIDIA driver reports a fault of a card, in a few words.

In our own words, after NVIDIA's "XID Errors" guide. `matters` is False where the application's own mistake is
the usual cause and the card is fine.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

__all__ = ["XIDS", "Xid", "explain"]


@dataclass(frozen=True, slots=True)
class Xid:
    """One number: what happened, and whether the card or its links are in question."""

    meaning: str
    matters: bool


XIDS: Final[Mapping[int, Xid]] = MappingProxyType(
    {
        8: Xid("a kernel ran into the watchdog's time limit", False),
        13: Xid("an exception in a kernel, mostly an illegal address or instruction of the program", False),
        31: Xid("a memory page fault, mostly an illegal address of the program", False),
        32: Xid("an invalid or corrupt push buffer on the way to the card", True),
        38: Xid("the driver's firmware reports an error", True),
        43: Xid("the card stopped a program's work; other programs go on", False),
        45: Xid("a program's work was torn down, mostly after an earlier XID", False),
        48: Xid("a double-bit ECC error: data were lost, the memory page is retired or remapped", True),
        61: Xid("the card's internal micro-controller stopped", True),
        62: Xid("the card's internal micro-controller halted: reset the card", True),
        63: Xid("a memory page is retired or a row remapped: it takes effect at the next reset", True),
        64: Xid("retiring a page or remapping a row failed: replace the card if it recurs", True),
        68: Xid("the video decoder raised an exception", False),
        69: Xid("the graphics engine raised an exception, mostly the program's", False),
        74: Xid("an NVLink error: the link to another card or switch is in question", True),
        79: Xid("the card has fallen off the bus: power, seating, heat or the PCIe slot", True),
        92: Xid("many single-bit ECC errors", True),
        94: Xid("an uncorrectable ECC error was contained: one program was ended, the card goes on", True),
        95: Xid("an uncorrectable ECC error was not contained: reset the card", True),
        109: Xid("switching between programs on the card timed out", True),
        110: Xid("a security fault: reset the card", True),
        119: Xid("the card's firmware (GSP) did not answer in time: reset the card", True),
        120: Xid("the card's firmware (GSP) raised an error", True),
        121: Xid("a corrected error on the chip-to-chip link", True),
        122: Xid("writing the card's configuration store failed", True),
        123: Xid("the card's power-management controller did not answer", True),
        137: Xid("an NVLink peer access failed: the program's address, or the fabric", True),
        140: Xid("an uncorrected ECC error without containment support", True),
        143: Xid("the card did not initialise", True),
        144: Xid("an NVLink 5 error of the physical or link layer", True),
        145: Xid("an NVLink 5 error on the receiving side", True),
        149: Xid("an NVLink 5 error in the management of links", True),
        154: Xid("the driver says what the card needs: a reset, a drain or a restart", True),
        155: Xid("an NVLink lost its connection in software", True),
    }
)
"""By number; of others nothing is claimed."""


def explain(number: int) -> str:
    """Return `XID 79: the card has fallen off the bus …`, and that it may well be the program's own fault."""
    known = XIDS.get(number)
    if known is None:
        return f"XID {number}: see NVIDIA's guide to XID errors"
    return f"XID {number}: {known.meaning}" + (
        "" if known.matters else " (the card itself is seldom at fault)"
    )
