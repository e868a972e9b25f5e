"""Who a token stands for: the file of tokens, read again when it changes, compared in constant time."""

import logging
from datetime import UTC, datetime
from hmac import compare_digest
from pathlib import Path
from threading import Lock

from otel_attrib.analytics.service.caller import Caller
from otel_attrib.analytics.service.problem import Forbidden, Unauthorized
from otel_attrib.analytics.service.tokens import Token, hash_of, read_tokens
from otel_attrib.config import Settings
from otel_attrib.errors import ConfigError
from otel_attrib.schema.address import is_loopback

__all__ = ["Authentication"]

_log = logging.getLogger(__name__)
_ANYBODY = Caller("anybody", "admin")
_CLOSED = (
    "this service listens beyond loopback and knows no tokens: name a file with setting tokens"
    " (OTEL_ATTRIB_TOKENS; `otel-attrib tokens add` makes it), or set api_open=on to let everybody in"
)


class Authentication:
    """Lets callers in; safe to share between threads."""

    def __init__(self, settings: Settings) -> None:
        """Read the file that `settings.tokens` names; `ConfigError` when it cannot be used."""
        self._path = Path(settings.tokens) if settings.tokens else None
        self._open = settings.api_open or is_loopback(settings.host)
        self._lock = Lock()
        self._seen: tuple[int, int, int] | None = None
        self._tokens: tuple[Token, ...] = ()
        if self._path:
            self._seen, self._tokens = _stamp(self._path), read_tokens(self._path)

    def caller(self, token: str | None) -> Caller:
        """The caller who shows `token`; `Unauthorized` for a wrong one, `Forbidden` where none is known."""
        if self._path is None:
            if not self._open:
                raise Forbidden(_CLOSED)
            return _ANYBODY
        found = self._found(self._now(self._path), token) if token else None
        if found is None:
            raise Unauthorized("give a token that `otel-attrib tokens` knows: Authorization: Bearer …")
        if found.over(datetime.now(UTC)):
            raise Unauthorized(f"token {found.name} has expired: `otel-attrib tokens add` makes another")
        return found.caller()

    def _found(self, tokens: tuple[Token, ...], token: str) -> Token | None:
        shown, found = hash_of(token), None
        for each in tokens:  # all of them: the time taken says nothing of which one it was
            if compare_digest(each.sha256, shown):
                found = each
        return found

    def _now(self, path: Path) -> tuple[Token, ...]:
        """The tokens as the file has them now; what can no longer be read lets nobody in."""
        with self._lock:
            stamp = _stamp(path)
            if stamp != self._seen:
                self._seen = stamp
                try:
                    self._tokens = read_tokens(path)
                except ConfigError as fault:
                    _log.error("%s: nobody is let in", fault)
                    self._tokens = ()
            return self._tokens


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_mode
