"""Sliding quantiles from a user's words to JSON: the same for the command and for the service."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from otel_attrib.analytics.filters import EVERY_REQUEST, Filter
from otel_attrib.analytics.metric import metric_named
from otel_attrib.analytics.quantiles import Point, Sliding, slide
from otel_attrib.analytics.question import check_level, end_of
from otel_attrib.analytics.windows import parse_duration, parse_window, rfc3339
from otel_attrib.errors import UsageError
from otel_attrib.schema.store import Store

__all__ = ["SCHEMA", "Words", "ask_quantiles", "dimensions", "quantiles_object"]

SCHEMA = "otel-attrib/quantiles/1"


@dataclass(frozen=True, slots=True)
class Words:
    """What a user says of a sliding quantile; durations and times are still text."""

    metric: str = "ttft"
    quantile: float = 0.99
    window: str = "5m"
    step: str = "1m"
    last: str = "15m"
    by: str = ""
    where: Filter = EVERY_REQUEST
    at: str = "now"
    exact: bool = False

    def sliding(self, end: datetime) -> Sliding:
        """The question that they ask, looking back from `end`."""
        return Sliding(
            metric=metric_named(self.metric),
            level=check_level(self.quantile),
            window=int(parse_duration(self.window).total_seconds()),
            step=int(parse_duration(self.step).total_seconds()),
            span=parse_window(self.last, end),
            by=dimensions(self.by),
            where=self.where,
            exact=self.exact,
        )


def ask_quantiles(store: Store, words: Words) -> tuple[Sliding, list[Point]]:
    """The question with its times, and its answer."""
    asked = words.sliding(end_of(store, words.at, words.where))
    return asked, slide(store, asked)


def dimensions(words: str) -> tuple[str, ...]:
    """Read the value of `--by`: names between commas, each once."""
    names = tuple(name.strip() for name in words.split(",") if name.strip())
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"--by {words} names {twice} twice; name each dimension once")
    return names


def quantiles_object(question: Sliding, points: list[Point]) -> dict[str, Any]:
    """The numbers and what they are, for JSON."""
    asked = question.on_states()
    bound = asked.bound()
    return {
        "schema": SCHEMA,
        "metric": asked.metric.name,
        "quantile": asked.level,
        "definition": asked.metric.definition,
        "window_s": asked.window,
        "step_s": asked.step,
        "exact": asked.exact,
        "error": {"relative": bound.relative, "against": bound.against},
        "where": asked.where.as_dict(),
        "points": [
            {
                "end": rfc3339(point.end),
                **dict(zip(asked.by, point.group, strict=True)),
                "n": point.n,
                "ms": point.ms,
                "few": point.few,
            }
            for point in points
        ],
    }
