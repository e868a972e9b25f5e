"""Every way in which a file can be wrong is told with its line and what to write."""
# ruff: noqa: E501 -- a message stands in one line, as it is told

from pathlib import Path

import pytest

from otel_attrib.analytics.objectives import load_objectives
from otel_attrib.errors import DataError

GOOD_FILE = """\
apiVersion: openslo/v1
kind: SLO
metadata:
  name: chat
  annotations:
    otel-attrib.dev/class: gold
    otel-attrib.dev/baseline-ms: "120"
    otel-attrib.dev/actions: pinned-cpus
spec:
  service: chat
  indicator:
    metadata: {name: i}
    spec:
      ratioMetric:
        counter: true
        good:
          metricSource:
            type: otel-attrib
            spec:
              limits: {ttft: 450ms}
              where: {model: m}
        total:
          metricSource:
            type: otel-attrib
            spec:
              where: {model: m}
  timeWindow:
    - duration: 30d
      isRolling: true
  budgetingMethod: Occurrences
  objectives:
    - target: 0.99
"""
POLICY = """\
---
apiVersion: openslo/v1
kind: AlertPolicy
metadata: {name: p}
spec:
  alertWhenBreaching: true
  conditions:
    - kind: AlertCondition
      metadata: {name: c}
      spec:
        severity: page
        condition: {kind: burnrate, threshold: 2, lookbackWindow: 1h, alertAfter: 5m}
  notificationTargets: [{targetRef: t}]
"""
SLICES = "    - target: 0.99\n      timeSliceTarget: 0.9\n      timeSliceWindow: 5m\n"

