"""Read a large JSON trace event by event: one object in memory at a time, and the keys around the list.

A trace is either an object whose `traceEvents` is the list, or the list alone. Text is taken in
pieces of a megabyte. Numbers with a decimal point come out as text, so that no nanosecond of a time
is lost in a float. A file that ends in the middle gives all whole events before its end and says so
in `cut`; one that is broken elsewhere is refused with the place.
"""

import codecs
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any, Protocol

from otel_attrib.errors import DataError

__all__ = ["JsonEvents", "Source"]

PIECE = 1 << 20
LONGEST = 1 << 26  # characters of one value
NEAR = 16  # a fault this close to the end of what was read may only be the end
BETWEEN = re.compile(r"[\s,:\ufeff]*")
DECODER = json.JSONDecoder(parse_float=str, strict=False)


class Source(Protocol):
    """Where the bytes come from."""

    def read1(self, size: int, /) -> bytes:
        """Return up to `size` bytes, none at the end."""
        ...


class _Cut(Exception):
    """The text ends inside a value."""


class JsonEvents:
    """One trace; iterate it once, then `header` holds every other key of the object."""

    def __init__(self, source: Source, path: str) -> None:
        """Take the open file; `path` is for messages."""
        self.header: dict[str, Any] = {}
        self.cut = ""  # why the file ends early, or ""
        self.bare = False  # the list alone, without an object that names it
        self._source, self._path = source, path
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._text, self._at, self._before = "", 0, 0
        self._begun = self._ended = False

    def __iter__(self) -> Iterator[Any]:
        """Yield each event as it stands in the file."""
        try:
            opened = self._next()
            self._at += 1
            if opened == "[":
                self.bare = True
                yield from self._list()
            elif opened == "{":
                yield from self._object()
            else:
                raise DataError(f"{self._path} is not JSON: it begins with {opened!r}")
        except _Cut:
            self.cut = self.cut or "the file ends inside its JSON"
            if not self._begun:
                raise DataError(f"{self._path} ends before its first event: {self.cut}") from None

    def _object(self) -> Iterator[Any]:
        while self._next() != "}":
            key = self._value()
            if key == "traceEvents" and self._next() == "[":
                self._at += 1
                yield from self._list()
            else:
                self._next()
                self.header[str(key)] = self._value()
        if not self._begun:
            raise DataError(f"{self._path} has no traceEvents: it is no trace of the PyTorch profiler")

    def _list(self) -> Iterator[Any]:
        self._begun = True
        while self._next() != "]":
            yield self._value()
        self._at += 1

    def _next(self) -> str:
        """Skip to the next character that matters and return it."""
        while True:
            found = BETWEEN.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            self._fill()

    def _value(self) -> Any:
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as fault:
                self._judge(fault)
            except (ValueError, RecursionError) as fault:  # a number of thousands of digits, or of brackets
                raise DataError(f"{self._path} is no trace: {fault}") from None
            else:
                if end < len(self._text) or self._ended or isinstance(value, dict | list | str):
                    self._at = end
                    return value
            self._fill()

    def _judge(self, fault: json.JSONDecodeError) -> None:
        """Refuse text that more of it cannot mend."""
        open_end = fault.msg.startswith("Unterminated") or fault.pos >= len(self._text) - NEAR
        if not open_end or len(self._text) - self._at > LONGEST:
            where = self._before + fault.pos
            raise DataError(f"{self._path} is damaged at character {where}: {fault.msg}") from None

    def _fill(self) -> None:
        if self._ended:
            raise _Cut
        try:
            piece = self._source.read1(PIECE)
        except (EOFError, zlib.error, OSError) as fault:
            piece, self.cut = b"", f"the compressed file is cut or damaged ({fault})"
        self._ended = not piece
        self._before += self._at
        self._text = self._text[self._at :] + self._decode(piece, self._ended)
        self._at = 0
