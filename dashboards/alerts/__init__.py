"""Alerts as rules, for sites whose Prometheus or Grafana evaluates: made from the same objectives."""

from otel_attrib.dashboards.alerts.grafana import grafana_rules
from otel_attrib.dashboards.alerts.prometheus import prometheus_rules
from otel_attrib.dashboards.alerts.written import RuleFile

__all__ = ["RuleFile", "grafana_rules", "prometheus_rules"]
