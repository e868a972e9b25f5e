"""What an OpenSLO indicator measures: our metric sources inside OpenSLO's own structure.

    ratioMetric:                          thresholdMetric:
      counter: true                         metricSource:
      good:                                   type: otel-attrib
        metricSource:                         spec: {metric: ttft, where: {model: llama-8b}}
          type: otel-attrib               objectives:
          spec:                             - {op: lte, value: 450, target: 0.99}
            limits: {ttft: 450ms, tpot: 40ms}
            joint: true
            where: {model: llama-8b}
      total:
        metricSource:
          type: otel-attrib
          spec: {where: {model: llama-8b}}

`bad` in place of `good` means the requests that were not good; the limits are written the same way.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from otel_attrib.analytics.filters import DIMENSIONS, EVERY_REQUEST, Filter
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.objectives.node import Node
from otel_attrib.analytics.objectives.objective import Limit
from otel_attrib.analytics.objectives.times import latency_of

__all__ = ["SOURCE", "Indicator", "indicator_of"]

SOURCE = "otel-attrib"
"""The type of our metric sources."""

SIDES = ("good", "bad", "total")


@dataclass(frozen=True, slots=True)
class Indicator:
    """Limits with requests; `threshold` names the latency whose limit is the objective's own `value`."""

    where: Filter
    limits: tuple[Limit, ...] = ()
    joint: bool = True
    threshold: str = ""
    unit_ms: float = 1.0


def indicator_of(spec: Node, sources: Mapping[str, str]) -> Indicator:
    """Read the spec of an SLI; `sources` are the types of the data sources by name."""
    fields = spec.fields(("description", "ratioMetric", "thresholdMetric"))
    given = [name for name in ("ratioMetric", "thresholdMetric") if name in fields]
    if len(given) != 1:
        spec.fail("write either ratioMetric or thresholdMetric")
    if given == ["thresholdMetric"]:
        return _threshold(fields["thresholdMetric"], sources)
    return _ratio(fields["ratioMetric"], sources)


def _threshold(metric: Node, sources: Mapping[str, str]) -> Indicator:
    spec = _source(metric, sources)
    fields = spec.fields(("metric", "unit", "where"))
    if "metric" not in fields:
        spec.fail(f"write metric: one of {', '.join(METRICS)}")
    unit = fields["unit"].one_of(("ms", "s")) if "unit" in fields else "ms"
    return Indicator(
        _where(fields.get("where")),
        threshold=fields["metric"].one_of(tuple(METRICS)),
        unit_ms=1000.0 if unit == "s" else 1.0,
    )


def _ratio(metric: Node, sources: Mapping[str, str]) -> Indicator:
    fields = metric.fields(("counter", *SIDES, "raw", "rawType"))
    for name in ("raw", "rawType"):
        if name in fields:
            fields[name].fail("a ratio computed elsewhere cannot be checked here; write good and total")
    sides = [name for name in ("good", "bad") if name in fields]
    if len(sides) != 1 or "total" not in fields:
        metric.fail("write good (or bad) and total")
    if "counter" in fields:
        fields["counter"].truth()
    spec = _source(fields[sides[0]], sources)
    total = _source(fields["total"], sources)
    found = _limited(spec)
    whole = total.fields(("where",))
    if _where(whole.get("where")) != found.where:
        total.fail(f"total counts other requests than {sides[0]}; write the same where in both")
    return found


def _limited(spec: Node) -> Indicator:
    fields = spec.fields(("limits", "metric", "limit", "joint", "where"))
    joint = fields["joint"].truth() if "joint" in fields else True
    return Indicator(_where(fields.get("where")), _limits(spec, fields), joint)


def _limits(spec: Node, fields: Mapping[str, Node]) -> tuple[Limit, ...]:
    if "limits" in fields and not {"metric", "limit"} & set(fields):
        limits = fields["limits"].fields(tuple(METRICS))
        if not limits:
            fields["limits"].fail("write one latency or more, as ttft: 450ms")
        return tuple(Limit(name, latency_of(limits[name])) for name in METRICS if name in limits)
    if {"metric", "limit"} <= set(fields) and "limits" not in fields:
        return (Limit(fields["metric"].one_of(tuple(METRICS)), latency_of(fields["limit"])),)
    spec.fail("write limits: {ttft: 450ms, tpot: 40ms}, or metric and limit for one latency")


def _source(metric: Node, sources: Mapping[str, str]) -> Node:
    """Return the spec of a metric source that is ours."""
    holder = metric.fields(("metricSource",))
    if "metricSource" not in holder:
        metric.fail("write metricSource")
    source = holder["metricSource"]
    fields = source.fields(("metricSourceRef", "type", "spec"))
    kind = fields["type"].text() if "type" in fields else ""
    if "metricSourceRef" in fields and not kind:
        name = fields["metricSourceRef"].text()
        if name not in sources:
            fields["metricSourceRef"].fail(f"no DataSource {name!r}; write one, or type: {SOURCE}")
        kind = sources[name]
    if kind != SOURCE:
        what = f"a source of type {kind!r} is read elsewhere" if kind else "what kind of source is not said"
        source.fail(f"{what}; write type: {SOURCE}")
    if "spec" not in fields:
        source.fail("write spec")
    return fields["spec"]


def _where(node: Node | None) -> Filter:
    """Read which requests: a mapping of dimensions to a value or a list of values."""
    if node is None:
        return EVERY_REQUEST
    allowed = {name: _values(value) for name, value in node.fields(DIMENSIONS).items()}
    return Filter(tuple(sorted(allowed.items())))


def _values(node: Node) -> tuple[str, ...]:
    if node.kind != "list":
        return (node.text(),)
    values = tuple(each.text() for each in node.items())
    if not values:
        node.fail("write one value or more")
    return values
