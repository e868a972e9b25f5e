"""The fleet dashboard: is the first token late, for whom, and what fills its tail."""

import json

from grafana_foundation_sdk.builders import common, dashboard, table, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import StackingMode
from grafana_foundation_sdk.models.dashboard import DataSourceRef, VariableRefresh

from otel_attrib.dashboards.config import DATASOURCE_TYPE, RANGE, REFRESH, VARIABLES
from otel_attrib.dashboards.target import SOURCE, Target

__all__ = ["fleet", "to_json"]

_WIDE, _HALF, _HEIGHT = 24, 12, 8


def fleet() -> dashboard.Dashboard:
    """The dashboard as a builder, so that a site can add its own panels."""
    board = (
        dashboard.Dashboard("LLM serving: why is the first token late")
        .uid("otel-attrib-fleet")
        .tags(["otel-attrib", "llm"])
        .time(*RANGE)
        .refresh(REFRESH)
        .with_variable(dashboard.DatasourceVariable("datasource").label("Store").type(DATASOURCE_TYPE))
    )
    for column, label in VARIABLES.items():
        board = board.with_variable(_variable(column, label))
    for panel in _panels():
        board = board.with_panel(panel)
    return board


def to_json(board: dashboard.Dashboard) -> str:
    """The dashboard as Grafana imports it."""
    return json.dumps(board.build(), cls=JSONEncoder, indent=2, sort_keys=True) + "\n"


def _variable(column: str, label: str) -> dashboard.QueryVariable:
    query = f"SELECT DISTINCT {column} FROM requests WHERE $__timeFilter(time) ORDER BY {column}"
    return (
        dashboard.QueryVariable(column)
        .label(label)
        .datasource(_source())
        .query(query)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .multi(True)
        .include_all(True)
    )


def _panels() -> list[timeseries.Panel | table.Panel]:
    return [
        _lines("TTFT, P99 and P50", "ttft_p99", "ms"),
        _lines("TPOT, P99 and P50", "tpot_p99", "ms"),
        _lines("What is in the slowest hundredth (not a cause)", "tail_stages", "ms", stacked=True),
        _lines("Requests and failures", "rate", "reqps"),
        _lines("Engine steps, batch, KV cache", "steps", "short", span=_WIDE),
        _table("Slowest first tokens", "slowest"),
    ]


def _lines(title: str, query: str, unit: str, stacked: bool = False, span: int = _HALF) -> timeseries.Panel:
    panel = timeseries.Panel().title(title).datasource(_source()).unit(unit).span(span).height(_HEIGHT)
    if stacked:
        panel = panel.stacking(_stacking()).fill_opacity(60)
    return panel.with_target(Target(query))


def _table(title: str, query: str) -> table.Panel:
    panel = table.Panel().title(title).datasource(_source()).span(_WIDE).height(_HEIGHT)
    return panel.with_target(Target(query, "table"))


def _stacking() -> common.StackingConfig:
    return common.StackingConfig().mode(StackingMode.NORMAL)


def _source() -> DataSourceRef:
    return DataSourceRef(type_val=SOURCE["type"], uid=SOURCE["uid"])
