"""OpenSLO's alert policies as pairs of burn windows.

A condition is `burnrate` with a threshold, a lookback window and `alertAfter`, for how long it has to hold.
That is the workbook's pair: the lookback is the long window, `alertAfter` the short one.
"""

from collections.abc import Iterator
from datetime import timedelta

from otel_attrib.analytics.objectives.burn import BurnPair
from otel_attrib.analytics.objectives.library import Library
from otel_attrib.analytics.objectives.node import Node
from otel_attrib.analytics.objectives.times import duration_of

__all__ = ["SEVERITIES", "pairs_of", "policy_pair"]

SEVERITIES = {
    **dict.fromkeys(("page", "critical", "sev1", "high"), "page"),
    **dict.fromkeys(("ticket", "warning", "sev2", "sev3", "medium", "low"), "ticket"),
}
"""The words that may stand as a severity, and which of our two each is."""

SWITCHES = ("alertWhenNoData", "alertWhenResolved", "alertWhenBreaching")


def pairs_of(policies: Node | None, library: Library, window: timedelta) -> tuple[BurnPair, ...]:
    """Return a pair for each policy of an SLO: a name, `alertPolicyRef: name`, or a whole policy."""
    return tuple(_pairs(policies, library, window)) if policies is not None else ()


def _pairs(policies: Node, library: Library, window: timedelta) -> Iterator[BurnPair]:
    for policy in policies.items():
        if policy.kind == "scalar":
            yield policy_pair(library.get("AlertPolicy", policy).spec, library, window)
            continue
        fields = policy.fields(("alertPolicyRef", "kind", "metadata", "spec"))
        if "alertPolicyRef" in fields:
            yield policy_pair(library.get("AlertPolicy", fields["alertPolicyRef"]).spec, library, window)
        elif "spec" in fields:
            yield policy_pair(fields["spec"], library, window)
        else:
            policy.fail("write the name of an AlertPolicy, or its spec")


def policy_pair(spec: Node, library: Library, window: timedelta) -> BurnPair:
    """Return the pair of one policy."""
    fields = spec.fields(("description", *SWITCHES, "conditions", "notificationTargets"))
    for name in SWITCHES:
        if name in fields:
            fields[name].truth()
    conditions = fields["conditions"].items() if "conditions" in fields else []
    if len(conditions) != 1:
        spec.fail("write conditions with one condition in it")
    inner = conditions[0].fields(("conditionRef", "kind", "metadata", "spec"))
    if "conditionRef" in inner:
        return condition_pair(library.get("AlertCondition", inner["conditionRef"]).spec, window)
    if "spec" not in inner:
        conditions[0].fail("write conditionRef, or the condition's spec")
    return condition_pair(inner["spec"], window)


def condition_pair(spec: Node, window: timedelta) -> BurnPair:
    """Return the pair of one condition."""
    fields = spec.fields(("description", "severity", "condition"))
    for name in ("severity", "condition"):
        if name not in fields:
            spec.fail(f"write {name}")
    severity = SEVERITIES[fields["severity"].one_of(tuple(SEVERITIES))]
    rate = fields["condition"].fields(("kind", "op", "threshold", "lookbackWindow", "alertAfter"))
    for name in ("threshold", "lookbackWindow", "alertAfter"):
        if name not in rate:
            fields["condition"].fail(f"write {name}")
    if "kind" in rate:
        rate["kind"].one_of(("burnrate",))
    if "op" in rate:
        rate["op"].one_of(("gt", "gte"))
    factor = rate["threshold"].number()
    long, short = duration_of(rate["lookbackWindow"]), duration_of(rate["alertAfter"])
    if not 0 < factor < 1e6:
        rate["threshold"].fail(f"a burn rate of {factor:g} is never or always exceeded; write one above 0")
    if not short <= long <= window:
        rate["lookbackWindow"].fail("write alertAfter <= lookbackWindow <= the SLO's window")
    return BurnPair(factor, long, short, severity, factor * (long / window))
