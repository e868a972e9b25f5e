"""ClickHouse's exceptions: their code, their name, and the HTTP status that ClickHouse gives them."""

import re

from otel_attrib.errors import OtelAttribError

__all__ = ["QueryFault", "fault_of"]

_TEXT = re.compile(r"Code: (\d+)\. (?:DB::Exception: )?(.*)", re.DOTALL)
_NAME = re.compile(r"\(([A-Z][A-Z0-9_]+)\)(?:\s*\(version [^)]*\))?\s*$")

_STATUS = {
    400: (6, 12, 15, 25, 26, 27, 36, 38, 41, 43, 44, 53, 62, 72, 117, 145, 167, 168, 171, 427, 441, 675, 676),
    401: (194,),
    403: (164, 192, 193, 497, 516),
    404: (46, 47, 50, 56, 60, 73, 78, 81, 115, 336, 511),
    408: (159,),
    411: (381,),
    413: (239,),
    501: (48,),
    503: (202, 209, 439),
}
_STATUS_OF = {code: status for status, codes in _STATUS.items() for code in codes}


class QueryFault(OtelAttribError):
    """A statement is refused or failed; the message is without its code and name."""

    def __init__(self, code: int, name: str, message: str) -> None:
        """`name` is ClickHouse's word for `code`."""
        super().__init__(message)
        self.code = code
        self.name = name

    @property
    def status(self) -> int:
        """The HTTP status; 500 for every code without one of its own."""
        return _STATUS_OF.get(self.code, 500)

    def text(self, version: str) -> str:
        """One line as ClickHouse writes it."""
        return f"Code: {self.code}. DB::Exception: {self}. ({self.name}) (version {version})\n"


def fault_of(error: Exception) -> QueryFault:
    """Read the engine's message; what it does not number is code 1001, STD_EXCEPTION."""
    found = _TEXT.search(str(error))
    if found is None:
        return QueryFault(1001, "STD_EXCEPTION", str(error))
    code, message = int(found[1]), found[2].strip()
    name = _NAME.search(message)
    if name:
        message = message[: name.start()]
    # A statement parsed within a statement carries the words twice.
    message = re.sub(r"^Code: \d+\. DB::Exception: ", "", message)
    return QueryFault(code, name[1] if name else "UNKNOWN", message.strip().rstrip("."))
