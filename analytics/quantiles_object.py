"""Sliding quantiles from a user's words to JSON: the same for the command and for the service."""

from typing import Any

from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.metric import metric_named
from otel_attrib.analytics.quantiles import Point, Sliding, slide
from otel_attrib.analytics.question import check_level, end_of
from otel_attrib.analytics.windows import parse_duration, parse_window, rfc3339
from otel_attrib.errors import UsageError
from otel_attrib.schema.store import Store

__all__ = ["SCHEMA", "ask_quantiles", "dimensions", "quantiles_object", "sliding"]

SCHEMA = "otel-attrib/quantiles/1"


def ask_quantiles(
    store: Store,
    metric: str,
    level: float,
    window: str,
    step: str,
    last: str,
    by: str,
    where: Filter,
    at: str,
    exact: bool,
) -> dict[str, Any]:
    """Ask `store`, and return what `otel-attrib quantiles --json` prints."""
    asked = sliding(store, metric, level, window, step, last, by, where, at, exact)
    return quantiles_object(asked.on_states(), slide(store, asked))


def sliding(
    store: Store,
    metric: str,
    level: float,
    window: str,
    step: str,
    last: str,
    by: str,
    where: Filter,
    at: str,
    exact: bool,
) -> Sliding:
    """The question that these words ask."""
    return Sliding(
        metric=metric_named(metric),
        level=check_level(level),
        window=int(parse_duration(window).total_seconds()),
        step=int(parse_duration(step).total_seconds()),
        span=parse_window(last, end_of(store, at, where)),
        by=dimensions(by),
        where=where,
        exact=exact,
    )


def dimensions(words: str) -> tuple[str, ...]:
    """Read the value of `--by`: names between commas, each once."""
    names = tuple(name.strip() for name in words.split(",") if name.strip())
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"--by {words} names {twice} twice; name each dimension once")
    return names


def quantiles_object(asked: Sliding, points: list[Point]) -> dict[str, Any]:
    """The numbers and what they are, for JSON."""
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
