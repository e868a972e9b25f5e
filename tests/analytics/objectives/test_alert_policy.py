"""Every way in which an alert policy can be wrong is told with its line and what to write."""
# ruff: noqa: E501 -- a message stands in one line, as it is told

from collections.abc import Callable
from pathlib import Path

import pytest

from otel_attrib.analytics.objectives import load_objectives

Told = Callable[[str], str]
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

# What is replaced, by what, and what is said.
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


@pytest.mark.parametrize(("old", "new", "message"), POLICIES.values(), ids=POLICIES)
def test_a_fault_of_a_policy_is_told(good_slo: str, told: Told, old: str, new: str, message: str) -> None:
    """A policy is checked even when no objective names it."""
    assert old in POLICY

    assert message == told(good_slo + POLICY.replace(old, new, 1))


def test_the_good_file_is_good(tmp_path: Path, good_slo: str) -> None:
    """What the faults above are changes of is read, with its policy."""
    file = tmp_path / "slo.yaml"
    file.write_text(good_slo + POLICY)

    assert ["chat"] == [objective.name for objective in load_objectives(file)]
