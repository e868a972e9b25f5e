"""Every way in which an indicator can be wrong is told with its line and what to write."""
# ruff: noqa: E501 -- a message stands in one line, as it is told

from collections.abc import Callable

import pytest

Told = Callable[[str], str]

# What is replaced, by what, and what is said.
FAULTS = {
    "an indicator and a reference": (
        "  indicator:\n",
        "  indicatorRef: i\n  indicator:\n",
        "FILE:10: spec: write either indicator or indicatorRef",
    ),
    "both metrics": (
        "      ratioMetric:",
        "      thresholdMetric: {}\n      ratioMetric:",
        "FILE:14: spec.indicator.spec: write either ratioMetric or thresholdMetric",
    ),
    "a raw ratio": (
        "        counter: true\n",
        "        counter: true\n        raw: {metricSource: {spec: {}}}\n",
        "FILE:16: spec.indicator.spec.ratioMetric.raw: a ratio computed elsewhere cannot be checked here; write good and total",
    ),
    "good and bad": (
        "        good:\n",
        "        bad: {metricSource: {type: otel-attrib, spec: {}}}\n        good:\n",
        "FILE:15: spec.indicator.spec.ratioMetric: write good (or bad) and total",
    ),
    "another source": (
        "            type: otel-attrib\n            spec:\n              limits",
        "            type: Prometheus\n            spec:\n              limits",
        "FILE:18: spec.indicator.spec.ratioMetric.good.metricSource: a source of type 'Prometheus' is read elsewhere; write type: otel-attrib",
    ),
    "no source": (
        "            type: otel-attrib\n            spec:\n              limits",
        "            spec:\n              limits",
        "FILE:18: spec.indicator.spec.ratioMetric.good.metricSource: what kind of source is not said; write type: otel-attrib",
    ),
    "an unknown data source": (
        "            type: otel-attrib\n            spec:\n              limits",
        "            metricSourceRef: nobody\n            spec:\n              limits",
        "FILE:18: spec.indicator.spec.ratioMetric.good.metricSource.metricSourceRef: no DataSource 'nobody'; write one, or type: otel-attrib",
    ),
    "total counts others": (
        "              where: {model: m}\n  timeWindow",
        "              where: {model: n}\n  timeWindow",
        "FILE:26: spec.indicator.spec.ratioMetric.total.metricSource.spec: total counts other requests than good; write the same where in both",
    ),
    "an unknown latency": (
        "{ttft: 450ms}",
        "{tftt: 450ms}",
        "FILE:20: spec.indicator.spec.ratioMetric.good.metricSource.spec.limits: no field 'tftt' here; did you mean 'ttft'?",
    ),
    "no latency": (
        "{ttft: 450ms}",
        "{}",
        "FILE:20: spec.indicator.spec.ratioMetric.good.metricSource.spec.limits: write one latency or more, as ttft: 450ms",
    ),
    "no limits": (
        "limits: {ttft: 450ms}",
        "joint: true",
        "FILE:20: spec.indicator.spec.ratioMetric.good.metricSource.spec: write limits: {ttft: 450ms, tpot: 40ms}, or metric and limit for one latency",
    ),
    "a limit without a time": (
        "450ms",
        "fast",
        "FILE:20: spec.indicator.spec.ratioMetric.good.metricSource.spec.limits.ttft: 'fast' is no latency; write 450ms or 1.2s",
    ),
    "a limit of nothing": (
        "450ms",
        "0",
        "FILE:20: spec.indicator.spec.ratioMetric.good.metricSource.spec.limits.ttft: '0' is no latency; write 450ms or 1.2s",
    ),
    "an unknown dimension": (
        "{model: m}\n        total",
        "{modell: m}\n        total",
        "FILE:21: spec.indicator.spec.ratioMetric.good.metricSource.spec.where: no field 'modell' here; did you mean 'model'?",
    ),
    "no value": (
        "{model: m}\n        total",
        "{model: []}\n        total",
        "FILE:21: spec.indicator.spec.ratioMetric.good.metricSource.spec.where.model: write one value or more",
    ),
    "a mapping for a value": (
        "{model: m}\n        total",
        "{model: {a: b}}\n        total",
        "FILE:21: spec.indicator.spec.ratioMetric.good.metricSource.spec.where.model: write text here",
    ),
    "joint in words": (
        "limits: {ttft: 450ms}",
        "limits: {ttft: 450ms}\n              joint: both",
        "FILE:21: spec.indicator.spec.ratioMetric.good.metricSource.spec.joint: write true or false here",
    ),
}
THRESHOLDS = {
    "a threshold without op": (
        "{value: 450, target: 0.99}",
        "FILE:20: spec.objectives[0]: a thresholdMetric needs op: lte and value, the limit",
    ),
    "a threshold the wrong way": (
        "{op: gte, value: 450, target: 0.99}",
        "FILE:20: spec.objectives[0].op: a request is good when its latency is at most the limit; write lte",
    ),
    "a threshold below 0": (
        "{op: lte, value: -1, target: 0.99}",
        "FILE:20: spec.objectives[0].value: a limit of -1 ms is no time; write milliseconds above 0",
    ),
    "two thresholds": (
        "{op: lte, value: 1, target: 0.9}, {op: lte, value: 2, target: 0.99}",
        "FILE:20: spec.objectives: a thresholdMetric takes one objective",
    ),
}


@pytest.mark.parametrize(("old", "new", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_of_an_indicator_is_told(good_slo: str, told: Told, old: str, new: str, message: str) -> None:
    """One change to a good file is told with its line, its field and what to write."""
    assert old in good_slo

    assert message == told(good_slo.replace(old, new, 1))


@pytest.mark.parametrize(("entries", "message"), THRESHOLDS.values(), ids=THRESHOLDS)
def test_a_fault_of_a_threshold_is_told(good_slo: str, told: Told, entries: str, message: str) -> None:
    """A threshold is one limit, with op: lte."""
    source = "{metricSource: {type: otel-attrib, spec: {metric: ttft}}}"
    before, after = good_slo.index("      ratioMetric"), good_slo.index("  timeWindow")
    good = f"{good_slo[:before]}      thresholdMetric: {source}\n{good_slo[after:]}"

    assert message == told(good.replace("    - target: 0.99\n", f"    [{entries}]\n"))


def test_an_unknown_indicator_is_told(good_slo: str, told: Told) -> None:
    """A reference has to lead somewhere in the files that are read together."""
    before, after = good_slo.index("  indicator:"), good_slo.index("  timeWindow")

    text = f"{good_slo[:before]}  indicatorRef: nobody\n{good_slo[after:]}"
    assert "FILE:11: spec.indicatorRef: no SLI 'nobody' in these files" == told(text)
