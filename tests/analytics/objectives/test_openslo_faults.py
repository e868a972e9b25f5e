"""Every way in which an objective can be wrong is told with its line and what to write."""
# ruff: noqa: E501 -- a message stands in one line, as it is told

from collections.abc import Callable
from pathlib import Path

import pytest

from otel_attrib.analytics.objectives import load_objectives
from otel_attrib.errors import DataError

Told = Callable[[str], str]
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
    "a policy of nobody": (
        "  objectives:\n",
        "  alertPolicies: [p]\n  objectives:\n",
        "FILE:31: spec.alertPolicies[0]: no AlertPolicy 'p' in these files",
    ),
    "a key that is a list": (
        "  service: chat",
        "  [a]: b\n  service: chat",
        "FILE:10: spec: the name of a field has to be a word",
    ),
}
OTHERS = {
    "nothing": (
        "",
        "FILE: holds no SLO; `otel-attrib slo preset` prints one to begin with",
    ),
    "no SLO": (
        "apiVersion: openslo/v1\nkind: Service\nmetadata: {name: s}\nspec: {}\n",
        "FILE: holds no SLO; `otel-attrib slo preset` prints one to begin with",
    ),
    "a list": (
        "- a\n- b\n",
        "FILE:1: write fields here, as `name: value` lines",
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


@pytest.mark.parametrize(("old", "new", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_of_an_objective_is_told(good_slo: str, told: Told, old: str, new: str, message: str) -> None:
    """One change to a good file is told with its line, its field and what to write."""
    assert old in good_slo

    assert message == told(good_slo.replace(old, new, 1))


@pytest.mark.parametrize(("text", "message"), OTHERS.values(), ids=OTHERS)
def test_a_file_without_an_objective_is_told(told: Told, text: str, message: str) -> None:
    """What is empty, has other objects only, or is a list is told as such."""
    assert message == told(text)


@pytest.mark.parametrize(("old", "new", "message"), SLICED.values(), ids=SLICED)
def test_a_fault_of_slices_is_told(good_slo: str, told: Told, old: str, new: str, message: str) -> None:
    """Slices have to fit their window."""
    good = good_slo.replace("Occurrences", "Timeslices").replace("    - target: 0.99\n", SLICES)
    assert old in good

    assert message == told(good.replace(old, new, 1))


def test_a_name_given_twice_is_told(good_slo: str, told: Told) -> None:
    """In one file, the second document of a name is refused, and the first is named."""
    expected = "FILE:34: SLO 'chat' is there already (its spec stands at FILE:10); rename one"

    assert expected == told(f"{good_slo}---\n{good_slo}")


def test_two_files_may_not_name_the_same(tmp_path: Path, good_slo: str) -> None:
    """In a folder, the second file of a name is refused, and the first is named."""
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(good_slo)

    with pytest.raises(DataError) as fault:
        load_objectives(tmp_path)
    expected = f"{tmp_path}/b.yaml:1: SLO 'chat' is there already (its spec stands at {tmp_path}/a.yaml:10)"
    assert f"{expected}; rename one" == str(fault.value)
