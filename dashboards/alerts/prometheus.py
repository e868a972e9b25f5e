"""The rule file for Prometheus: burn rates of objectives, the detector's incidents, and the service's own
health."""

from collections.abc import Sequence
from typing import Any

from otel_attrib.analytics.alerting.kinds import LATENCY_REGRESSION, PROMETHEUS
from otel_attrib.analytics.alerting.links import Links
from otel_attrib.analytics.objectives import Objective
from otel_attrib.dashboards.alerts.burn_rule import BurnRule, burn_rules
from otel_attrib.dashboards.alerts.health import health_rules
from otel_attrib.dashboards.alerts.promql import Record, burning, burning_gauge, records
from otel_attrib.dashboards.alerts.selector import obstacle, untellable
from otel_attrib.dashboards.alerts.written import RuleFile, as_yaml

__all__ = ["prometheus_rules"]

HEAD = """\
# Rules for Prometheus, made by `otel-attrib alerts export`; make them anew instead of editing them.
# They read what `otel-attrib up` shows at /metrics. Check them with `promtool check rules`.
"""


def prometheus_rules(
    objectives: Sequence[Objective], links: Links, labels: Sequence[str] = (), nearest: bool = False
) -> RuleFile:
    """Return the rules; `labels` are the words of setting `metrics_labels`.

    With `nearest` a limit between two bounds is judged at the one above; without it, and for whatever else a
    histogram cannot tell, the burn rates that the service exports are taken.
    """
    groups, warnings = [], []
    for objective in objectives:
        found = obstacle(objective, labels)
        above = nearest and not untellable(objective, labels)
        groups.append(_group(objective, links, labels, exported=bool(found) and not above))
        if found:
            way = "judged at the bound above" if above else "taken from the service's own burn rates"
            warnings.append(f"{objective.name}: {found}: {way}")
    groups += [_incidents(links), {"name": "otel-attrib", "rules": list(health_rules(links))}]
    return RuleFile(HEAD + as_yaml({"groups": groups}), tuple(warnings))


def _group(objective: Objective, links: Links, labels: Sequence[str], exported: bool) -> dict[str, Any]:
    recorded = [] if exported else [_record(each) for each in records(objective, labels)]
    return {
        "name": f"otel-attrib-slo-{objective.name}",
        "interval": "30s",
        "rules": [*recorded, *(_alert(rule, links, exported) for rule in burn_rules(objective))],
    }


def _record(record: Record) -> dict[str, Any]:
    return {"record": record.name, "expr": record.expr, "labels": record.labels}


def _alert(rule: BurnRule, links: Links, exported: bool) -> dict[str, Any]:
    condition = burning_gauge if exported else burning
    return {
        "alert": rule.name,
        "expr": condition(rule.objective, rule.pairs),
        "labels": rule.labels(PROMETHEUS),
        "annotations": _annotations(rule, links),
    }


def _annotations(rule: BurnRule, links: Links) -> dict[str, str]:
    words = {
        "summary": f"{rule.title} burns its budget: {{{{ $value | humanizePercentage }}}} of the requests are"
        f" bad, {100 * rule.objective.budget:.4g} % may be",
        "description": f"An alert at a burn rate of {rule.windows}."
        " Why: otel-attrib alerts, or otel-attrib why.",
        "objective_url": links.objective(rule.objective.name),
        "runbook_url": links.runbook(rule.name),
    }
    return {key: text for key, text in words.items() if text}


FOUND = """{{ with printf "otel_attrib_incident{incident='%s'}" $labels.incident | query }}\
{{ . | first | label "WORD" }}{{ end }}"""


def _incidents(links: Links) -> dict[str, Any]:
    """The detector's incidents: what was found may change, so it is asked for and is no label."""
    verdict, layer = FOUND.replace("WORD", "verdict"), FOUND.replace("WORD", "layer")
    words = {
        "summary": "{{ $labels.service_name }} {{ $labels.gen_ai_request_model }}: the tail of"
        f" {{{{ $labels.metric | toUpper }}}} is slower than it was. {verdict} {layer}",
        "description": "What was found: otel-attrib reports {{ $labels.incident }}",
        "report_url": f"{links.page}/#/reports/{{{{ $labels.incident }}}}" if links.page else "",
        "runbook_url": links.runbook(LATENCY_REGRESSION),
    }
    rule = {
        "alert": LATENCY_REGRESSION,
        "expr": "max by (service_name, gen_ai_request_model, metric, incident, severity) "
        f'(otel_attrib_incident{{alertname="{LATENCY_REGRESSION}"}}) == 1',
        "labels": {
            "service": "{{ $labels.service_name }}",
            "model": "{{ $labels.gen_ai_request_model }}",
            "source": PROMETHEUS,
        },
        "annotations": {key: text for key, text in words.items() if text},
    }
    return {"name": "otel-attrib-incidents", "interval": "15s", "rules": [rule]}
