"""The running `otel-attrib up`, asked what it is and where its store listens."""

import json
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from otel_attrib.errors import StoreError, UsageError
from otel_attrib.schema.dsn import DATABASE

__all__ = ["DEFAULT_URL", "service_status", "store_address"]

DEFAULT_URL = "http://127.0.0.1:8080"


def service_status(url: str, timeout_s: float = 10.0) -> dict[str, Any]:
    """What the service at `url` says of itself; `StoreError` when none does."""
    address = url.rstrip("/") + "/api/v1/status"
    if urlsplit(address).scheme not in ("http", "https"):
        raise UsageError(f"--url {url!r} is not of the form http://host:port")
    # A proxy set for the internet must not be asked for this machine.
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(Request(address), timeout=timeout_s) as answer:
            status = json.load(answer)
    except (URLError, OSError, ValueError) as fault:
        reason = getattr(fault, "reason", fault)
        raise StoreError(
            f"no service answers at {url} ({reason}): start one with `otel-attrib up`"
        ) from fault
    if not isinstance(status, dict) or "clickhouse" not in status:
        raise StoreError(f"what answers at {url} is not otel-attrib: give the --url of an `otel-attrib up`")
    return status


def store_address(url: str, timeout_s: float = 10.0) -> str:
    """DSN of the store behind the service at `url`."""
    status = service_status(url, timeout_s)
    where = urlsplit(str(status["clickhouse"]))
    if not where.hostname:
        raise StoreError(f"the service at {url} names no ClickHouse address")
    scheme = "clickhouses" if where.scheme == "https" else "clickhouse"
    return f"{scheme}://{where.netloc}/{status.get('database') or DATABASE}"
