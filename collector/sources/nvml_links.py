"""NVLink of all cards: state, bytes and errors of each link, how many are up, the rate of all together."""

from collections.abc import Sequence

from otel_attrib.collector.agent.source import Reading, Series, series
from otel_attrib.collector.sources.nvml_block import CallBlock, FieldBlock, Gone
from otel_attrib.collector.sources.nvml_card import Card
from otel_attrib.collector.sources.nvml_counters import field_block
from otel_attrib.collector.sources.nvml_library import Library
from otel_attrib.collector.sources.nvml_nvlink import Link
from otel_attrib.collector.sources.nvml_outputs import Notices, Outputs
from otel_attrib.collector.sources.nvml_traffic import Traffic

__all__ = ["NvLinks"]

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
        self._states: list[_States] = []
        for card in cards:
            if card.links.links:
                self._add(card)
        self._calls.seal()
        for part in (self._fields, self._outputs, self._traffic):
            if part is not None:
                part.seal()

    def _add(self, card: Card) -> None:
        states = _States(card)
        self._states.append(states)
        asked = [place for link in card.links.links for place in _places(link)]
        at: dict[tuple[int, int], int] = {}
        if self._fields is not None and asked:
            start = self._fields.add(card.index, card.handle, asked).start
            at = {place: start + number for number, place in enumerate(asked)}
        for link in card.links.links:
            self._add_link(card, link, at, states)
        self._add_traffic(card, at)

    def _add_link(self, card: Card, link: Link, at: dict[tuple[int, int], int], states: "_States") -> None:
        name = str(link.number)
        for key, place in link.fields.items():
            if key == "nvlink_state":
                states.by_field.append((link.number, at[place]))
            else:
                self._outputs.add(series(key, card.device, slatag__link=name), at[place])
        function = self._library.function("nvmlDeviceGetNvLinkState") if link.by_call else None
        if function is not None:
            reference, place_of = self._calls.room(2)
            column = self._calls.column(place_of, wide=False)
            self._calls.add(card.index, function, (card.handle, link.number, reference), [column])
            states.by_call.append((link.number, column))

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

    def read(self, now: float) -> list[Reading]:
        """Return states and counters up to `now`; a link that went down is told."""
        if not self._states:
            return []
        told: list[Reading] = []
        self._calls.read()
        if self._fields is not None and self._fields.columns:
            self._fields.read()
            told += self._outputs.readings(self._fields)
            told += self._traffic.readings(now, self._fields, self._fields.wide)
        for states in self._states:
            told += states.readings(self._fields, self._calls, self._notices)
        return told

    def close(self) -> None:
        """Nothing is held open."""


class _States:
    """The links of one card that are up."""

    def __init__(self, card: Card) -> None:
        self.by_field: list[tuple[int, int]] = []
        self.by_call: list[tuple[int, int]] = []
        self._device = card.device
        self._each = {
            link.number: series("nvlink_state", card.device, slatag__link=str(link.number))
            for link in card.links.links
        }
        self._count = series("nvlink_links", card.device)
        self._up: frozenset[int] | None = None

    def readings(self, fields: FieldBlock | None, calls: CallBlock, notices: Notices) -> list[Reading]:
        answers = [(number, calls, column) for number, column in self.by_call]
        if fields is not None:
            answers += [(number, fields, column) for number, column in self.by_field]  # type: ignore[misc] # both are blocks
        states = {
            number: block.values[column] in (_ACTIVE, _ASLEEP)
            for number, block, column in answers
            if block.good[column]
        }
        if not states:
            return []
        self._tell(frozenset(number for number, up in states.items() if up), notices)
        told: list[Reading] = [(self._each[number], float(up)) for number, up in states.items()]
        return [*told, (self._count, float(sum(states.values())))]

    def _tell(self, up: frozenset[int], notices: Notices) -> None:
        before, self._up = self._up, up
        for number in sorted((before or frozenset()) - up):
            notices.say(_down(self._device, number))
        for number in sorted(up - (before or up)):
            notices.over(_down(self._device, number), f"GPU {self._device}: NVLink {number} is up again")


def _down(device: str, number: int) -> str:
    return f"GPU {device}: NVLink {number} went down: what goes to other cards has one link less"


def _rate(device: str, inward: bool) -> Series:
    """The rate of all links of a card, in the direction seen from the card."""
    key = "nvlink_receive" if inward else "nvlink_transmit"
    return series(key, device, hw__gpu__interconnect__type="nvlink")


def _places(link: Link) -> list[tuple[int, int]]:
    found = list(link.fields.values())
    return found + [
        place for place, _ in (part for part in (link.bytes_in, link.bytes_out) if part is not None)
    ]
