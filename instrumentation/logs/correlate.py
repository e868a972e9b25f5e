"""Every log record made while a request is served, or that mentions one's id, knows the trace and the span.

A record factory sets `trace_id` and `span_id` on the record, and `request_id` where a line names one; what
the host's own factory or filters have set stays. Formats that do not ask for them print as before.
"""

import logging
import re
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from otel_attrib.instrumentation.logs.ids import Ids, ids_of
from otel_attrib.instrumentation.recorder import CURRENT, Timeline
from otel_attrib.instrumentation.shim import guarded

__all__ = ["MOST_REQUESTS", "REQUESTS", "CorrelatedRecords", "correlate_logs", "remember", "settle"]

MOST_REQUESTS = 4096
"""Requests whose ids are known to lines that come later, as those on an abort do."""
LONGEST = 2048
"""Characters of a line that are searched for an id."""
_WORDS = re.compile(r"[A-Za-z0-9][\w.:-]{6,126}[A-Za-z0-9]", re.ASCII)

REQUESTS: OrderedDict[str, Timeline | Ids] = OrderedDict()
"""Request id, the engine's or the caller's → the request, once it is over its ids; the oldest go first."""

_on = False


def remember(timeline: Timeline, *names: str) -> None:
    """Let lines that mention one of these request ids be found by its trace, where `correlate_logs` ran."""
    if not _on:
        return
    for name in names:
        REQUESTS[name] = timeline
    while len(REQUESTS) > MOST_REQUESTS:
        REQUESTS.popitem(last=False)


def settle(timeline: Timeline) -> tuple[int, int] | None:
    """Return what the span of a request that is over must be called, if anything; keep no more of it."""
    if not _on:
        return timeline.ids
    ids = ids_of(timeline)
    for name in (timeline.external_id, *(one.identity for one in timeline.sequences)):
        if name in REQUESTS:
            REQUESTS[name] = ids
    return ids


class CorrelatedRecords:
    """A record factory around the one that was there."""

    def __init__(self, factory: Callable[..., logging.LogRecord]) -> None:
        """Make records by `factory`."""
        self.factory = factory
        self.stamp = guarded("log record", _stamp)

    def __call__(self, *args: Any, **kwargs: Any) -> logging.LogRecord:
        """Make one record."""
        record = self.factory(*args, **kwargs)
        self.stamp(record)
        return record


def correlate_logs() -> None:
    """Put the factory in place, once."""
    global _on
    _on = True
    factory = logging.getLogRecordFactory()
    if not isinstance(factory, CorrelatedRecords):
        logging.setLogRecordFactory(CorrelatedRecords(factory))


def _stamp(record: logging.LogRecord) -> None:
    timeline = CURRENT.get()
    if timeline is not None:
        _name(record, ids_of(timeline), timeline.external_id)
    elif REQUESTS:
        for word in _words(record):
            found = REQUESTS.get(word)
            if found is not None:
                _name(record, ids_of(found) if isinstance(found, Timeline) else found, word)
                return


def _words(record: logging.LogRecord) -> list[str]:
    """Return what may be a request id in a line, without putting the line together where it has arguments."""
    args = record.args if isinstance(record.args, tuple) else ()
    text = " ".join(
        str(part)[:LONGEST] for part in (record.msg, *args) if isinstance(part, str | list | tuple | set)
    )
    return _WORDS.findall(text[:LONGEST])


def _name(record: logging.LogRecord, ids: Ids, request_id: str) -> None:
    for name, value in (("trace_id", ids.trace), ("span_id", ids.span), ("request_id", request_id)):
        if value and not hasattr(record, name):
            setattr(record, name, value)
