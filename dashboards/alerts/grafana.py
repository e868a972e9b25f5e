"""Grafana-managed rules over the ClickHouse data source: files of provisioning, and bodies of its API.

Each rule is one statement that gives one number, how many times over its alerting burn rate an
objective's budget burns (the least of a pair's two windows, the most of the pairs), reduced to its last
value and held against 1. The same statement counts as the service does, from the requests, so all limits
at once and any limit are exact.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from otel_attrib.analytics.alerting.kinds import BURNS, GRAFANA, LATENCY_REGRESSION
from otel_attrib.analytics.alerting.links import Links
from otel_attrib.analytics.objectives import Objective
from otel_attrib.dashboards.alerts.burn_rule import BurnRule, burn_rules
from otel_attrib.dashboards.alerts.clickhouse import burn_sql, incidents_sql
from otel_attrib.dashboards.alerts.written import RuleFile, as_yaml
from otel_attrib.dashboards.config import DATASOURCE_TYPE, DATASOURCE_UID, FOLDER, PLUGIN_VERSION

__all__ = ["api_bodies", "grafana_rules"]

EXPRESSION = "__expr__"
SECONDS = 600  # Grafana wants a range with every query; the statement has its own
HEAD = """\
# Alert rules for Grafana, made by `otel-attrib alerts export --format grafana`; for its folder
# provisioning/alerting. Make them anew instead of editing them.
"""


def grafana_rules(
    objectives: Sequence[Objective], links: Links, datasource: str = DATASOURCE_UID
) -> RuleFile:
    """Return the file for provisioning/alerting; `datasource` is the uid of the ClickHouse data source."""
    content = {"apiVersion": 1, "groups": _groups(objectives, links, datasource)}
    warnings = tuple(
        f"{objective.name}: it counts slices of time; its rule counts requests"
        for objective in objectives
        if objective.slices is not None
    )
    return RuleFile(HEAD + as_yaml(content), warnings)


def api_bodies(objectives: Sequence[Objective], links: Links, datasource: str = DATASOURCE_UID) -> str:
    """Return the same as a list of bodies for POST /api/v1/provisioning/alert-rules."""
    bodies = [
        {
            **rule,
            "folderUID": FOLDER,
            "ruleGroup": group["name"],
            "orgID": 1,
        }
        for group in _groups(objectives, links, datasource)
        for rule in group["rules"]
    ]
    return json.dumps(bodies, indent=2, ensure_ascii=False) + "\n"


def _groups(objectives: Sequence[Objective], links: Links, datasource: str) -> list[dict[str, Any]]:
    rules = [rule for objective in objectives for rule in burn_rules(objective)]
    pages, tickets = (
        [_burn(rule, links, datasource) for rule in rules if rule.severity == severity] for severity in BURNS
    )
    groups = [
        ("otel-attrib pages", "1m", pages),
        ("otel-attrib tickets", "5m", tickets),
        ("otel-attrib incidents", "1m", [_incidents(links, datasource)]),
    ]
    return [
        {"orgId": 1, "name": name, "folder": FOLDER, "interval": interval, "rules": own}
        for name, interval, own in groups
        if own
    ]


def _burn(rule: BurnRule, links: Links, datasource: str) -> dict[str, Any]:
    name = rule.objective.name
    return _rule(
        f"{rule.name}: {name}",
        burn_sql(rule.objective, rule.pairs),
        datasource,
        labels={"alertname": rule.name, **rule.labels(GRAFANA)},
        annotations={
            "summary": f"{rule.title} burns its budget {{{{ $values.B }}}} times faster than an alert allows",
            "description": f"An alert at a burn rate of {rule.windows}.",
            "objective_url": links.objective(name),
            "runbook_url": links.runbook(rule.name),
        },
        above=1.0,
    )


def _incidents(links: Links, datasource: str) -> dict[str, Any]:
    return _rule(
        LATENCY_REGRESSION,
        incidents_sql(),
        datasource,
        labels={"alertname": LATENCY_REGRESSION, "severity": "ticket", "source": GRAFANA},
        annotations={
            "summary": "{{ $labels.service }} {{ $labels.model }}: the tail of {{ $labels.metric }}"
            " is slower than it was",
            "description": "What was found: otel-attrib reports {{ $labels.incident }}",
            "report_url": f"{links.page}/#/reports/{{{{ $labels.incident }}}}" if links.page else "",
            "runbook_url": links.runbook(LATENCY_REGRESSION),
        },
        above=0.0,
    )


def _rule(
    title: str,
    sql: str,
    datasource: str,
    labels: dict[str, str],
    annotations: dict[str, str],
    above: float,
) -> dict[str, Any]:
    return {
        "uid": _uid(title),
        "title": title,
        "condition": "C",
        "data": [_query(sql, datasource), _reduce(), _threshold(above)],
        # No row is no request, or nothing open: neither is a fault. A statement that fails is one.
        "noDataState": "OK",
        "execErrState": "Error",
        "for": "0s",
        "annotations": {key: text for key, text in annotations.items() if text},
        "labels": labels,
        "isPaused": False,
    }


def _uid(title: str) -> str:
    """Return an uid that is the same for the same rule; Grafana takes 40 letters at most."""
    return f"otel-attrib-{hashlib.sha256(title.encode()).hexdigest()[:20]}"


def _query(sql: str, datasource: str) -> dict[str, Any]:
    model = {
        "datasource": {"type": DATASOURCE_TYPE, "uid": datasource},
        "editorType": "sql",
        "format": 1,
        "pluginVersion": PLUGIN_VERSION,
        "queryType": "table",
        "rawSql": sql,
        "refId": "A",
    }
    return _part("A", datasource, model, SECONDS)


def _reduce() -> dict[str, Any]:
    return _expression("B", {"type": "reduce", "expression": "A", "reducer": "last"})


def _threshold(above: float) -> dict[str, Any]:
    condition = {"evaluator": {"type": "gt", "params": [above]}}
    return _expression("C", {"type": "threshold", "expression": "B", "conditions": [condition]})


def _expression(ref: str, model: dict[str, Any]) -> dict[str, Any]:
    whole = {"refId": ref, "datasource": {"type": EXPRESSION, "uid": EXPRESSION}, **model}
    return _part(ref, EXPRESSION, whole, 0)


def _part(ref: str, datasource: str, model: dict[str, Any], seconds: int) -> dict[str, Any]:
    return {
        "refId": ref,
        "relativeTimeRange": {"from": seconds, "to": 0},
        "datasourceUid": datasource,
        "model": model,
    }
