"""One panel's query for Grafana's official ClickHouse data source."""

from importlib.resources import files
from typing import Any

from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.variants import Dataquery

from otel_attrib.dashboards.config import DATASOURCE_TYPE, PLUGIN_VERSION

__all__ = ["SOURCE", "Target", "sql"]

SOURCE = {"type": DATASOURCE_TYPE, "uid": "${datasource}"}


class _Query(Dataquery):
    """The JSON that the plugin keeps for a hand-written statement."""

    def __init__(self, raw_sql: str, kind: str, ref_id: str) -> None:
        self.raw_sql, self.kind, self.ref_id = raw_sql, kind, ref_id

    def to_json(self) -> dict[str, Any]:
        return {
            "datasource": SOURCE,
            "editorType": "sql",
            "format": 0 if self.kind == "timeseries" else 1,
            "pluginVersion": PLUGIN_VERSION,
            "queryType": self.kind,
            "rawSql": self.raw_sql,
            "refId": self.ref_id,
        }


class Target(Builder[Dataquery]):
    """The statement of `queries/NAME.sql`, as a time series or a table."""

    def __init__(self, name: str, kind: str = "timeseries", ref_id: str = "A") -> None:
        """Read the statement; a missing file is a fault of the dashboard."""
        self._query = _Query(sql(name), kind, ref_id)

    def build(self) -> Dataquery:
        """Return the query."""
        return self._query


def sql(name: str) -> str:
    """The text of `queries/NAME.sql`, macros of the plugin unexpanded."""
    return files("otel_attrib.dashboards").joinpath(f"queries/{name}.sql").read_text().strip()