# What is replaced, by what, and what is said; `FILE` is the file's path.
FAULTS = {
    "not yaml": (
        "  name: chat",
        "  name: [chat",
        "FILE:5: is not YAML: expected ',' or ']', but got ':'",
    ),
    "a tab": (
        "  name: chat",
        "\tname: chat",
        "FILE:4: is not YAML: found character '\\t' that cannot start any token",
    ),
    "no apiVersion": (
        "apiVersion: openslo/v1\n",
        "",
        "FILE:1: write apiVersion: openslo/v1",
    ),
    "another version": (
        "openslo/v1",
        "openslo/v1alpha",
        "FILE:1: apiVersion: 'openslo/v1alpha' is another format; write openslo/v1",
    ),
    "another kind": (
        "kind: SLO",
        "kind: Slo",
        "FILE:2: kind: 'Slo' is none of SLO, SLI, Service, DataSource, AlertPolicy, AlertCondition, AlertNotificationTarget",
    ),
    "no metadata name": (
        "  name: chat",
        "  displayName: chat",
        "FILE:4: metadata: write name",
    ),
    "a name with a space": (
        "  name: chat",
        "  name: Chat TTFT",
        "FILE:4: metadata.name: 'Chat TTFT' is no name; write small letters, digits, - and ., such as chat-ttft",
    ),
    "a field mistyped": (
        "timeWindow:",
        "timeWindows:",
        "FILE:27: spec: no field 'timeWindows' here; did you mean 'timeWindow'?",
    ),
    "a field of nobody": (
        "  service: chat",
        "  colour: red\n  service: chat",
        "FILE:10: spec: no field 'colour' here; here stand description, service, indicator, indicatorRef, timeWindow, budgetingMethod, objectives, alertPolicies",
    ),
    "a field twice": (
        "  service: chat",
        "  service: chat\n  service: chat",
        "FILE:11: spec: 'service' is given twice; keep one",
    ),
    "a list for a mapping": (
        "metadata: {name: i}",
        "metadata: [i]",
        "FILE:12: spec.indicator.metadata: write fields here, as `name: value` lines",
    ),
    "an annotation of ours that is none": (
        "otel-attrib.dev/class",
        "otel-attrib.dev/klass",
        "FILE:6: metadata.annotations.otel-attrib.dev/klass: no annotation otel-attrib.dev/klass; otel-attrib.dev/ is followed by class, baseline-ms, buffer-ms, actions",
    ),
    "a baseline that is no time": (
        '"120"',
        '"-1"',
        "FILE:7: metadata.annotations.otel-attrib.dev/baseline-ms: -1 is no time; write milliseconds above 0, such as 120",
    ),
    "a baseline in words": (
        '"120"',
        "fast",
        "FILE:7: metadata.annotations.otel-attrib.dev/baseline-ms: write a number here",
    ),
    "an action in words": (
        "pinned-cpus",
        "Pin the CPUs",
        "FILE:8: metadata.annotations.otel-attrib.dev/actions: 'Pin the CPUs' is no action; write words such as pinned-cpus, with commas between",
    ),
    "no service": (
        "  service: chat\n",
        "",
        "FILE:10: spec: write service",
    ),
    "no window": (
        "  timeWindow:\n    - duration: 30d\n      isRolling: true\n",
        "",
        "FILE:10: spec: write timeWindow: [{duration: 30d, isRolling: true}]",
    ),
    "a calendar": (
        "isRolling: true",
        "calendar: {startTime: 2026-01-01 12:00:00, timeZone: Europe/Berlin}",
        "FILE:28: spec.timeWindow[0]: windows aligned to a calendar are not computed here; write [{duration: 30d, isRolling: true}]",
    ),
    "not rolling": (
        "isRolling: true",
        "isRolling: false",
        "FILE:28: spec.timeWindow[0]: windows aligned to a calendar are not computed here; write [{duration: 30d, isRolling: true}]",
    ),
    "rolling in words": (
        "isRolling: true",
        "isRolling: always",
        "FILE:29: spec.timeWindow[0].isRolling: write true or false here",
    ),
    "two windows": (
        "    - duration: 30d\n",
        "    - {duration: 7d, isRolling: true}\n    - duration: 30d\n",
        "FILE:28: spec.timeWindow: write one window: [{duration: 30d, isRolling: true}]",
    ),
    "a month": (
        "30d",
        "1M",
        "FILE:28: spec.timeWindow[0].duration: '1M' has no fixed length; write days or weeks: 30d, 90d, 365d",
    ),
    "no duration": (
        "30d",
        "a month",
        "FILE:28: spec.timeWindow[0].duration: 'a month' is no duration; write a whole number of m, h, d or w: 30d",
    ),
    "seconds": (
        "30d",
        "90s",
        "FILE:28: spec.timeWindow[0].duration: '90s' is no duration; write a whole number of m, h, d or w: 30d",
    ),
    "too short a window": (
        "30d",
        "5m",
        "FILE:28: spec.timeWindow[0].duration: a window lasts from 1 hour to 366 days",
    ),
    "too long a window": (
        "30d",
        "60w",
        "FILE:28: spec.timeWindow[0].duration: a window lasts from 1 hour to 366 days",
    ),
    "another method": (
        "Occurrences",
        "RatioTimeslices",
        "FILE:30: spec.budgetingMethod: RatioTimeslices (a mean of ratios, which has no budget) is not computed; write Timeslices",
    ),
    "no method": (
        "Occurrences",
        "Occurences",
        "FILE:30: spec.budgetingMethod: 'Occurences' is none of Occurrences, Timeslices",
    ),
    "no objectives": (
        "objectives:\n    - target: 0.99",
        "objectives: []",
        "FILE:31: spec.objectives: write one objective or more, such as - target: 0.99",
    ),
    "no target": (
        "target: 0.99",
        "displayName: x",
        "FILE:32: spec.objectives[0]: write either target: 0.99 or targetPercent: 99",
    ),
    "both targets": (
        "target: 0.99",
        "target: 0.99\n      targetPercent: 99",
        "FILE:32: spec.objectives[0]: write either target: 0.99 or targetPercent: 99",
    ),
    "a target of 1": (
        "target: 0.99",
        "target: 1",
        "FILE:32: spec.objectives[0].target: 1 is no target; write a share such as target: 0.99 or targetPercent: 99",
    ),
    "a target in percent": (
        "target: 0.99",
        "target: 99",
        "FILE:32: spec.objectives[0].target: 99 is no target; write a share such as target: 0.99 or targetPercent: 99",
    ),
    "a target in words": (
        "target: 0.99",
        "target: high",
        "FILE:32: spec.objectives[0].target: write a number here",
    ),
    "a limit in the objective": (
        "target: 0.99",
        "target: 0.99\n      op: lte\n      value: 450",
        "FILE:33: spec.objectives[0].op: a ratioMetric has its limits in its source; leave op and value out",
    ),
    "a composite": (
        "target: 0.99",
        "target: 0.99\n      compositeWeight: 1",
        "FILE:33: spec.objectives[0]: no field 'compositeWeight' here; here stand displayName, op, value, target, targetPercent, timeSliceTarget, timeSliceWindow",
    ),
    "slices without the method": (
        "    - target: 0.99\n",
        "    - target: 0.99\n      timeSliceTarget: 0.9\n      timeSliceWindow: 5m\n",
        "FILE:33: spec.objectives[0].timeSliceTarget: belongs to budgetingMethod: Timeslices",
    ),
    "the method without slices": (
        "Occurrences",
        "Timeslices",
        "FILE:32: spec.objectives[0]: Timeslices need timeSliceTarget: 0.95 and timeSliceWindow: 1m",
    ),
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
    "the same name twice": (
        'apiVersion: openslo/v1\nkind: SLO\nmetadata:\n  name: chat\n  annotations:\n    otel-attrib.dev/class: gold\n    otel-attrib.dev/baseline-ms: "120"\n    otel-attrib.dev/actions: pinned-cpus\nspec:\n  service: chat\n  indicator:\n    metadata: {name: i}\n    spec:\n      ratioMetric:\n        counter: true\n        good:\n          metricSource:\n            type: otel-attrib\n            spec:\n              limits: {ttft: 450ms}\n              where: {model: m}\n        total:\n          metricSource:\n            type: otel-attrib\n            spec:\n              where: {model: m}\n  timeWindow:\n    - duration: 30d\n      isRolling: true\n  budgetingMethod: Occurrences\n  objectives:\n    - target: 0.99\n',
        'apiVersion: openslo/v1\nkind: SLO\nmetadata:\n  name: chat\n  annotations:\n    otel-attrib.dev/class: gold\n    otel-attrib.dev/baseline-ms: "120"\n    otel-attrib.dev/actions: pinned-cpus\nspec:\n  service: chat\n  indicator:\n    metadata: {name: i}\n    spec:\n      ratioMetric:\n        counter: true\n        good:\n          metricSource:\n            type: otel-attrib\n            spec:\n              limits: {ttft: 450ms}\n              where: {model: m}\n        total:\n          metricSource:\n            type: otel-attrib\n            spec:\n              where: {model: m}\n  timeWindow:\n    - duration: 30d\n      isRolling: true\n  budgetingMethod: Occurrences\n  objectives:\n    - target: 0.99\n---\napiVersion: openslo/v1\nkind: SLO\nmetadata:\n  name: chat\n  annotations:\n    otel-attrib.dev/class: gold\n    otel-attrib.dev/baseline-ms: "120"\n    otel-attrib.dev/actions: pinned-cpus\nspec:\n  service: chat\n  indicator:\n    metadata: {name: i}\n    spec:\n      ratioMetric:\n        counter: true\n        good:\n          metricSource:\n            type: otel-attrib\n            spec:\n              limits: {ttft: 450ms}\n              where: {model: m}\n        total:\n          metricSource:\n            type: otel-attrib\n            spec:\n              where: {model: m}\n  timeWindow:\n    - duration: 30d\n      isRolling: true\n  budgetingMethod: Occurrences\n  objectives:\n    - target: 0.99\n',
        "FILE:34: SLO 'chat' is there already (its spec stands at FILE:10); rename one",
    ),
    "a policy of nobody": (
        "  objectives:\n",
        "  alertPolicies: [p]\n  objectives:\n",
        "FILE:31: spec.alertPolicies[0]: no AlertPolicy 'p' in these files",
    ),
    "nothing": (
        'apiVersion: openslo/v1\nkind: SLO\nmetadata:\n  name: chat\n  annotations:\n    otel-attrib.dev/class: gold\n    otel-attrib.dev/baseline-ms: "120"\n    otel-attrib.dev/actions: pinned-cpus\nspec:\n  service: chat\n  indicator:\n    metadata: {name: i}\n    spec:\n      ratioMetric:\n        counter: true\n        good:\n          metricSource:\n            type: otel-attrib\n            spec:\n              limits: {ttft: 450ms}\n              where: {model: m}\n        total:\n          metricSource:\n            type: otel-attrib\n            spec:\n              where: {model: m}\n  timeWindow:\n    - duration: 30d\n      isRolling: true\n  budgetingMethod: Occurrences\n  objectives:\n    - target: 0.99\n',
        "",
        "FILE: holds no SLO; `otel-attrib slo preset` prints one to begin with",
    ),
    "no SLO": (
        'apiVersion: openslo/v1\nkind: SLO\nmetadata:\n  name: chat\n  annotations:\n    otel-attrib.dev/class: gold\n    otel-attrib.dev/baseline-ms: "120"\n    otel-attrib.dev/actions: pinned-cpus\nspec:\n  service: chat\n  indicator:\n    metadata: {name: i}\n    spec:\n      ratioMetric:\n        counter: true\n        good:\n          metricSource:\n            type: otel-attrib\n            spec:\n              limits: {ttft: 450ms}\n              where: {model: m}\n        total:\n          metricSource:\n            type: otel-attrib\n            spec:\n              where: {model: m}\n  timeWindow:\n    - duration: 30d\n      isRolling: true\n  budgetingMethod: Occurrences\n  objectives:\n    - target: 0.99\n',
        "apiVersion: openslo/v1\nkind: Service\nmetadata: {name: s}\nspec: {}\n",
        "FILE: holds no SLO; `otel-attrib slo preset` prints one to begin with",
    ),
    "a list": (
        'apiVersion: openslo/v1\nkind: SLO\nmetadata:\n  name: chat\n  annotations:\n    otel-attrib.dev/class: gold\n    otel-attrib.dev/baseline-ms: "120"\n    otel-attrib.dev/actions: pinned-cpus\nspec:\n  service: chat\n  indicator:\n    metadata: {name: i}\n    spec:\n      ratioMetric:\n        counter: true\n        good:\n          metricSource:\n            type: otel-attrib\n            spec:\n              limits: {ttft: 450ms}\n              where: {model: m}\n        total:\n          metricSource:\n            type: otel-attrib\n            spec:\n              where: {model: m}\n  timeWindow:\n    - duration: 30d\n      isRolling: true\n  budgetingMethod: Occurrences\n  objectives:\n    - target: 0.99\n',
        "- a\n- b\n",
        "FILE:1: write fields here, as `name: value` lines",
    ),
    "a key that is a list": (
        "  service: chat",
        "  [a]: b\n  service: chat",
        "FILE:10: spec: the name of a field has to be a word",
    ),
}
POLICIES = {
    "policy without conditions": (
        "  conditions:\n    - kind: AlertCondition\n      metadata: {name: c}\n      spec:\n        severity: page\n        condition: {kind: burnrate, threshold: 2, lookbackWindow: 1h, alertAfter: 5m}\n",
        "",
        "FILE:38: spec: write conditions with one condition in it",
    ),
    "policy with a severity of nobody": (
        "severity: page",
        "severity: urgent",
        "FILE:43: spec.conditions[0].spec.severity: 'urgent' is none of page, critical, sev1, high, ticket, warning, sev2, sev3, medium, low",
    ),
    "policy without a severity": (
        "        severity: page\n",
        "",
        "FILE:43: spec.conditions[0].spec: write severity",
    ),
    "policy without a threshold": (
        "threshold: 2, ",
        "",
        "FILE:44: spec.conditions[0].spec.condition: write threshold",
    ),
    "policy with a threshold of 0": (
        "threshold: 2,",
        "threshold: 0,",
        "FILE:44: spec.conditions[0].spec.condition.threshold: a burn rate of 0 is never or always exceeded; write one above 0",
    ),
    "policy with another condition": (
        "kind: burnrate",
        "kind: anomaly",
        "FILE:44: spec.conditions[0].spec.condition.kind: 'anomaly' is none of burnrate",
    ),
    "policy whose windows are swapped": (
        "lookbackWindow: 1h, alertAfter: 5m",
        "lookbackWindow: 5m, alertAfter: 1h",
        "FILE:44: spec.conditions[0].spec.condition.lookbackWindow: write alertAfter <= lookbackWindow <= the SLO's window",
    ),
    "policy with an unknown condition": (
        "    - kind: AlertCondition\n      metadata: {name: c}\n      spec:\n        severity: page\n        condition: {kind: burnrate, threshold: 2, lookbackWindow: 1h, alertAfter: 5m}\n",
        "    - conditionRef: nobody\n",
        "FILE:40: spec.conditions[0].conditionRef: no AlertCondition 'nobody' in these files",
    ),
    "policy that says maybe": (
        "alertWhenBreaching: true",
        "alertWhenBreaching: maybe",
        "FILE:38: spec.alertWhenBreaching: write true or false here",
    ),
}
SLICED = {
    "a slice too short for the window": (
        "timeSliceWindow: 5m",
        "timeSliceWindow: 7m",
        "FILE:34: spec.objectives[0].timeSliceWindow: the window has to hold two slices or more of 1m or longer, all whole",
    ),
    "a slice target above 1": (
        "timeSliceTarget: 0.9",
        "timeSliceTarget: 9",
        "FILE:33: spec.objectives[0].timeSliceTarget: write a share above 0, at most 1: 0.95",
    ),
    "a slice in words": (
        "timeSliceWindow: 5m",
        "timeSliceWindow: short",
        "FILE:34: spec.objectives[0].timeSliceWindow: 'short' is no duration; write a whole number of m, h, d or w: 30d",
    ),
    "a slice of ages": (
        "timeSliceWindow: 5m",
        "timeSliceWindow: 99999999",
        "FILE:34: spec.objectives[0].timeSliceWindow: is longer than any window; write 1m",
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


def told(folder: Path, text: str) -> str:
    """What is said of a file, its path written as FILE."""
    file = folder / "slo.yaml"
    file.write_text(text)
    with pytest.raises(DataError) as fault:
        load_objectives(file)
    return str(fault.value).replace(str(file), "FILE")


@pytest.mark.parametrize(("old", "new", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_of_an_objective_is_told(tmp_path: Path, old: str, new: str, message: str) -> None:
    """One change to a good file is told with its line, its field and what to write."""
    assert old in GOOD_FILE

    assert message == told(tmp_path, GOOD_FILE.replace(old, new, 1))


@pytest.mark.parametrize(("old", "new", "message"), POLICIES.values(), ids=POLICIES)
def test_a_fault_of_a_policy_is_told(tmp_path: Path, old: str, new: str, message: str) -> None:
    """A policy is checked even when no objective names it."""
    assert old in POLICY

    assert message == told(tmp_path, GOOD_FILE + POLICY.replace(old, new, 1))


@pytest.mark.parametrize(("old", "new", "message"), SLICED.values(), ids=SLICED)
def test_a_fault_of_slices_is_told(tmp_path: Path, old: str, new: str, message: str) -> None:
    """Slices have to fit their window."""
    good = GOOD_FILE.replace("Occurrences", "Timeslices").replace("    - target: 0.99\n", SLICES)
    assert old in good

    assert message == told(tmp_path, good.replace(old, new, 1))


@pytest.mark.parametrize(("entries", "message"), THRESHOLDS.values(), ids=THRESHOLDS)
def test_a_fault_of_a_threshold_is_told(tmp_path: Path, entries: str, message: str) -> None:
    """A threshold is one limit, with op: lte."""
    source = "{metricSource: {type: otel-attrib, spec: {metric: ttft}}}"
    before, after = GOOD_FILE.index("      ratioMetric"), GOOD_FILE.index("  timeWindow")
    good = f"{GOOD_FILE[:before]}      thresholdMetric: {source}\n{GOOD_FILE[after:]}"

    assert message == told(tmp_path, good.replace("    - target: 0.99\n", f"    [{entries}]\n"))


def test_the_good_file_is_good(tmp_path: Path) -> None:
    """What the faults above are changes of is read, with its policy."""
    file = tmp_path / "slo.yaml"
    file.write_text(GOOD_FILE + POLICY)

    assert ["chat"] == [objective.name for objective in load_objectives(file)]


def test_an_unknown_indicator_is_told(tmp_path: Path) -> None:
    """A reference has to lead somewhere in the files that are read together."""
    before, after = GOOD_FILE.index("  indicator:"), GOOD_FILE.index("  timeWindow")

    text = f"{GOOD_FILE[:before]}  indicatorRef: nobody\n{GOOD_FILE[after:]}"
    assert "FILE:11: spec.indicatorRef: no SLI 'nobody' in these files" == told(tmp_path, text)


def test_two_files_may_not_name_the_same(tmp_path: Path) -> None:
    """In a folder, the second file of a name is refused, and the first is named."""
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(GOOD_FILE)

    with pytest.raises(DataError) as fault:
        load_objectives(tmp_path)
    expected = f"{tmp_path}/b.yaml:1: SLO 'chat' is there already (its spec stands at {tmp_path}/a.yaml:10)"
    assert f"{expected}; rename one" == str(fault.value)


def test_a_path_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    """A missing file, an empty folder, bytes that are no text and a file of megabytes are each named."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe")
    (tmp_path / "large.yaml").write_text("#" * (4 << 20) + "\n")
    expected = {
        "none.yaml": "cannot be read: No such file or directory",
        "empty": "no .yaml or .yml file in this folder",
        "bytes.yaml": "is not text in UTF-8",
        "large.yaml": "has 4,194,305 bytes; a file of objectives has at most 4,194,304",
    }
    for name, message in expected.items():
        with pytest.raises(DataError) as fault:
            load_objectives(tmp_path / name)
        assert f"{tmp_path / name}: {message}" == str(fault.value)


def test_aliases_that_grow_are_no_bomb(tmp_path: Path) -> None:
    """Nine levels of nine aliases, a thousand million values when built, are refused by their form at once."""
    levels = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)]
    file = tmp_path / "slo.yaml"
    file.write_text("\n".join(levels) + "\n")

    with pytest.raises(DataError, match="no field 'a0' here"):
        load_objectives(file)


def test_a_merge_with_itself_ends(tmp_path: Path) -> None:
    """A mapping merged into itself is refused, not followed for ever."""
    file = tmp_path / "slo.yaml"
    file.write_text("a: &a\n  <<: *a\n<<: *a\n")

    with pytest.raises(DataError, match="leads on more than 32 times"):
        load_objectives(file)


def test_depth_is_refused(tmp_path: Path) -> None:
    """Ten thousand brackets are told as what they are."""
    file = tmp_path / "slo.yaml"
    file.write_text("[" * 10_000)

    with pytest.raises(DataError, match="is nested too deeply"):
        load_objectives(file)
