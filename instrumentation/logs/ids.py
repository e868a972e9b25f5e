"""The ids that a request's span will have, known before it is made: log lines are written earlier.

The span is built after the last byte, so its ids are drawn when the first line asks for them and handed to
the tracer then. The trace is the caller's where its headers name one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from opentelemetry import propagate
from opentelemetry.context import Context
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.trace import get_current_span

from otel_attrib.instrumentation.recorder import Timeline

__all__ = ["Ids", "PlannedIds", "ids_of", "planned"]

_RANDOM = RandomIdGenerator()


class Ids(NamedTuple):
    """What a request's SERVER span is called."""

    trace_id: int
    span_id: int

    @property
    def trace(self) -> str:
        """Return the trace id in hexadecimal digits."""
        return f"{self.trace_id:032x}"

    @property
    def span(self) -> str:
        """Return the span id in hexadecimal digits."""
        return f"{self.span_id:016x}"


def ids_of(timeline: Timeline) -> Ids:
    """Return the ids of a request, the same each time."""
    if timeline.ids is None:
        timeline.ids = Ids(_callers(timeline) or _RANDOM.generate_trace_id(), _RANDOM.generate_span_id())
    return Ids(*timeline.ids)


def _callers(timeline: Timeline) -> int:
    """Return the trace that the caller's headers continue, or 0."""
    fields = propagate.get_global_textmap().fields
    carried = {
        name.decode("latin-1").lower(): value.decode("latin-1")
        for name, value in timeline.headers
        if name.decode("latin-1").lower() in fields
    }
    if not carried:
        return 0
    return get_current_span(propagate.extract(carried, Context())).get_span_context().trace_id


class PlannedIds(IdGenerator):
    """Gives out the ids that were planned for the span being started, else those of another generator."""

    def __init__(self, other: IdGenerator | None = None) -> None:
        """Fall back on `other`, random ids by default."""
        self.other = other or _RANDOM

    def generate_span_id(self) -> int:
        """Return the id of a new span."""
        return _plan[-1].span_id if _plan else self.other.generate_span_id()

    def generate_trace_id(self) -> int:
        """Return the id of a new trace."""
        return _plan[-1].trace_id if _plan else self.other.generate_trace_id()


_plan: list[Ids] = []


@contextmanager
def planned(ids: tuple[int, int] | None) -> Iterator[None]:
    """Within it a span of a `PlannedIds` tracer gets these ids; for the one thread that makes spans."""
    if ids is None:
        yield
        return
    _plan.append(Ids(*ids))
    try:
        yield
    finally:
        _plan.pop()
