"""A heat map from a user's words to JSON: the same for the command and for the service."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from otel_attrib.analytics.filters import EVERY_REQUEST, Filter
from otel_attrib.analytics.heatmap import MINUTE, Heatmap, HeatmapAsked, fitting_step, heatmap
from otel_attrib.analytics.mark_list import MarkRow, marks_within
from otel_attrib.analytics.metric import metric_named
from otel_attrib.analytics.question import check_level, end_of
from otel_attrib.analytics.windows import parse_duration, parse_window, rfc3339
from otel_attrib.schema.store import Store

__all__ = ["COLUMNS", "ROWS", "SCHEMA", "Words", "ask_heatmap", "heatmap_object"]

SCHEMA = "otel-attrib/heatmap/1"
COLUMNS, ROWS = 120, 48
"""At most so many of each where nothing else is asked for."""


@dataclass(frozen=True, slots=True)
class Words:
    """What a user says of a heat map; durations and times are still text."""

    metric: str = "ttft"
    quantile: float = 0.99
    last: str = "1h"
    step: str | None = None
    bins: int = ROWS
    where: Filter = EVERY_REQUEST
    at: str = "now"

    def asked(self, store: Store, columns: int) -> HeatmapAsked:
        """The question that they ask; without a step the shortest usual one of at most `columns`."""
        span = parse_window(self.last, end_of(store, self.at, self.where))
        step = int(parse_duration(self.step).total_seconds()) if self.step else MINUTE
        metric, level = metric_named(self.metric), check_level(self.quantile)
        asked = HeatmapAsked(metric, level, step, self.bins, span, self.where)
        return asked if self.step else replace(asked, step=fitting_step(store, asked, columns))


def ask_heatmap(
    store: Store, words: Words, tenants: Sequence[str] = (), columns: int = COLUMNS
) -> tuple[Heatmap, list[MarkRow]]:
    """The picture that these words ask for, and the marks in its span that are for `tenants` to see."""
    found = heatmap(store, words.asked(store, columns))
    return found, marks_within(store, found.asked.span, words.where, tenants)


def heatmap_object(found: Heatmap, marks: Sequence[MarkRow]) -> dict[str, Any]:
    """What `otel-attrib heatmap --json` prints: the picture and what it is.

    `cells` are [column, row, count] of those that hold something.
    """
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
