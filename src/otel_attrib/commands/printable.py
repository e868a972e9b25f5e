"""Text as standard output can write it: where it knows ASCII alone, signs become their nearest letters."""

import json
import sys
from typing import Any, Final

__all__ = ["json_line", "printable"]

_SHADES = dict(zip("▁▂▃▄▅▆▇█", "12345678", strict=True))
_PLAIN: Final = str.maketrans(
    {"−": "-", "–": "-", "→": ">", "…": "...", "×": "x", "µ": "u", "≤": "<=", "·": "."} | _SHADES
)


def printable(text: str) -> str:
    """Return the text unchanged where standard output takes it."""
    return text if _taken(text) else text.translate(_PLAIN).encode("ascii", "replace").decode()


def json_line(found: Any) -> str:
    """Return JSON in one line; what standard output cannot write stands as an escape, and means the same."""
    text = json.dumps(found, ensure_ascii=False)
    return text if _taken(text) else json.dumps(found)


def _taken(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
