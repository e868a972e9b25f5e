"""Counters that two sources could read: the better one claims it, and the other leaves it out meanwhile.

Run-queue wait comes from eBPF or from `schedstat`. Totals of both would be added up as if they were two
processes' waits, so only one of them is ever written.
"""

from threading import Lock

__all__ = ["claim", "claimed", "release"]

_lock = Lock()
_claims: dict[str, int] = {}


def claim(key: str) -> None:
    """From now on the caller gives this counter, until it says `release`."""
    with _lock:
        _claims[key] = _claims.get(key, 0) + 1


def release(key: str) -> None:
    """The caller no longer gives it."""
    with _lock:
        _claims[key] = _claims.get(key, 0) - 1


def claimed(key: str) -> bool:
    """Return whether a better source gives this counter now."""
    return _claims.get(key, 0) > 0
