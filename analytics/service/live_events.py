"""What a listener hears: a quantile every step, and each new report and mark once."""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from otel_attrib.analytics.mark_list import MarkRow, list_marks
from otel_attrib.analytics.quantiles import Sliding, slide
from otel_attrib.analytics.report_list import KeptReport, list_reports
from otel_attrib.analytics.service.answer import encode
from otel_attrib.analytics.service.hub import Event
from otel_attrib.analytics.windows import Window, rfc3339
from otel_attrib.schema.epoch import microseconds, time_at
from otel_attrib.schema.store import Store

__all__ = ["NewEvents", "quantile_now", "reports_since"]

SCHEMA = "otel-attrib/live/1"
BACK = timedelta(minutes=2)
"""How far back a row may be dated and still be told as new."""
AHEAD = timedelta(minutes=5)
RESUMED = timedelta(days=1)
MOST = 200


def quantile_now(store: Store, asked: Sliding, now: datetime) -> Event:
    """The quantile of the last window that ended, one point a group; `asked.span` is not looked at."""
    whole = asked.on_states()
    end = datetime.fromtimestamp(int(now.timestamp()) // whole.step * whole.step, UTC)
    points = slide(store, replace(whole, span=Window(end - timedelta(seconds=1), end)))
    body = {
        "schema": SCHEMA,
        "time": rfc3339(end),
        "metric": whole.metric.name,
        "quantile": whole.level,
        "window_s": whole.window,
        "where": whole.where.as_dict(),
        "points": [
            {
                **dict(zip(whole.by, point.group, strict=True)),
                "n": point.n,
                "ms": point.ms,
                "few": point.few,
            }
            for point in points
            if point.end == end
        ],
    }
    return Event("quantile", encode(body).body)


class NewEvents:
    """Reports and marks that some tenants may see, from now on, each once."""

    def __init__(self, tenants: Sequence[str]) -> None:
        """Begin now; no tenants: all."""
        self._tenants = tuple(tenants)
        self._begun = datetime.now(UTC)
        self._told: deque[str] = deque(maxlen=4 * MOST)

    def ask(self, store: Store) -> list[Event]:
        """What is new since the last time."""
        now = datetime.now(UTC)
        span = Window(max(self._begun, now - BACK), now + AHEAD)
        reports = list_reports(store, span, tenants=self._tenants, limit=MOST).items
        marks = list_marks(store, span, tenants=self._tenants, limit=MOST).items
        told = [_of_report(each) for each in reversed(reports)] + [_of_mark(each) for each in reversed(marks)]
        new = [(key, event) for key, event in told if key not in self._told]
        self._told.extend(key for key, _ in new)
        return [event for _, event in new]


def reports_since(store: Store, number: str, tenants: Sequence[str]) -> list[Event]:
    """The reports after the one of this number, a day's at most, oldest first; none for what is no number."""
    stamp = number.partition("-")[0]
    if not stamp.isdecimal() or len(stamp) > 17:
        return []
    now = datetime.now(UTC)
    start = max(now - RESUMED, min(time_at(int(stamp)), now))
    found = list_reports(store, Window(start, now + AHEAD), tenants=tenants, limit=MOST).items
    events = [_of_report(each)[1] for each in reversed(found)]
    return [event for event in events if event.number != number]


def _of_report(report: KeptReport) -> tuple[str, Event]:
    number = f"{microseconds(report.time)}-{report.words['hash'][:12]}"
    event = Event("report", encode(report.as_dict()).body, number)
    return f"report {number} {report.words['incident']}", event


def _of_mark(mark: MarkRow) -> tuple[str, Event]:
    event = Event("mark", encode(mark.as_dict()).body)
    return f"mark {mark.time} {mark.kind} {mark.name} {mark.service}", event
