"""Log lines as JSON, each with the trace and the span in which it was written."""

import json
import logging
from datetime import UTC, datetime
from typing import Any

from opentelemetry import trace

from otel_attrib.analytics.service.access_log import ACCESS

__all__ = ["JsonFormat", "set_up_logs"]

_ACCESS = ("method", "path", "route", "status", "bytes", "ms")


class JsonFormat(logging.Formatter):
    """One object a line: time, level, logger, message, trace_id and span_id where there are, exception."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one record."""
        said: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_span(),
            **{name: record.__dict__[name] for name in _ACCESS if name in record.__dict__},
        }
        if record.exc_info:
            said["exception"] = self.formatException(record.exc_info)
        return json.dumps(said, ensure_ascii=False, default=str)


def _span() -> dict[str, str]:
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}


def set_up_logs(form: str, access: bool) -> None:
    """Write warnings (and with `access` a line for each request) to standard error, as `text` or `json`."""
    handler = logging.StreamHandler()
    text = logging.Formatter("%(asctime)s %(levelname)s %(message)s")
    handler.setFormatter(JsonFormat() if form == "json" else text)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    ACCESS.setLevel(logging.INFO if access else logging.WARNING)
    # What these say of a store that is down we say once, in a line of our own.
    for name in ("urllib3", "clickhouse_connect"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
