"""One panel's query: SQL for the official ClickHouse data source, or PromQL.

Statements lie in `queries/NAME.sql`. What they have in common stands here once and is put in for a word such
as `<<requests_filter>>`; macros of the plugin (`$__timeFilter`, `$__conditionalAll`, …) go out as they are.
"""

from importlib.resources import files
from typing import Any, Final

from grafana_foundation_sdk.builders import prometheus
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.variants import Dataquery

from otel_attrib.dashboards.config import DATASOURCE_TYPE, PLUGIN_VERSION, PROMETHEUS_TYPE

__all__ = ["PROMETHEUS", "SOURCE", "Target", "literal", "promql", "raw_target", "sql"]

SOURCE: Final = {"type": DATASOURCE_TYPE, "uid": "${datasource}"}
"""The ClickHouse data source that the viewer chose."""

PROMETHEUS: Final = {"type": PROMETHEUS_TYPE, "uid": "${prometheus}"}
"""The Prometheus that the viewer chose."""

_ESCAPED: Final = {
    "\\": "\\\\",
    "'": "\\'",
    "\n": "\\n",
    "$": "\\x24",
    "[": "\\x5B",
    "<": "\\x3C",
    "{": "\\x7B",
}

# The plugin's numbers of how rows become frames: a series per label, as they are, spans of one trace.
_FORMATS = {"timeseries": 0, "table": 1, "traces": 3}


def _chosen(*columns: str) -> str:
    """The viewer's choice, without a word where all is chosen: a list of every tenant would be long."""
    return " AND ".join(
        f"$__conditionalAll({name} IN (${{{name}:singlequote}}), ${name})" for name in columns
    )


FRAGMENTS: Final = {
    "requests_filter": _chosen("service", "model", "tenant", "node"),
    "steps_filter": _chosen("service", "node"),
    "node_filter": _chosen("node"),
    "service_filter": _chosen("service"),
    "this_trace": "trace_id = ${trace:singlequote}",
}
"""Word in a statement → what all statements put there."""


class _Query(Dataquery):
    """The JSON that the plugin keeps for a hand-written statement."""

    def __init__(self, raw_sql: str, kind: str, ref_id: str) -> None:
        self.raw_sql, self.kind, self.ref_id = raw_sql, kind, ref_id

    def to_json(self) -> dict[str, Any]:
        return {
            "datasource": SOURCE,
            "editorType": "sql",
            "format": _FORMATS[self.kind],
            "pluginVersion": PLUGIN_VERSION,
            "queryType": self.kind,
            "rawSql": self.raw_sql,
            "refId": self.ref_id,
        }


class Target(Builder[Dataquery]):
    """The statement of `queries/NAME.sql`, as a time series, a table or a trace."""

    def __init__(self, name: str, kind: str = "timeseries", ref_id: str = "A", **words: str) -> None:
        """Read the statement; a missing file or word is a fault of the dashboard."""
        self._query = _Query(sql(name, **words), kind, ref_id)

    def build(self) -> Dataquery:
        """Return the query."""
        return self._query


def raw_target(statement: str) -> dict[str, Any]:
    """The query of an annotation, which the SDK has no builder for."""
    return _Query(statement, "table", "annotation").to_json()


def sql(name: str, **words: str) -> str:
    """The text of `queries/NAME.sql`, our words put in, macros of the plugin unexpanded."""
    text = files("otel_attrib.dashboards").joinpath(f"queries/{name}.sql").read_text().strip()
    for word, value in {**words, **FRAGMENTS}.items():
        text = text.replace(f"<<{word}>>", value)
    if "<<" in text:
        raise ValueError(f"queries/{name}.sql lacks a value: {text[text.index('<<') :][:40]}")
    return text


def literal(value: str) -> str:
    """A string of ClickHouse's SQL without a variable for Grafana (`$x`, `[[x]]`) or a word of ours."""
    escaped = "".join(_ESCAPED.get(letter, letter) for letter in value)
    return f"'{escaped}'"


def promql(expression: str, legend: str, ref_id: str = "A") -> prometheus.Dataquery:
    """A range query; `legend` names its series, with `{{label}}`."""
    return prometheus.Dataquery().expr(expression).legend_format(legend).range().ref_id(ref_id)
