"""PromQL of burn rates: rates that are recorded, and the condition of several windows and burn rates."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from otel_attrib.analytics.objectives import BurnPair, Objective
from otel_attrib.analytics.windows import duration_text
from otel_attrib.dashboards.alerts.selector import Series, selector

__all__ = ["Record", "burning", "burning_gauge", "records"]

LONG = timedelta(hours=6)
"""Windows above it are made of recorded five-minute rates: a month of raw series is much to read."""

PREFIX = "otel_attrib:slo"


@dataclass(frozen=True, slots=True)
class Record:
    """One recording rule."""

    name: str
    expr: str
    labels: dict[str, str]


def records(objective: Objective, labels: Sequence[str] = ()) -> Iterator[Record]:
    """Yield what is recorded of an objective: for each limit the share of bad requests in each window."""
    where = selector(objective, labels)
    for limit in objective.limits:
        series = Series.of(limit, where)
        told = {"slo": objective.name, "limit": limit.metric}
        chosen = f'slo="{objective.name}",limit="{limit.metric}"'
        yield Record(f"{PREFIX}_bad:rate5m", _bad(series, "5m"), told)
        yield Record(f"{PREFIX}_total:rate5m", _total(series, "5m"), told)
        for window in _windows(objective):
            name = f"{PREFIX}_error:ratio_rate{duration_text(window)}"
            yield Record(name, _ratio(series, window, chosen), told)


def _windows(objective: Objective) -> list[timedelta]:
    pairs = objective.pairs()
    return sorted({pair.short for pair in pairs} | {pair.long for pair in pairs} | {objective.window})


def _ratio(series: Series, window: timedelta, chosen: str) -> str:
    text = duration_text(window)
    if window > LONG:
        sums = (f"sum_over_time({PREFIX}_{what}:rate5m{{{chosen}}}[{text}])" for what in ("bad", "total"))
        return " / ".join(sums)
    return f"({_bad(series, text)}) / ({_total(series, text)})"


def _rate(series: str, window: str) -> str:
    """Requests a second; 0 where there are none, so that a service that only fails is seen as well."""
    return f"(sum(rate({series}[{window}])) or vector(0))"


def _bad(series: Series, window: str) -> str:
    """Requests above the limit, and those that failed."""
    count, within, failed = (_rate(each, window) for each in (series.count, series.within, series.failed))
    return f"{count} - {within} + {failed}"


def _total(series: Series, window: str) -> str:
    return f"{_rate(series.count, window)} + {_rate(series.failed, window)}"


def burning(objective: Objective, pairs: Sequence[BurnPair]) -> str:
    """Return the condition that any pair burns: both of its windows, for the same limit."""
    return _any(_pair(objective, pair) for pair in pairs)


def _pair(objective: Objective, pair: BurnPair) -> str:
    limit = f"{pair.factor:g} * {objective.budget:.10g}"
    long, short = (
        f'{PREFIX}_error:ratio_rate{duration_text(window)}{{slo="{objective.name}"}} > ({limit})'
        for window in (pair.long, pair.short)
    )
    return f"({long} and {short})"


def burning_gauge(objective: Objective, pairs: Sequence[BurnPair]) -> str:
    """Return the same over the burn rates that the service exports, as a share of bad requests."""

    def pair_of(pair: BurnPair) -> str:
        long, short = (
            f'otel_attrib_slo_burn_rate{{slo="{objective.name}",window="{duration_text(window)}"}}'
            f" * {objective.budget:.10g} > ({pair.factor:g} * {objective.budget:.10g})"
            for window in (pair.long, pair.short)
        )
        return f"({long} and ignoring(window) {short})"

    return _any(pair_of(pair) for pair in pairs)


def _any(conditions: Iterator[str]) -> str:
    return "max by (slo) (\n  " + "\n  or ".join(conditions) + "\n)"
