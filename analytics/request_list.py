"""Requests behind a dot: the slowest or the newest of a window, page by page.

`above_ms` and `below_ms` keep values in [above, below), as the bins of a heat map do. A request's TBT is its
longest gap, and between two limits lie the requests that have a gap there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from struct import pack, unpack
from typing import Any, Literal

from otel_attrib.analytics.cursor import Key, Page, Place, paged
from otel_attrib.analytics.filters import DIMENSIONS, EVERY_REQUEST, Filter, check_dimensions
from otel_attrib.analytics.metric import Metric
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import Window
from otel_attrib.errors import UsageError
from otel_attrib.schema.attributes import STAGES
from otel_attrib.schema.epoch import microseconds, time_at
from otel_attrib.schema.store import Store

__all__ = ["ORDERS", "Order", "RequestRow", "RequestsAsked", "list_requests"]

Order = Literal["slowest", "newest"]
ORDERS: tuple[Order, ...] = ("slowest", "newest")
SHOWN = ("trace_id", "span_id", "request_id", "service", "model", "tenant", "node", "gpu_set", "status")
LATENCIES = ("ttft", "tpot", "e2e")
COUNTS = ("prompt_tokens", "output_tokens", "weight")
WHOLE = (*SHOWN, *COUNTS, *(f"{name}_us" for name in (*LATENCIES, *STAGES)))
LOOKS_BACK = (timedelta(minutes=1), timedelta(minutes=15), timedelta(hours=4))
TYPES = {"slowest": (int, int, str, str, str), "newest": (int, str, str, str)}


@dataclass(frozen=True, slots=True)
class RequestsAsked:
    """Which requests: of a span, with a metric between two limits in ms (the upper one excluded)."""

    metric: Metric
    span: Window
    where: Filter = EVERY_REQUEST
    above_ms: float | None = None
    below_ms: float | None = None
    order: Order = "slowest"

    def check(self) -> None:
        """Refuse what holds nothing, or is no condition."""
        check_dimensions(self.where.names(), DIMENSIONS)
        low, high = self.above_ms or 0.0, inf if self.below_ms is None else self.below_ms
        if not 0 <= low < inf or not low < high:
            raise UsageError(f"no latency lies from {low:g} ms up to {high:g} ms")

    def question(self) -> dict[str, Any]:
        """Return what a cursor belongs to: everything but the span, which it carries."""
        return {
            "list": "requests",
            "metric": self.metric.name,
            "where": [list(each) for each in self.where.allowed],
            "above_ms": self.above_ms,
            "below_ms": self.below_ms,
            "order": self.order,
        }


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request; latencies in ms, None where not observed; `value_us` is the metric asked for.

    `weight` is how many requests it stands for.
    """

    time: datetime
    words: Mapping[str, str]
    prompt_tokens: int
    output_tokens: int
    weight: int
    latencies_ms: Mapping[str, float | None]
    stages_ms: Mapping[str, float]
    value_us: float | None

    @property
    def at_us(self) -> int:
        """Return its arrival in µs since 1970."""
        return microseconds(self.time)


def list_requests(
    store: Store, asked: RequestsAsked, limit: int = 50, cursor: str | None = None
) -> Page[RequestRow]:
    """Return one page. The slowest leave out requests without the metric; so do limits."""
    asked.check()

    def read(span: Window, place: Place | None, most: int) -> list[RequestRow]:
        return _read(store, asked, span, place, most)

    key = _slowness if asked.order == "slowest" else _age
    return paged(asked.question(), asked.span, limit, cursor, read, key, TYPES[asked.order])


def _age(row: RequestRow) -> Key:
    words = row.words
    return row.at_us, words["trace_id"], words["span_id"], words["request_id"]


def _slowness(row: RequestRow) -> Key:
    return _bits(row.value_us or 0.0), *_age(row)


def _bits(value: float) -> int:
    """Write a float as the whole number with its bits: ordered alike from 0 on, and exact in any text."""
    return int(unpack("<q", pack("<d", value))[0])


