"""Tell the launcher what happens in this process: one JSON line a fact, in a folder it named.

Without a launcher (`OTEL_ATTRIB_STATUS_DIR` unset) nothing is written. A few lines in a
process's life, never one per request.
"""

import json
import multiprocessing
import os
import time
from typing import Any

__all__ = ["STATUS_DIR", "tell"]

STATUS_DIR = "OTEL_ATTRIB_STATUS_DIR"

_told: set[str] = set()


def tell(event: str, *, once: bool = True, **facts: Any) -> None:
    """Append one fact, by default only the first of its kind; a failure to write is no one's problem."""
    folder = os.environ.get(STATUS_DIR)
    if not folder or (once and event in _told):
        return
    _told.add(event)
    process = multiprocessing.current_process().name
    line = json.dumps({"event": event, "time": time.time(), "pid": os.getpid(), "process": process} | facts)
    try:
        with open(os.path.join(folder, f"{os.getpid()}.jsonl"), "a", encoding="utf-8") as file:
            file.write(line + "\n")
    except OSError:
        _told.add(event)
