"""A heat map from a user's words to JSON: the same for the command and for the service."""

from collections.abc import Sequence
from typing import Any

from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.heatmap import Heatmap, HeatmapAsked, fitting_step, heatmap
from otel_attrib.analytics.mark_list import MarkRow, marks_within
from otel_attrib.analytics.metric import metric_named
from otel_attrib.analytics.question import check_level, end_of
from otel_attrib.analytics.windows import parse_duration, parse_window, rfc3339
from otel_attrib.schema.store import Store

__all__ = ["COLUMNS", "ROWS", "SCHEMA", "ask_heatmap", "heatmap_asked", "heatmap_object"]

SCHEMA = "otel-attrib/heatmap/1"
COLUMNS, ROWS = 120, 48
"""At most so many of each where nothing else is asked for."""


def ask_heatmap(
    store: Store,
    metric: str,
    level: float,
    last: str,
    step: str | None,
    bins: int,
    where: Filter,
    at: str,
    tenants: Sequence[str] = (),
) -> dict[str, Any]:
    """Ask `store`, and return what `otel-attrib heatmap --json` prints; marks are those of `tenants`."""
    found = heatmap(store, heatmap_asked(store, metric, level, last, step, bins, where, at))
    return heatmap_object(found, marks_within(store, found.asked.span, where, tenants))


def heatmap_asked(
    store: Store,
    metric: str,
    level: float,
    last: str,
    step: str | None,
    bins: int,
    where: Filter,
    at: str,
    columns: int = COLUMNS,
) -> HeatmapAsked:
    """The question that these words ask; without a step the shortest usual one of at most `columns`."""
    span = parse_window(last, end_of(store, at, where))
    seconds = int(parse_duration(step).total_seconds()) if step else 60
    asked = HeatmapAsked(metric_named(metric), check_level(level), seconds, bins, span, where)
    if step:
        return asked
    return HeatmapAsked(
        asked.metric, asked.level, fitting_step(store, asked, columns), bins, span, asked.where
    )


def heatmap_object(found: Heatmap, marks: Sequence[MarkRow]) -> dict[str, Any]:
    """The picture and what it is, for JSON; `cells` are [column, row, count] of those that hold something."""
    asked = found.asked
    cells = zip(found.columns.tolist(), found.rows.tolist(), found.counts.tolist(), strict=True)
    return {
        "schema": SCHEMA,
        "metric": asked.metric.name,
        "definition": asked.metric.definition,
        "unit": "ms",
        "where": asked.where.as_dict(),
        "step_s": asked.step,
        "times": [rfc3339(start) for start in found.starts],
        "end": rfc3339(asked.span.end),
        "edges_ms": list(found.edges_ms),
        "cells": [list(cell) for cell in cells],
        "quantile": asked.level,
        "quantile_ms": list(found.line_ms),
        "error": {"relative": found.bound.relative, "against": found.bound.against},
        "n": found.n,
        "marks": [mark.as_dict() for mark in marks],
        "source": asked.source,
    }
