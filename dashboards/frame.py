"""What all dashboards have: variables, marks and verdicts as annotations, links to one another."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import AnnotationQuery, AnnotationTarget, DashboardCursorSync

from otel_attrib.dashboards import variables
from otel_attrib.dashboards.config import EDITS_BY_HAND, PAGE_URL, RANGE, REFRESH, TAG
from otel_attrib.dashboards.current import current
from otel_attrib.dashboards.links import beside, to_page
from otel_attrib.dashboards.palette import COLORS
from otel_attrib.dashboards.panels import AnyPanel, source
from otel_attrib.dashboards.target import raw_target, sql

__all__ = ["Part", "framed", "to_json"]

Part = tuple[str, Sequence[AnyPanel]]
"""A row of the dashboard: its title ("" for none) and its panels from left to right."""

_ANNOTATIONS: Final = {"Marks": ("marks", COLORS["blue"]), "Verdicts": ("verdict_marks", COLORS["vermilion"])}


def framed(
    name: str,
    title: str,
    about: str,
    parts: Iterable[Part],
    page: str = PAGE_URL,
    own: Sequence[variables.Variable] = (),
    clickhouse: bool = True,
    prometheus: bool = False,
) -> dashboard.Dashboard:
    """The dashboard as a builder, so that a site can add its own panels.

    `own` variables stand behind those that all share; annotations come from the ClickHouse store.
    """
    board = (
        dashboard.Dashboard(title)
        .uid(f"otel-attrib-{name}")
        .description(about)
        .tags([TAG, "llm"])
        .time(*RANGE)
        .refresh(REFRESH)
        .timezone("browser")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .link(beside())
        .link(to_page())
    )
    board = board.editable() if EDITS_BY_HAND else board.readonly()
    shared: list[variables.Variable] = [variables.store(), *variables.choices()] if clickhouse else []
    found = [*shared, *([variables.prometheus()] if prometheus else []), variables.page(page), *own]
    for variable in found:
        board = board.with_variable(variable)
    if clickhouse:
        for label, (query, color) in _ANNOTATIONS.items():
            board = board.annotation(_Annotation(label, sql(query), color))
    return _filled(board, parts)


def to_json(board: dashboard.Dashboard) -> str:
    """The dashboard as Grafana imports it."""
    built = json.loads(json.dumps(board.build(), cls=JSONEncoder))
    return json.dumps(current(built), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _filled(board: dashboard.Dashboard, parts: Iterable[Part]) -> dashboard.Dashboard:
    """Put rows and panels below one another; ids count up, so that the same code gives the same links."""
    count = 0
    for heading, panels in parts:
        if heading:
            count += 1
            board = board.with_row(dashboard.Row(heading).id(count))
        for panel in panels:
            count += 1
            board = board.with_panel(_Numbered(panel, count))
    return board


class _Numbered(AnyPanel):
    """A panel with its id, which builders of all kinds take."""

    def __init__(self, panel: AnyPanel, number: int) -> None:
        self._panel, self._number = panel, number

    def build(self) -> Any:
        """Build the panel and number it."""
        built = self._panel.build()
        built.id_val = self._number
        return built


class _Annotation(dashboard.AnnotationQuery):
    """An annotation from a statement; the SDK's targets know Grafana's own store only."""

    def __init__(self, name: str, statement: str, color: str) -> None:
        super().__init__()
        self.name(name).datasource(source()).enable(True).icon_color(color)
        self._statement = statement

    def build(self) -> AnnotationQuery:
        """Build it, the statement as its target."""
        built = super().build()
        built.target = cast(AnnotationTarget, raw_target(self._statement))
        return built
