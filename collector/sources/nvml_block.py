"""Numbers of all cards from few calls: arguments made once, one buffer for all answers, one decoding.

At ten reads a second of eight cards there is no time for a Python object per value. A block therefore knows
its calls, runs them, and holds (n,) `values` and (n,) `good`; a card that is lost keeps its columns, which
are no longer good, so the others keep theirs.
"""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from otel_attrib.collector.sources.nvml_library import GONE

__all__ = ["Block", "CallBlock", "FieldBlock", "Gone"]

Floats = NDArray[np.float64]

_FIELD: Final = np.dtype(
    [
        ("field", "<u4"),
        ("scope", "<u4"),
        ("timestamp", "<i8"),
        ("latency", "<i8"),
        ("type", "<u4"),
        ("code", "<u4"),
        ("value", "<u8"),
    ]
)
"""`nvmlFieldValue_t`, 40 bytes."""

_MASK: Final = np.array(
    [0, 2**32 - 1, 2**64 - 1, 2**64 - 1, 2**64 - 1, 2**32 - 1, 2**16 - 1], dtype=np.uint64
)
"""By value type: double, unsigned int, unsigned long, unsigned and signed long long, int, unsigned short."""

_DOUBLE, _SIGNED, _SIGNED_INT = 0, 4, 5
_WORDS_PER_CARD = 64


@dataclass(frozen=True)
class Gone:
    """A card that answered with a code of `GONE`."""

    card: int
    code: int


@dataclass
class Block:
    """What a read returned: (n,) numbers, which of them are answers, and the cards that are gone."""

    values: Floats = field(default_factory=lambda: np.zeros(0))
    good: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    whole: bool = True
    """All of `good`."""
    gone: list[Gone] = field(default_factory=list)


def _memory(array: NDArray[Any]) -> Any:
    """The same bytes for ctypes, which keep the array alive."""
    return (ctypes.c_char * array.nbytes).from_buffer(array.data)


class FieldBlock(Block):
    """Field values, one `nvmlDeviceGetFieldValues` a card; columns in the order in which they were added."""

    def __init__(self, function: Callable[..., int], most: int) -> None:
        """Take the bindings' pointer to `nvmlDeviceGetFieldValues`, and how many fields one call may have."""
        super().__init__()
        self._function = function
        self._most = most
        self._asked: list[tuple[int, Any, Sequence[tuple[int, int]]]] = []
        self._calls: list[tuple[int, tuple[Any, ...], slice]] = []
        self._raw = np.zeros(0, dtype=_FIELD)
        self.columns = 0
        self.wide = np.zeros(0, dtype=np.bool_)
        """(n,) True where the counter has 64 bits."""
        self.plans = 0
        """How often value types were seen to change."""
        self.refused = False
        """A whole call failed at the last read, rather than single fields of it."""

    def add(self, card: int, handle: Any, fields: Sequence[tuple[int, int]]) -> slice:
        """Ask `card` for (field, scope) pairs; return their columns."""
        self._asked.append((card, handle, fields))
        start, self.columns = self.columns, self.columns + len(fields)
        return slice(start, self.columns)

    def seal(self) -> None:
        """Make the buffer and the arguments; nothing may be added after."""
        self._raw = np.zeros(self.columns, dtype=_FIELD)
        memory = _memory(self._raw) if self.columns else None
        start = 0
        for card, handle, fields in self._asked:
            for first in range(0, len(fields), self._most):
                part = fields[first : first + self._most]
                place = slice(start, start + len(part))
                self._raw["field"][place] = [number for number, _ in part]
                self._raw["scope"][place] = [scope for _, scope in part]
                at = ctypes.byref(memory, start * _FIELD.itemsize)  # type: ignore[arg-type] # a buffer: columns > 0
                self._calls.append((card, (handle, ctypes.c_int(len(part)), at), place))
                start = place.stop
        self._sound = np.ones(self.columns, dtype=np.bool_)
        self.good = self._sound
        self.values = np.zeros(self.columns)
        self._types, self._codes, self._bits = self._raw["type"], self._raw["code"], self._raw["value"]
        self._plan(self._types.copy())

    def _plan(self, types: NDArray[np.uint32]) -> None:
        """How the values are decoded; value types change when a driver is loaded, hardly ever else."""
        self._planned = types
        self.plans += 1
        self._mask = _MASK.take(types, mode="clip")
        self.wide = np.asarray(self._mask == _MASK[2])
        self._odd = bool(np.isin(types, (_DOUBLE, _SIGNED, _SIGNED_INT)).any())

    def read(self) -> None:
        """Ask every card; a card that is gone is left out from then on."""
        function = self._function
        failed = [(call, code) for call in self._calls if (code := function(*call[1]))]
        self.refused = bool(failed)
        for (card, _, place), code in failed:
            self._codes[place] = code
            if code in GONE:
                self._forget(card, code)
        if (self._types != self._planned).any():
            self._plan(self._types.copy())
        self.values = (self._bits & self._mask).astype(np.float64)
        if self._odd:
            _patch(self.values, self._bits, self._types)
        self.whole = not self._codes.any()
        self.good = self._sound
        if not self.whole:
            self.good = self._codes == 0
            self._lose()

    def _lose(self) -> None:
        """A field may say that the card is gone though the call itself succeeded."""
        for call in list(self._calls):
            codes = set(self._codes[call[2]].tolist()) & GONE
            if codes:
                self._forget(call[0], min(codes))

    def _forget(self, card: int, code: int) -> None:
        self.gone.append(Gone(card, code))
        for call in self._calls:
            if call[0] == card:
                self._codes[call[2]] = code
        self._calls = [call for call in self._calls if call[0] != card]

    @property
    def types(self) -> NDArray[np.uint32]:
        """(n,) value types of the last read."""
        return np.asarray(self._types)


