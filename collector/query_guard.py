"""Only reading statements, and none that reaches beyond the store.

Each statement runs in a session of its own under the engine's `readonly = 1`, which refuses writing,
DDL, changes of settings and table functions that read elsewhere. What that leaves open is refused here:
the scalar `file`, names that come as parameters ({name:Identifier}), the schema of a file or URL by
DESCRIBE, INTO OUTFILE, KILL, and functions that call an AI service. The engine's own parser takes the
statement apart, so comments, quoting and heredocs hide nothing.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from otel_attrib.collector.query_fault import QueryFault

__all__ = ["INSPECT", "Statement", "Token", "guard"]

# Gives the statement as the engine reads it, and its tokens.
INSPECT = (
    "SELECT formatQuerySingleLine({statement:String}) AS text,"
    " highlightQuery(formatQuerySingleLine({statement:String})) AS tokens"
)

_FIRST = frozenset(("SELECT", "WITH", "FROM", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "EXISTS", "("))
_SKIPPED = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|#[ !][^\n]*(?:\n|$)|/\*.*?\*/)+", re.DOTALL)
_WORD = re.compile(r"\(|\w+")

# Table functions that give rows without looking anywhere; all others are refused.
_HARMLESS = frozenset(
    ("format", "fuzzquery", "generate_series", "generateseries", "null", "numbers", "numbers_mt")
    + ("primes", "values", "view", "zeros", "zeros_mt")
)
_REFUSED_NAMES = frozenset(("file",))
_REFUSED_PREFIX = re.compile(
    r"ai(redact|similarity|filter|classify|embed|extract|generate|translate)", re.IGNORECASE
)

# A name in a parameter is known only after this module has looked.
_NAME_PARAMETER = re.compile(r"\{[^:]*:[\s`\"]*Identifier", re.IGNORECASE)

# clickhouse-connect asks which settings it may send. Under readonly = 1 the honest answer is none,
# but those of query_settings.py are taken, so this one statement runs under readonly = 2.
_SETTINGS_PROBE = re.compile(r"SELECT name, value, readonly FROM system\.settings( LIMIT \d+)?( FORMAT \w+)?")


@dataclass(frozen=True, slots=True)
class Token:
    """One word of a statement with what the engine takes it for."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that may run; `format` is the one it asks for itself."""

    text: str
    format: str
    readonly: int
    is_streamable: bool


def guard(statement: str, inspect: Callable[[str], bytes], table_functions: frozenset[str]) -> Statement:
    """Take a statement apart and refuse it (`QueryFault`) unless it only reads the store.

    `inspect` runs `INSPECT` and gives JSONCompactEachRow; `table_functions` has the engine's names in
    small letters.
    """
    text, tokens = _parsed(inspect(statement))
    # Both: the engine reads a bare `exit` as SELECT exit, its client as something else.
    for first in (_first_word(statement), _first_word(text)):
        if first not in _FIRST:
            allowed = ", ".join(sorted(_FIRST - {"(", "DESC", "FROM"}))
            raise _readonly(f"only {allowed} are allowed, not {first or 'this'}")
    for token in tokens:
        _check(token, table_functions - _HARMLESS)
    keywords = [token.text.upper() for token in tokens if token.kind == "keyword"]
    return Statement(
        statement.strip().rstrip(";"),
        _format(tokens),
        2 if _SETTINGS_PROBE.fullmatch(text) else 1,
        _first_word(text) in ("SELECT", "WITH") and not any("TOTALS" in keyword for keyword in keywords),
    )


def _first_word(statement: str) -> str:
    skipped = _SKIPPED.match(statement)
    word = _WORD.match(statement, skipped.end() if skipped else 0)
    return word[0].upper() if word else ""


def _parsed(answer: bytes) -> tuple[str, list[Token]]:
    text, spans = json.loads(answer)
    # Positions are of bytes.
    data = text.encode()
    return text, [Token(s["type"], data[s["begin"] : s["end"]].decode(errors="replace")) for s in spans]


def _check(token: Token, table_functions: frozenset[str]) -> None:
    name = token.text.strip('`"').lower()
    if token.kind == "keyword" and any(word in token.text.upper() for word in ("OUTFILE", "PARALLEL")):
        raise _readonly(f"{token.text} is not allowed")
    if token.kind in ("identifier", "substitution") and _NAME_PARAMETER.match(token.text):
        raise _denied(f"a parameter of type Identifier ({token.text})")
    if token.kind == "function" and name in table_functions:
        raise _denied(token.text)
    # A function can be named without being called, as in arrayMap(file, …).
    if token.kind in ("function", "identifier") and (
        name in _REFUSED_NAMES or _REFUSED_PREFIX.fullmatch(name)
    ):
        raise _denied(token.text)
    if token.kind == "identifier" and name == "default":
        # The engine's own `default` database shows the file system as tables.
        raise _denied(f"database {token.text}")


def _format(tokens: Sequence[Token]) -> str:
    for keyword, name in zip(reversed(tokens[:-1]), reversed(tokens[1:]), strict=True):
        if keyword.kind == "keyword" and keyword.text.upper() == "FORMAT" and name.kind == "identifier":
            return name.text
    return ""


def _readonly(why: str) -> QueryFault:
    return QueryFault(164, "READONLY", f"Cannot execute query in readonly mode: {why}")


def _denied(what: str) -> QueryFault:
    return QueryFault(497, "ACCESS_DENIED", f"Not enough privileges: {what} is not allowed here")
