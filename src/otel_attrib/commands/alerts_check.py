"""`alerts check`: what would be watched and told, and by which rules; nothing is sent."""

import argparse
from collections.abc import Sequence
from typing import Any

__all__ = ["run"]


def run(args: argparse.Namespace, words: Sequence[str]) -> int:
    """Read the settings and the objectives, and say what they come to."""
    from otel_attrib.analytics.alerting import wanted
    from otel_attrib.analytics.alerting.meters import Meters
    from otel_attrib.analytics.alerting.targets import Targets
    from otel_attrib.analytics.metric import metric_named
    from otel_attrib.analytics.question import check_level
    from otel_attrib.commands.printable import json_line
    from otel_attrib.commands.slo_file import objectives_if_any
    from otel_attrib.config import load
    from otel_attrib.dashboards.alerts.selector import obstacle

    settings = load()
    targets = Targets.of(settings, Meters())
    body: dict[str, Any] = {
        "schema": "otel-attrib/alerts-check/1",
        "looks": wanted(settings),
        "metrics": [metric_named(name).name for name in settings.alert_metrics],
        "quantile": check_level(settings.alert_quantile),
        "alertmanagers": [target.name for target in targets.alertmanagers],
        "webhooks": [target.name for target in targets.webhooks],
        "objectives": [
            {"name": one.name, "rules": obstacle(one, settings.metrics_labels) or "exact"}
            for one in objectives_if_any(args.slo)
        ],
    }
    print(json_line(body)) if args.json else _show(body)
    return 0


def _show(body: dict[str, Any]) -> None:
    from otel_attrib.analytics.wording import wrapped
    from otel_attrib.commands.printable import printable

    looks = "looks for incidents" if body["looks"] else "does not look for incidents (setting alerts)"
    print(f"nothing wrong; `otel-attrib up` {looks}")
    print(f"  watched     P{100 * body['quantile']:g} of {', '.join(body['metrics'])}")
    for name in ("alertmanagers", "webhooks"):
        print(printable(f"  {name:11} {', '.join(body[name]) or 'none'}"))
    print(f"  objectives  {len(body['objectives'])}; as rules of Prometheus:")
    for one in body["objectives"]:
        way = "exact" if one["rules"] == "exact" else f"from the service's rates: {one['rules']}"
        print("\n".join(map(printable, wrapped(f"{one['name']}: {way}", "    ", "      "))))
