"""The running `otel-attrib up`, asked what it is and where its store listens."""

import json
import os
from collections.abc import Mapping
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

from otel_attrib.errors import StoreError, UsageError
from otel_attrib.schema.address import hidden, http_parts, parts_of
from otel_attrib.schema.dsn import DATABASE

__all__ = ["DEFAULT_URL", "TOKEN", "open_directly", "service_post", "service_status", "store_address"]

DEFAULT_URL = "http://127.0.0.1:8080"
TOKEN = "OTEL_ATTRIB_TOKEN"
"""Variable of the bearer token that commands show to the API."""


def service_status(url: str, timeout_s: float = 10.0) -> dict[str, Any]:
    """What the service at `url` says of itself; `StoreError` when none does."""
    address = _address(url, "status")
    try:
        with open_directly(Request(address), timeout_s) as answer:
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
    where = parts_of(str(status["clickhouse"]))
    if where is None or not where.hostname:
        raise StoreError(f"the service at {url} names no ClickHouse address")
    scheme = "clickhouses" if where.scheme == "https" else "clickhouse"
    return f"{scheme}://{where.netloc}/{status.get('database') or DATABASE}"


def service_post(
    url: str, path: str, body: Mapping[str, Any] | None, timeout_s: float = 10.0, method: str = "POST"
) -> dict[str, Any]:
    """Send `body` to a route of the API under /api/v1, with the token of the environment; its answer."""
    address = _address(url, path)
    headers = {"Content-Type": "application/json"}
    if token := os.environ.get(TOKEN):
        headers["Authorization"] = f"Bearer {token}"
    try:
        data = None if body is None else json.dumps(body).encode()
        request = Request(address, data, headers, method=method)
        with open_directly(request, timeout_s) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
    except HTTPError as fault:
        raise _refused(url, fault) from fault
    except (URLError, OSError, ValueError) as fault:
        reason = getattr(fault, "reason", fault)
        raise StoreError(f"the service at {url} does not answer: {reason}") from fault


def _address(url: str, path: str) -> str:
    """Where a route under /api/v1 of the service at `url` is."""
    address = f"{url.rstrip('/')}/api/v1/{path}"
    if http_parts(address) is None or " " in address:
        raise UsageError(f"--url {hidden(url)!r} is not of the form http://host:port")
    return address


def open_directly(request: Request, timeout_s: float) -> Any:
    """Ask past any proxy: one that is set for the internet must not be asked for this machine."""
    return build_opener(ProxyHandler({})).open(request, timeout=timeout_s)


def _refused(url: str, fault: HTTPError) -> UsageError | StoreError:
    """What the API said, as the fault that it would be here."""
    try:
        detail = str(json.load(fault)["detail"])
    except (OSError, ValueError, KeyError, TypeError):
        detail = f"{fault.code} {fault.reason}"
    hint = f" (the token is read from {TOKEN})" if fault.code in (401, 403) else ""
    kind = UsageError if fault.code == 422 else StoreError
    return kind(f"the service at {url} refused: {detail}{hint}")
