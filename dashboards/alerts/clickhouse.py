"""Statements of Grafana's alert rules. Grafana binds no values, so they are written into the text, quoted."""

from collections.abc import Sequence

from otel_attrib.analytics.objectives import BurnPair, Objective
from otel_attrib.analytics.objectives.outcome import conditions
from otel_attrib.analytics.windows import duration_text
from otel_attrib.dashboards.target import literal, sql

__all__ = ["burn_sql", "incidents_sql"]

UNITS = {"s": "SECOND", "m": "MINUTE", "h": "HOUR", "d": "DAY", "w": "WEEK"}


def burn_sql(objective: Objective, pairs: Sequence[BurnPair]) -> str:
    """Return a statement of one row, `burning`: how many times the alerting rate; 0 without requests."""
    columns, most = [], []
    names = [("joint", objective.limits)] if objective.joint else [(x.metric, (x,)) for x in objective.limits]
    for name, limits in names:
        found = conditions(limits, name)
        bad, judged = (
            _written(text, found.bound) for text in (found.bad, f"({found.good}) OR ({found.bad})")
        )
        for window in sorted({w for pair in pairs for w in (pair.short, pair.long)}):
            column = f"{name}_{duration_text(window)}"
            since = f"time >= now64(6) - INTERVAL {_interval(duration_text(window))}"
            columns.append(
                f"sumIf(weight, ({bad}) AND {since}) / sumIf(weight, ({judged}) AND {since})"
                f" / {objective.budget:.10g} AS {column}"
            )
        most += [
            f"ifNotFinite(least({name}_{duration_text(pair.long)}, {name}_{duration_text(pair.short)}), 0)"
            f" / {pair.factor:g}"
            for pair in pairs
        ]
    longest = _interval(duration_text(max(pair.long for pair in pairs)))
    worst = f"greatest({', '.join(most)})" if len(most) > 1 else most[0]
    return (
        f"SELECT {worst} AS burning\nFROM\n(\n    SELECT\n        "
        + ",\n        ".join(columns)
        + "\n    FROM requests\n"
        + f"    WHERE time >= now64(6) - INTERVAL {longest} AND {_where(objective)}\n)"
    )


def incidents_sql() -> str:
    """Return a statement of one row for each open incident, with what tells it apart."""
    return sql("open_incidents")


def _interval(text: str) -> str:
    return f"{text[:-1]} {UNITS[text[-1]]}"


def _where(objective: Objective) -> str:
    conditions = (
        f"{name} IN ({', '.join(map(literal, values))})" for name, values in objective.where.allowed
    )
    return " AND ".join(conditions) or "1"


def _written(text: str, bound: dict[str, float]) -> str:
    for name, value in bound.items():
        text = text.replace(f"{{{name}:Float64}}", f"{value:.15g}")
    return text
