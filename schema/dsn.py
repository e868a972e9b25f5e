"""Where a store is: `chdb:///path`, `chdb://memory`, or `clickhouse://user:pw@host:port/db`."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from otel_attrib.errors import UsageError
from otel_attrib.schema.address import hidden, parts_of

__all__ = ["DATABASE", "Dsn", "default_dsn", "parse_dsn"]

DATABASE = "otel_attrib"
MEMORY = ":memory:"

_REMOTE = ("clickhouse", "clickhouses", "http", "https")
_FORMS = "chdb:///path, chdb://memory or clickhouse://user:pw@host:port/db"


@dataclass(frozen=True, slots=True)
class Dsn:
    """One store's address; `path` is None for a remote one, `:memory:` for one that lives in this process."""

    text: str = field(repr=False)
    path: str | None
    database: str
    options: Mapping[str, str]

    @property
    def embedded(self) -> bool:
        """Whether the engine runs in this process."""
        return self.path is not None

    @property
    def shown(self) -> str:
        """The address without its password and options, for messages."""
        parts = urlsplit(self.text)
        if self.embedded:
            return f"chdb://{'memory' if self.path == MEMORY else self.path}"
        return f"{parts.scheme}://{parts.hostname}:{parts.port or 8123}/{self.database}"


def parse_dsn(text: str) -> Dsn:
    """Read an address; its query holds engine settings (embedded) or client options (remote)."""
    parts = parts_of(text)
    if parts is None:
        raise UsageError(f"DSN {hidden(text)!r} is not of the form {_FORMS}")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if parts.scheme == "chdb":
        return _embedded(text, parts, options)
    if parts.scheme in _REMOTE and parts.hostname:
        name = unquote(parts.path).strip("/") or options.pop("database", "") or DATABASE
        return Dsn(text, None, name, options)
    raise UsageError(f"DSN {hidden(text)!r} is not of the form {_FORMS}")


def _embedded(text: str, parts: SplitResult, options: dict[str, str]) -> Dsn:
    named = options.pop("database", "")
    if parts.netloc in ("memory", MEMORY):
        return Dsn(text, MEMORY, named or unquote(parts.path).strip("/") or DATABASE, options)
    if parts.netloc or parts.path in ("", "/") or not text[len("chdb:") :].startswith("//"):
        raise UsageError(
            f"DSN {text!r} needs an absolute path with three slashes: chdb:///var/lib/otel-attrib"
        )
    return Dsn(text, os.path.realpath(unquote(parts.path)), named or DATABASE, options)


def default_dsn() -> str:
    """The embedded store used when none is named: the system's for root, else the user's own."""
    if os.geteuid() == 0:
        return "chdb:///var/lib/otel-attrib"
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share"
    return f"chdb://{Path(data).resolve() / 'otel-attrib' / 'store'}"
