"""NVLink of all cards: state, bytes and errors of each link, how many are up, the rate of all together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from otel_attrib.collector.agent.source import Series, series
from otel_attrib.collector.sources.nvml_block import Block, CallBlock, Gone
from otel_attrib.collector.sources.nvml_card import Card
from otel_attrib.collector.sources.nvml_columns import Columns, Named
from otel_attrib.collector.sources.nvml_counters import field_block
from otel_attrib.collector.sources.nvml_library import Library
from otel_attrib.collector.sources.nvml_nvlink import Link
from otel_attrib.collector.sources.nvml_outputs import Notices, Outputs
from otel_attrib.collector.sources.nvml_traffic import Traffic

__all__ = ["NvLinks"]

Flags = NDArray[np.bool_]

_ACTIVE, _ASLEEP = 1.0, 2.0
"""States in which a link carries traffic or would at once; 0 is down, 3 up with traffic switched off."""


class NvLinks:
    """One batch of field values for all links; states by call on cards that know no such field."""

    def __init__(self, library: Library, cards: Sequence[Card], notices: Notices) -> None:
        """Choose each link's counters from those that the card answers."""
        self._library, self._notices = library, notices
        self._fields = field_block(library)
        self._outputs, self._traffic = Outputs(), Traffic()
        self._calls = CallBlock(sum(1 for card in cards if card.links.links))
        self._by_field, self._by_call = _States(), _States()
        self._cards = [card for card in cards if card.links.links]
        for card in self._cards:
            self._add(card)
        for part in (self._fields, self._calls, self._outputs, self._traffic, self._by_field, self._by_call):
            if part is not None:
                part.seal()

    def _add(self, card: Card) -> None:
        asked = [place for link in card.links.links for place in _places(link)]
        at: dict[tuple[int, int], int] = {}
        if self._fields is not None and asked:
            start = self._fields.add(card.index, card.handle, asked).start
            at = {place: start + number for number, place in enumerate(asked)}
        for link in card.links.links:
            self._add_link(card, link, at)
        self._add_traffic(card, at)

    def _add_link(self, card: Card, link: Link, at: dict[tuple[int, int], int]) -> None:
        name = str(link.number)
        for key, place in link.fields.items():
            if key == "nvlink_state":
                self._by_field.add(card.device, link.number, at[place])
            else:
                self._outputs.add(series(key, card.device, slatag__link=name), at[place])
        function = self._library.function("nvmlDeviceGetNvLinkState") if link.by_call else None
        if function is not None:
            reference, place_of = self._calls.room(2)
            column = self._calls.column(place_of, wide=False)
            self._calls.add(card.index, function, (card.handle, link.number, reference), [column])
            self._by_call.add(card.device, link.number, column)

    def _add_traffic(self, card: Card, at: dict[tuple[int, int], int]) -> None:
        for inward in (True, False):
            found = [
                (link.number, place)
                for link in card.links.links
                if (place := link.bytes_in if inward else link.bytes_out) is not None
            ]
            if not found:
                continue
            key = "nvlink_bytes_in" if inward else "nvlink_bytes_out"
            totals = [series(key, card.device, slatag__link=str(number)) for number, _ in found]
            rate = _rate(card.device, inward) if card.nvlink_by_field else None
            columns = [at[place] for _, (place, _) in found]
            self._traffic.add(columns, totals, rate, found[0][1][1], card.links.most)

    @property
    def gone(self) -> list[Gone]:
        """Cards that said that they are gone."""
        return self._calls.gone + ([] if self._fields is None else self._fields.gone)

    def read(self, now: float) -> list[Columns]:
        """Return states and counters up to `now`; a link that went down is told."""
        if not self._cards:
            return []
        told: list[Columns] = []
        if self._fields is not None and self._fields.columns:
            self._fields.read()
            told = [self._outputs.columns(self._fields), *self._traffic.columns(now, self._fields)]
            told += self._by_field.columns(self._fields, self._notices)
        if self._by_call.any:
            self._calls.read()
            told += self._by_call.columns(self._calls, self._notices)
        return told

    @property
    def recovered(self) -> frozenset[str]:
        """Cards of which a link came up: what it counts is to be found out anew."""
        return frozenset(self._by_field.recovered | self._by_call.recovered)

    def close(self) -> None:
        """Nothing is held open."""


class _States:
    """Which links are up, of all cards whose states are columns of one block."""

    def __init__(self) -> None:
        self._links: list[tuple[str, int, int]] = []
        self._up: Flags | None = None
        self.recovered: set[str] = set()

    def add(self, device: str, link: int, column: int) -> None:
        """One link's state; those of a card stand together."""
        self._links.append((device, link, column))

    @property
    def any(self) -> bool:
        """Whether there are links here."""
        return bool(self._links)

    def seal(self) -> None:
        """Fix the links; nothing may be added after."""
        devices = [device for device, _, _ in self._links]
        named = [series("nvlink_state", device, slatag__link=str(link)) for device, link, _ in self._links]
        self._each = Named(named)
        self._cards = Named([series("nvlink_links", device) for device in dict.fromkeys(devices)])
        self._starts = [n for n, device in enumerate(devices) if n == 0 or devices[n - 1] != device]
        self._at = np.array([column for _, _, column in self._links], dtype=np.intp)

    def columns(self, block: Block, notices: Notices) -> list[Columns]:
        """Return every link's state and how many of each card are up."""
        if not self._links:
            return []
        values = block.values[self._at]
        up = (values == _ACTIVE) | (values == _ASLEEP)
        good = None if block.whole else block.good[self._at]
        self._tell(up, good, notices)
        states = up.astype(np.float64)
        some = None if good is None else np.logical_or.reduceat(good, self._starts)
        counts = np.add.reduceat(states if good is None else states * good, self._starts)
        return [self._each.columns(states, good), self._cards.columns(counts, some)]

    def _tell(self, up: Flags, good: Flags | None, notices: Notices) -> None:
        before, self._up = self._up, up
        if before is None or np.array_equal(before, up):
            return
        for n in np.flatnonzero((before != up) & (True if good is None else good)).tolist():
            device, link, _ = self._links[n]
            line = f"GPU {device}: NVLink {link} went down: what goes to other cards has one link less"
            if up[n]:
                self.recovered.add(device)
                notices.over(line, f"GPU {device}: NVLink {link} is up again")
            else:
                notices.say(line)


def _rate(device: str, inward: bool) -> Series:
    """The rate of all links of a card, in the direction seen from the card."""
    key = "nvlink_receive" if inward else "nvlink_transmit"
    return series(key, device, hw__gpu__interconnect__type="nvlink")


def _places(link: Link) -> list[tuple[int, int]]:
    found = list(link.fields.values())
    return found + [
        place for place, _ in (part for part in (link.bytes_in, link.bytes_out) if part is not None)
    ]
