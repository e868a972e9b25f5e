"""How a request ended, from whatever word or number a table has for it."""

from typing import Any, Final

__all__ = ["status"]

_WORDS: Final = {
    "ok": (
        "ok",
        "success",
        "succeeded",
        "successful",
        "completed",
        "complete",
        "finished",
        "true",
        "stop",
        "length",
    ),
    "error": ("error", "failed", "failure", "fail", "exception", "false"),
    "aborted": ("aborted", "abort", "cancelled", "canceled", "cancel", "disconnected"),
    "timeout": ("timeout", "timed_out", "timedout", "deadline_exceeded"),
}
_STATUS: Final = {word: status for status, words in _WORDS.items() for word in words}
_HTTP_TIMEOUT: Final = (408, 504)
_HTTP_ABORTED: Final = 499  # written by proxies when the client went away


def status(value: Any) -> str:
    """One of ok, error, aborted, timeout; ValueError for a word that is none of the known ones."""
    word = str(value).strip().lower()
    if word.isdigit() and 100 <= int(word) <= 599:
        return _of_http(int(word))
    if word not in _STATUS:
        raise ValueError(f"status {value!r} is none of {', '.join(_WORDS)}")
    return _STATUS[word]


def _of_http(code: int) -> str:
    if code in _HTTP_TIMEOUT:
        return "timeout"
    if code == _HTTP_ABORTED:
        return "aborted"
    return "ok" if code < 400 else "error"
