"""What alerting knows, for Prometheus: incidents that are open, and how fast objectives burn their budgets.

`otel_attrib_incident` lets Prometheus rules raise the same alerts as the service does itself, and the
burn rates are exact where a histogram's buckets are not: several limits at once, limits between two
bounds, gaps of tokens.
"""

from collections.abc import Callable, Iterator, Sequence

from prometheus_client.core import GaugeMetricFamily, Metric

from otel_attrib.analytics.alerting.alert import Alert
from otel_attrib.analytics.objectives.standing import Standing
from otel_attrib.analytics.windows import duration_text

__all__ = ["Gauges"]

INCIDENT = ("alertname", "incident", "service_name", "gen_ai_request_model", "metric", "slo", "severity")


class Gauges:
    """A collector over what the evaluator holds when it is scraped."""

    def __init__(
        self, firing: Callable[[], Sequence[Alert]], standings: Callable[[], Sequence[Standing]]
    ) -> None:
        """Keep the ways to ask."""
        self._firing = firing
        self._standings = standings

    def describe(self) -> list[Metric]:
        """Name nothing."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges."""
        yield self._incidents()
        yield from _objectives(self._standings())

    def _incidents(self) -> Metric:
        names = [*INCIDENT, "verdict", "layer"]
        family = GaugeMetricFamily(
            "otel_attrib_incident", "1 while an incident is open, with what was found", labels=names
        )
        for alert in self._firing():
            layer = next(iter(alert.blamed), "")
            labels = {**alert.labels, "service_name": alert.group[0], "gen_ai_request_model": alert.group[1]}
            family.add_metric([*(labels.get(name, "") for name in INCIDENT), alert.verdict, layer], 1)
        return family


def _objectives(standings: Sequence[Standing]) -> Iterator[Metric]:
    burn = GaugeMetricFamily(
        "otel_attrib_slo_burn_rate",
        "bad share over allowed share, in windows of burn alerts",
        labels=["slo", "limit", "window"],
    )
    left = GaugeMetricFamily(
        "otel_attrib_slo_budget_left", "share of the budget that is left", labels=["slo"]
    )
    share = GaugeMetricFamily(
        "otel_attrib_slo_attained", "share of good requests over the window", labels=["slo"]
    )
    for one in standings:
        name = one.objective.name
        if one.budget_left is not None:
            left.add_metric([name], one.budget_left)
        if one.attained.whole.value is not None:
            share.add_metric([name], one.attained.whole.value)
        rates = {}
        for each in one.pairs:
            rates[each.limit, duration_text(each.pair.long)] = each.long_rate
            rates[each.limit, duration_text(each.pair.short)] = each.short_rate
        for (limit, window), rate in rates.items():
            if rate is not None:
                burn.add_metric([name, limit, window], rate)
    yield from (burn, left, share)