def _patch(values: Floats, bits: NDArray[np.uint64], types: NDArray[np.uint32]) -> None:
    """Put in what is no unsigned whole number."""
    for kind, view in ((_DOUBLE, np.float64), (_SIGNED, np.int64), (_SIGNED_INT, np.int32)):
        chosen = types == kind
        if chosen.any():
            numbers = np.ascontiguousarray(bits[chosen]).view(view)
            values[chosen] = numbers[:: numbers.size // int(chosen.sum())]


class CallBlock(Block):
    """Functions that write a number or a small structure each; columns in the order of their making."""

    def __init__(self, cards: int) -> None:
        """Make room for the answers of `cards` cards."""
        super().__init__()
        self._words = np.zeros(max(1, cards) * _WORDS_PER_CARD, dtype=np.uint32)
        self._memory = _memory(self._words)
        self._used = 1  # word 0 stays zero: the high half of what has 32 bits
        self._calls: list[tuple[Callable[..., int], tuple[Any, ...]]] = []
        self._owners: list[tuple[int, list[int]]] = []
        self._low: list[int] = []
        self._high: list[int] = []

    def room(self, words: int, head: Sequence[int] = ()) -> tuple[Any, int]:
        """Return a reference to `words` 32-bit words, the first of them set to `head`, and their place."""
        self._used += self._used % 2  # 64-bit members lie on 8 bytes
        place, self._used = self._used, self._used + words
        if self._used > self._words.size:
            raise ValueError("a card has more numbers than there is room for")
        self._words[place : place + len(head)] = head
        return ctypes.byref(self._memory, place * 4), place

    def column(self, place: int, wide: bool) -> int:
        """Make the number at `place` a column; `wide` has 64 bits."""
        self._low.append(place)
        self._high.append(place + 1 if wide else 0)
        return len(self._low) - 1

    def add(
        self, card: int, function: Callable[..., int], arguments: tuple[Any, ...], columns: list[int]
    ) -> None:
        """Call `function` at every read for these columns."""
        self._calls.append((function, arguments))
        self._owners.append((card, columns))

    def seal(self) -> None:
        """Fix the columns; nothing may be added after."""
        self._at_low = np.array(self._low, dtype=np.intp)
        self._at_high = np.array(self._high, dtype=np.intp)
        self._alive = np.ones(len(self._low), dtype=np.bool_)
        self.good = self._alive.copy()

    def read(self) -> None:
        """Call everything; what fails is not good this time, a card that is gone is left out from then on."""
        codes = [function(*arguments) for function, arguments in self._calls]
        words = self._words
        self.values = words[self._at_low] + words[self._at_high] * 4294967296.0
        if any(codes):
            self._fail(codes)
        elif not self.whole:
            self.good[:] = self._alive
            self.whole = bool(self._alive.all())

    def _fail(self, codes: list[int]) -> None:
        lost = {owner[0]: code for code, owner in zip(codes, self._owners, strict=True) if code in GONE}
        self.gone += [Gone(card, code) for card, code in lost.items()]
        self.whole = False
        failed = [columns for code, (_, columns) in zip(codes, self._owners, strict=True) if code]
        for card, columns in self._owners:
            self._alive[columns] &= card not in lost
        self.good[:] = self._alive
        for columns in failed:
            self.good[columns] = False
        kept = [pair for pair in zip(self._calls, self._owners, strict=True) if pair[1][0] not in lost]
        self._calls = [call for call, _ in kept]
        self._owners = [owner for _, owner in kept]