def _read(
    store: Store, asked: RequestsAsked, span: Window, place: Place | None, most: int
) -> list[RequestRow]:
    """Rows alike in all of a key have an order of their own, which is asked for where a page cuts."""
    found = _tied(store, asked, span, place.key, place.skip, most) if place and place.skip else []
    if len(found) == most:
        return found
    for part in _parts(asked, span, place):
        rows = _rows(store, asked, part, place, most - len(found))
        if len(found) + len(rows) >= most or part.start == span.start:
            break
    return [*found, *_settled(store, asked, span, rows)]


def _settled(store: Store, asked: RequestsAsked, span: Window, rows: list[RequestRow]) -> list[RequestRow]:
    """Return the rows, the last ones in their own order if they are alike."""
    key = _slowness if asked.order == "slowest" else _age
    alike = sum(key(row) == key(rows[-1]) for row in rows)
    return rows if alike < 2 else [*rows[:-alike], *_tied(store, asked, span, key(rows[-1]), 0, alike)]


def _tied(
    store: Store, asked: RequestsAsked, span: Window, key: Key, skip: int, most: int
) -> list[RequestRow]:
    return _rows(store, asked, span, Place(key, skip), most, tied=True)


def _parts(asked: RequestsAsked, span: Window, place: Place | None) -> Iterator[Window]:
    """The newest are looked for in the last minute first, so that not every row is read for fifty."""
    end = span.end
    if asked.order == "newest":
        if place:
            end = min(end, time_at(int(place.key[0]) + 1))
        for length in LOOKS_BACK:
            if span.start < end - length:
                yield Window(end - length, end)
    yield Window(span.start, max(end, span.start + timedelta(microseconds=1)))


def _rows(
    store: Store,
    asked: RequestsAsked,
    span: Window,
    place: Place | None,
    most: int,
    tied: bool = False,
) -> list[RequestRow]:
    """Return rows after a place, or with `tied` those of its key alone, from the `skip`-th on."""
    low, high = 1000 * (asked.above_ms or 0.0), inf if asked.below_ms is None else 1000 * asked.below_ms
    value, inside = _value(asked.metric)
    bounded = asked.above_ms is not None or asked.below_ms is not None
    names = ("bits", "at_us", "trace_id", "span_id", "request_id")[asked.order == "newest" :]
    skip = place.skip if place and tied else 0
    bound = {**span.bounds_us(), **asked.where.parameters(), "most": most, "skip": skip}
    bound |= {f"last_{name}": part for name, part in zip(names, place.key, strict=True)} if place else {}
    sql = statement(
        "request_list",
        value=value,
        stages=", ".join(f"{stage}_us" for stage in STAGES),
        inside=inside if bounded else ("isNotNull(value)" if asked.order == "slowest" else "1"),
        where=asked.where.sql(),
        after=_after(names, "=" if tied else "<") if place else "1",
        order=", ".join(WHOLE if tied else (f"{name} DESC" for name in names)),
    )
    limits = {"low": low, "high": high} if bounded else {}
    return [_row(row) for row in store.rows(sql, {**bound, **limits})]


def _value(metric: Metric) -> tuple[str, str]:
    """Return SQL for a request's value in µs, and for its lying between the limits."""
    if metric.name != "tbt":
        return metric.value, "value >= {low:Float64} AND value < {high:Float64}"
    longest = "if(empty(gaps_us), gap_max_us, toFloat64(arrayMax(gaps_us)))"
    return longest, "arrayExists(gap -> gap >= {low:Float64} AND gap < {high:Float64}, gaps_us)"


def _after(names: tuple[str, ...], comparison: str) -> str:
    types = {"bits": "Int64", "at_us": "Int64"}
    last = ", ".join(f"{{last_{name}:{types.get(name, 'String')}}}" for name in names)
    return f"({', '.join(names)}) {comparison} ({last})"


def _row(row: Mapping[str, Any]) -> RequestRow:
    stages = {stage: row[f"{stage}_us"] for stage in STAGES}
    return RequestRow(
        time=time_at(int(row["at_us"])),
        words={name: str(row[name]) for name in SHOWN},
        **{name: int(row[name]) for name in COUNTS},
        latencies_ms={name: _ms(row[f"{name}_us"]) for name in LATENCIES},
        stages_ms={stage: us / 1000 for stage, us in stages.items() if us is not None},
        value_us=row["value"],
    )


def _ms(us: float | None) -> float | None:
    return None if us is None else us / 1000
