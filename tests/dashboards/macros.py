"""What Grafana and the ClickHouse data source make of a statement before it is sent.

Written from the plugin's documentation (github.com/grafana/clickhouse-datasource, README and docs of 4.x:
macros, template variables) and from Grafana's on formats of variables. It is a second implementation, for
tests: the plugin itself cannot run here. A macro that it does not know is left in place, and the store
refuses it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

__all__ = ["View"]

ALL = "$__all"


@dataclass(frozen=True)
class View:
    """A dashboard as somebody looks at it: the range, the interval of a panel, the values chosen."""

    begin: datetime
    end: datetime
    interval_s: int = 10
    chosen: Mapping[str, str | Sequence[str]] = field(default_factory=dict)

    def expanded(self, sql: str) -> str:
        """The statement as it reaches ClickHouse."""
        text = self._conditional(sql)
        text = re.sub(r"\$\{(\w+):singlequote\}", lambda found: self._quoted(found[1]), text)
        for name, macro in self._macros().items():
            text = re.sub(rf"\$__{name}\(([\w.]+)\)", macro, text)
        for name, value in self._words().items():
            text = re.sub(rf"\$__{name}\b", value, text)
        return text

    def _conditional(self, sql: str) -> str:
        """`$__conditionalAll(condition, $name)`: 1=1 where all values are chosen, else the condition."""
        start = "$__conditionalAll("
        while (at := sql.rfind(start)) >= 0:
            end = _closing(sql, at + len(start) - 1)
            condition, name = sql[at + len(start) : end].rsplit(",", 1)
            everything = self.chosen.get(name.strip().removeprefix("$"), ALL) == ALL
            sql = sql[:at] + ("1=1" if everything else condition) + sql[end + 1 :]
        return sql

    def _quoted(self, name: str) -> str:
        """The format `singlequote`: each value in quotes, quotes in it with a backslash, commas between."""
        value = self.chosen[name]
        values = [value] if isinstance(value, str) else value
        return ",".join("'" + one.replace("'", "\\'") + "'" for one in values)

    def _macros(self) -> dict[str, Callable[[re.Match[str]], str]]:
        begin, end = (f"toDateTime({int(moment.timestamp())})" for moment in (self.begin, self.end))
        return {
            "timeFilter": lambda found: f"{found[1]} >= {begin} AND {found[1]} <= {end}",
            "timeInterval": lambda found: (
                f"toStartOfInterval(toDateTime({found[1]}), INTERVAL {self.interval_s} second)"
            ),
        }

    def _words(self) -> dict[str, str]:
        return {
            "fromTime": f"toDateTime({int(self.begin.timestamp())})",
            "toTime": f"toDateTime({int(self.end.timestamp())})",
            "interval_s": str(self.interval_s),
        }


def _closing(text: str, at: int) -> int:
    """Where the bracket that opens at `at` closes."""
    depth = 0
    for place in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place
    raise ValueError(f"a bracket stays open: {text[at : at + 60]}")
