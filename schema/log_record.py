"""One OTLP log record to a service's receiver: how what may only read a store has something kept in it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.error import URLError
from urllib.request import Request

from otel_attrib.errors import StoreError
from otel_attrib.schema.epoch import microseconds
from otel_attrib.schema.service import open_directly, service_status

__all__ = ["LogRecord", "receiver_of", "send_to_receiver"]


@dataclass(frozen=True, slots=True)
class LogRecord:
    """What is written; `words` are its attributes, `service` the resource's name."""

    time: datetime
    scope: str
    event: str
    body: str
    words: Mapping[str, str]
    service: str = "otel-attrib"
    severity: str = "INFO"

    def export(self) -> dict[str, Any]:
        """Return the OTLP/JSON request that holds this record alone."""
        record = {
            "timeUnixNano": str(microseconds(self.time) * 1000),
            "severityText": self.severity,
            "eventName": self.event,
            "body": {"stringValue": self.body},
            "attributes": _attributes(self.words),
        }
        resource = {"attributes": _attributes({"service.name": self.service})}
        scope_logs = [{"scope": {"name": self.scope}, "logRecords": [record]}]
        return {"resourceLogs": [{"resource": resource, "scopeLogs": scope_logs}]}


def receiver_of(url: str, kept: str) -> str:
    """Return the address that the service at `url` receives OTLP on; `kept` is what should be kept there."""
    address = str(service_status(url).get("otlp_http", "")).rstrip("/")
    if not address:
        raise StoreError(f"the service at {url} names no OTLP address: give --dsn to keep {kept}")
    return address


def send_to_receiver(address: str, record: LogRecord, kept: str, timeout_s: float = 10.0) -> None:
    """Send one record to an OTLP/HTTP address; StoreError when it was not taken."""
    headers = {"Content-Type": "application/json"}
    request = Request(f"{address}/v1/logs", json.dumps(record.export()).encode(), headers)
    try:
        with open_directly(request, timeout_s) as answer:
            answer.read()
    except (URLError, OSError) as fault:
        raise StoreError(f"the receiver at {address} did not take the {kept}: {fault}") from fault


def _attributes(words: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in words.items()]
