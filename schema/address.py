"""Addresses that people type, taken apart without a fault: a half-written one is a mistake to be told."""

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

__all__ = ["hidden", "http_parts", "is_loopback", "parts_of"]


def hidden(text: str) -> str:
    """An address for messages: without the name and password that may stand in it."""
    scheme, mark, rest = text.partition("://") if "://" in text else ("", "", text)
    return f"{scheme}{mark}…@{rest.rpartition('@')[2]}" if "@" in rest else text


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def parts_of(text: str) -> SplitResult | None:
    """The parts of an address, its port a number or none; None for what nobody could connect to."""
    try:
        parts = urlsplit(text)
        usable = parts.port is None or parts.port > 0
    except ValueError:
        return None
    return parts if usable and text.isprintable() else None


def http_parts(text: str) -> SplitResult | None:
    """The parts of an address that names a host to be asked over HTTP or HTTPS; None for any other."""
    parts = parts_of(text)
    return parts if parts and parts.scheme in ("http", "https") and parts.hostname else None
