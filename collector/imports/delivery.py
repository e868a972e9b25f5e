"""Where export requests go, and the way to a running service: OTLP over HTTP."""

import gzip
import time
from collections.abc import Callable
from typing import Any, Protocol
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

from otel_attrib.collector.imports.days import by_days
from otel_attrib.collector.signals import Signal
from otel_attrib.errors import DataError, StoreError
from otel_attrib.schema.service import service_status
from otel_attrib.schema.store import Store

__all__ = ["Delivery", "ServiceDelivery"]

_PATIENCE_S = 120.0
_BUSY = (429, 503)


class Delivery(Protocol):
    """Where export requests go."""

    store: Store
    shown: str

    def send(self, signal: Signal, body: bytes) -> int:
        """Hand over one serialized request; return how many of its items were refused."""

    def finish(self) -> None:
        """Return when everything that was sent can be queried."""


class ServiceDelivery:
    """Over OTLP/HTTP to a running `otel-attrib up`, waiting as long as it says that it is full."""

    def __init__(
        self, url: str, store: Store, token: str = "", sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """`store` answers queries; `url` is the service's own address, `token` what it asks exporters for."""
        self.store = store
        self.shown = f"service {url}"
        self._url = url
        self._sleep = sleep
        self._headers = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._receiver = str(service_status(url)["otlp_http"]).rstrip("/")
        self._open = build_opener(ProxyHandler({})).open

    def send(self, signal: Signal, body: bytes) -> int:
        """Post one request, of very many days as several; refused for good, it is a `DataError`."""
        return sum(self._send(signal, piece) for piece in by_days(signal, body))

    def _send(self, signal: Signal, body: bytes) -> int:
        waited = 0.0
        while True:
            try:
                return self._post(signal, body)
            except HTTPError as refusal:
                pause = _pause(refusal)
                if pause is None or waited + pause > _PATIENCE_S:
                    raise _refused(self._receiver, signal, refusal) from refusal
            except (URLError, OSError) as fault:
                raise StoreError(f"{self._receiver}: {getattr(fault, 'reason', fault)}") from fault
            self._sleep(pause)
            waited += pause

    def _post(self, signal: Signal, body: bytes) -> int:
        request = Request(self._receiver + signal.path, gzip.compress(body, 1), self._headers)
        with self._open(request, timeout=60) as answer:
            response = signal.response()
            response.ParseFromString(answer.read())
        return int(getattr(response.partial_success, signal.rejected))

    def finish(self) -> None:
        """Wait until the service's spool is empty, at most as long as a full one would be waited for."""
        deadline = time.monotonic() + _PATIENCE_S
        while self._waiting() and time.monotonic() < deadline:
            self._sleep(0.1)

    def _waiting(self) -> bool:
        counters: dict[str, Any] = service_status(self._url).get("counters", {})
        return any(value for name, value in counters.items() if name.startswith("spool_items"))


def _pause(refusal: HTTPError) -> float | None:
    """Seconds to wait before the next try; None when another try cannot help."""
    if refusal.code not in _BUSY:
        return None
    asked = refusal.headers.get("Retry-After", "")
    return min(max(float(asked), 0.1), 30.0) if asked.isdigit() else 1.0


def _refused(receiver: str, signal: Signal, refusal: HTTPError) -> DataError | StoreError:
    said = refusal.read(400).decode("utf-8", "replace").strip()
    told = f"{receiver}{signal.path} answered {refusal.code} {refusal.reason}" + (f": {said}" if said else "")
    return StoreError(told) if refusal.code in (*_BUSY, 401, 403, 404) else DataError(told)
