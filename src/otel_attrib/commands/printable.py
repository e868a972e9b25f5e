"""Text as standard output can write it: where it knows ASCII alone, signs become their nearest letters."""

import sys
from typing import Final

__all__ = ["printable"]

_PLAIN: Final = str.maketrans({"−": "-", "–": "-", "→": ">", "…": "...", "×": "x", "µ": "u"})


def printable(text: str) -> str:
    """Return the text unchanged where standard output takes it."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return text.translate(_PLAIN).encode("ascii", "replace").decode()
    return text
