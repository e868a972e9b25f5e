"""Plain calls of all cards: each answer lands in one buffer, and a call that a card lacks is tried once."""

from collections.abc import Sequence
from typing import Any, Final

from otel_attrib.collector.agent.source import series
from otel_attrib.collector.sources.nvml_block import CallBlock, Gone
from otel_attrib.collector.sources.nvml_card import Card
from otel_attrib.collector.sources.nvml_columns import Columns
from otel_attrib.collector.sources.nvml_library import Library
from otel_attrib.collector.sources.nvml_outputs import Outputs

__all__ = ["Calls"]

_MEMORY_V2: Final = 0x02000028
"""Version of the structure, its size in it."""


class Calls:
    """Calls of all cards and their outputs: what every kind of call shares."""

    def __init__(self, library: Library, cards: Sequence[Card]) -> None:
        """Ask each card once for everything; keep what it answers."""
        self._library = library
        self._block = CallBlock(sum(1 + len(card.instances) for card in cards))
        self._outputs = Outputs()
        for card in cards:
            self._add_card(card)
        self._block.seal()
        self._outputs.seal()

    def _add_card(self, card: Card) -> None:
        raise NotImplementedError

    @property
    def gone(self) -> list[Gone]:
        """Cards that said that they are gone."""
        return self._block.gone

    def read(self, now: float) -> list[Columns]:
        """Return what all cards say; `now` is not needed: these are levels."""
        self._block.read()
        return [self._outputs.columns(self._block)]

    def close(self) -> None:
        """Nothing is held open."""

    def _number(
        self, card: Card, name: str, before: tuple[Any, ...] = (), wide: bool = False, handle: Any = None
    ) -> int | None:
        """Make a call that writes one number; return its column, None where the card lacks it."""
        place = self._structure(card, name, [(0, wide)], 2, before=before, handle=handle)
        return place[0] if place else None

    def _structure(
        self,
        card: Card,
        name: str,
        members: Sequence[tuple[int, bool]],
        words: int,
        head: Sequence[int] = (),
        before: tuple[Any, ...] = (),
        handle: Any = None,
    ) -> list[int] | None:
        """Make a call that fills `words` words; return the columns of `members` (place, 64 bits)."""
        function = self._library.function(name)
        if function is None:
            return None
        reference, place = self._block.room(words, head)
        arguments = (card.handle if handle is None else handle, *before, reference)
        if function(*arguments) != 0:  # a card that is gone is noticed by what it answered before
            return None
        columns = [self._block.column(place + at, wide) for at, wide in members]
        self._block.add(card.index, function, arguments, columns)
        return columns

    def _out(self, card: Card, key: str, column: int | None, factor: float = 1.0) -> None:
        if column is not None:
            self._outputs.add(series(key, card.device), column, factor)

    def _memory(
        self, card: Card, handle: Any, device: str, wanted: Sequence[tuple[str, int]], **more: str
    ) -> None:
        """Memory without what the driver reserves (second version), where the driver tells them apart."""
        members = {"total": 2, "used": 8}
        found = self._structure(
            card,
            "nvmlDeviceGetMemoryInfo_v2",
            [(members[name], True) for name in members],
            10,
            (_MEMORY_V2,),
            handle=handle,
        ) or self._structure(card, "nvmlDeviceGetMemoryInfo", [(0, True), (4, True)], 6, handle=handle)
        for key, column in wanted:
            if found is not None:
                self._outputs.add(series(key, device, **more), found[column])
