"""The file of bearer tokens: who holds one, with which role, for which tenants, until when.

TOML, one table a token. A token itself is never stored: its SHA-256 is. Tokens are 32 random bytes, so
that a plain hash of one gives nothing away.

    [[token]]
    name = "grafana"
    sha256 = "9f86d081884c7d65…"
    role = "read"
    tenants = ["acme"]            # none: all
    expires = 2027-01-01T00:00:00Z  # none: never
"""

import fcntl
import os
import re
import secrets
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from otel_attrib.analytics.service.caller import ROLES, Caller, Role
from otel_attrib.errors import ConfigError, UsageError

__all__ = ["Token", "changing", "hash_of", "new_token", "read_tokens", "write_tokens"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f]')
_HASH = re.compile(r"[0-9a-f]{64}")
_KNOWN = ("name", "sha256", "role", "tenants", "expires")


@dataclass(frozen=True, slots=True)
class Token:
    """One entry of the file."""

    name: str
    sha256: str
    role: Role
    tenants: tuple[str, ...] = ()
    expires: datetime | None = None

    def __post_init__(self) -> None:
        """Refuse what could not be written, or would mean nothing."""
        if not _NAME.fullmatch(self.name):
            raise UsageError(f"{self.name!r} is no name of a token: letters, digits, . _ @ -, 64 at most")
        if self.role not in ROLES:
            raise UsageError(f"no role {self.role!r}; choose one of {', '.join(ROLES)}")
        if not _HASH.fullmatch(self.sha256):
            raise UsageError(f"sha256 of token {self.name} is not 64 hexadecimal digits")
        for tenant in self.tenants:
            if not tenant or tenant.encode("utf-8", "replace").decode() != tenant:
                raise UsageError(f"token {self.name}: {tenant!r} is no name of a tenant")
        if self.role == "admin" and self.tenants:
            raise UsageError(
                f"token {self.name}: an admin has no tenants, it sees all; give role read or write"
            )

    def caller(self) -> Caller:
        """Who comes with this token."""
        return Caller(self.name, self.role, self.tenants)

    def over(self, now: datetime) -> bool:
        """Whether it has expired."""
        return self.expires is not None and self.expires <= now


def hash_of(token: str) -> str:
    """What the file holds of a token."""
    return sha256(token.encode()).hexdigest()


def new_token() -> str:
    """A fresh token: 256 random bits, with a prefix by which scanners for leaked secrets find it."""
    return f"oat_{secrets.token_urlsafe(32)}"


def read_tokens(path: Path) -> tuple[Token, ...]:
    """The tokens of a file; `ConfigError` when it is not one, is missing, or others may read it."""
    key = "tokens"
    try:
        mode = path.stat().st_mode
        values = tomllib.loads(path.read_text("utf-8"))
    except OSError as fault:
        raise ConfigError(key, str(path), f"cannot be read: {fault.strerror}") from fault
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        raise ConfigError(key, str(path), f"is not TOML: {fault}") from fault
    if mode & 0o077:
        raise ConfigError(key, str(path), f"may be read by others: chmod 600 {path}")
    return _checked(path, values)


def _checked(path: Path, values: dict[str, Any]) -> tuple[Token, ...]:
    entries = values.get("token", [])
    try:
        if set(values) - {"token"} or not isinstance(entries, list):
            raise UsageError("holds something else than [[token]] tables")
        tokens = tuple(_token(entry) for entry in entries)
        names = [token.name for token in tokens]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            raise UsageError(f"names {twice} twice")
    except UsageError as fault:
        raise ConfigError("tokens", str(path), str(fault)) from fault
    return tokens


def _token(entry: Any) -> Token:
    if not isinstance(entry, dict) or set(entry) - set(_KNOWN):
        raise UsageError(f"a [[token]] has {', '.join(_KNOWN)} and nothing else")
    tenants, expires = entry.get("tenants", []), entry.get("expires")
    if not isinstance(tenants, list) or not all(isinstance(each, str) and each for each in tenants):
        raise UsageError("tenants is not a list of names")
    if expires is not None and (not isinstance(expires, datetime) or expires.tzinfo is None):
        raise UsageError("expires is not a time with its zone: 2027-01-01T00:00:00Z")
    return Token(
        str(entry.get("name", "")),
        str(entry.get("sha256", "")),
        cast(Role, entry.get("role", "read")),
        tuple(tenants),
        expires,
    )


@contextmanager
def changing(path: Path) -> Iterator[None]:
    """Be the only one who reads and writes the file anew: of two who add at once none loses the other's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def write_tokens(path: Path, tokens: Sequence[Token]) -> None:
    """Write the file whole, readable by its owner alone; a reader sees the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write("".join(_written(token) for token in tokens))
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


def _written(token: Token) -> str:
    lines = [
        "[[token]]",
        f'name = "{token.name}"',
        f'sha256 = "{token.sha256}"',
        f'role = "{token.role}"',
        f"tenants = [{', '.join(_quoted(each) for each in token.tenants)}]",
    ]
    if token.expires:
        lines.append(f"expires = {token.expires.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}")
    return "\n".join(lines) + "\n\n"


def _quoted(text: str) -> str:
    """A TOML basic string: what must be escaped is, and nothing else, because TOML knows no surrogates."""
    escaped = _ESCAPED.sub(lambda found: "\\u" + format(ord(found[0]), "04x"), text)
    return f'"{escaped}"'
