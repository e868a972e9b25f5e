"""One JSON object a log line, asked for by `OTEL_ATTRIB_LOG_FORMAT=json`, whatever set the handlers up.

vLLM and uvicorn configure logging at moments of their own, so formats are not replaced one by one: the one
method that every handler formats through is wrapped. What cannot be written as JSON is written as before.
"""

import json
import logging
import os
import traceback
from datetime import UTC, datetime
from typing import Any

from otel_attrib.instrumentation.shim import FAULTS

__all__ = ["LOG_FORMAT", "as_json", "json_lines"]

LOG_FORMAT = "OTEL_ATTRIB_LOG_FORMAT"
ENGINES = ("vllm", "uvicorn", "sglang")
"""Loggers whose lines become JSON, with all below them; other libraries' lines stay as they are."""
_FIELDS = ("trace_id", "span_id", "request_id")


def json_lines() -> None:
    """Wrap `logging.Handler.format`, once, where JSON was asked for."""
    if os.environ.get(LOG_FORMAT, "").strip().lower() != "json":
        return
    original = logging.Handler.format
    if getattr(original, "otel_attrib", False):
        return

    def format_(self: logging.Handler, record: logging.LogRecord) -> str:
        if record.name.partition(".")[0] not in ENGINES:
            return original(self, record)
        try:
            return as_json(record)
        except Exception as error:
            FAULTS.count("log line", error)
            return original(self, record)

    format_.otel_attrib = True  # type: ignore[attr-defined]
    logging.Handler.format = format_  # type: ignore[method-assign]


def as_json(record: logging.LogRecord) -> str:
    """Return the record as one line of JSON; what is not known of it is absent."""
    line: dict[str, Any] = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds"),
        "level": record.levelname,
        "logger": record.name,
        "message": record.getMessage(),
        "pid": record.process,
        "process": getattr(record, "vllm_process_name", record.processName),
    }
    line |= {name: getattr(record, name) for name in _FIELDS if getattr(record, name, None)}
    if record.exc_info and record.exc_info[0] is not None:
        line["exception"] = "".join(traceback.format_exception(*record.exc_info)).rstrip()
    if record.stack_info:
        line["stack"] = record.stack_info
    return _written({key: value for key, value in line.items() if value is not None})


def _written(line: dict[str, Any]) -> str:
    """Letters as they are; halves of letters, which no file takes, as JSON's escapes."""
    text = json.dumps(line, ensure_ascii=False)
    return text if text.isascii() or _is_whole(text) else json.dumps(line)


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
