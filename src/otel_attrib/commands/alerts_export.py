"""`alerts export`: rules of the objectives for Prometheus or Grafana."""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from otel_attrib.errors import UsageError

if TYPE_CHECKING:
    from otel_attrib.analytics.objectives import Objective

__all__ = ["run"]


def run(args: argparse.Namespace, words: Sequence[str]) -> int:
    """Write them; what they cannot say exactly is told on standard error."""
    from pathlib import Path

    from otel_attrib.commands.slo_file import objectives_if_any

    if args.format is None:
        raise UsageError("say whose rules: --format prometheus, grafana or grafana-api")
    text, warnings = _rules(args, objectives_if_any(args.slo))
    for warning in warnings:
        print(f"otel-attrib alerts: {warning}", file=sys.stderr)
    if not args.out:
        sys.stdout.write(text)
        return 0
    try:
        Path(args.out).write_text(text, "utf-8")
    except OSError as fault:
        raise UsageError(f"--out {args.out}: {fault.strerror or fault}") from fault
    print(f"wrote {args.out}")
    return 0


def _rules(args: argparse.Namespace, objectives: "tuple[Objective, ...]") -> tuple[str, tuple[str, ...]]:
    from otel_attrib.analytics.alerting.links import Links
    from otel_attrib.config import load
    from otel_attrib.dashboards.alerts import grafana_rules, prometheus_rules
    from otel_attrib.dashboards.alerts.grafana import api_bodies
    from otel_attrib.dashboards.config import DATASOURCE_UID

    settings = load()
    links = Links.of(settings, args.url or "")
    source = args.datasource or DATASOURCE_UID
    if args.format == "grafana-api":
        return api_bodies(objectives, links, source), ()
    if args.format == "grafana":
        file = grafana_rules(objectives, links, source)
    else:
        _refuse(args, objectives, settings.metrics_labels)
        file = prometheus_rules(objectives, links, settings.metrics_labels, args.limits == "nearest")
    return file.text, file.warnings


def _refuse(args: argparse.Namespace, objectives: "Sequence[Objective]", labels: Sequence[str]) -> None:
    from otel_attrib.dashboards.alerts.selector import obstacle

    found = [f"{one.name}: {why}" for one in objectives if (why := obstacle(one, labels))]
    if args.limits == "refuse" and found:
        raise UsageError(f"histograms cannot tell these objectives exactly: {'; '.join(found)}")
