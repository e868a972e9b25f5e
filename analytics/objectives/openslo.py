"""Objectives from OpenSLO v1 files.

What is read: SLO with an indicator of ours (see `indicator`), SLI, Service, DataSource, AlertPolicy and
AlertCondition (as burn windows), AlertNotificationTarget (its form only: where alerts go is not said here).
Budgeting methods Occurrences and Timeslices; a window that rolls. Refused, and said so: RatioTimeslices,
windows aligned to a calendar, months (they have no fixed length), ratios computed elsewhere.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

from otel_attrib.analytics.objectives.alert_policy import condition_pair, pairs_of, policy_pair
from otel_attrib.analytics.objectives.burn import BurnPair
from otel_attrib.analytics.objectives.classes import Promise, promise_of
from otel_attrib.analytics.objectives.indicator import Indicator, indicator_of
from otel_attrib.analytics.objectives.library import Library, Thing, read_library, thing_of
from otel_attrib.analytics.objectives.node import Node
from otel_attrib.analytics.objectives.objective import LONGEST, SHORTEST, Limit, Objective, Timeslices
from otel_attrib.analytics.objectives.times import duration_of
from otel_attrib.errors import DataError, UsageError

__all__ = ["load_objectives", "objectives_of"]

METHODS = ("Occurrences", "Timeslices")
TARGETS = ("target", "targetPercent")
SLICES = ("timeSliceTarget", "timeSliceWindow")
ROLLING = "[{duration: 30d, isRolling: true}]"


def load_objectives(path: Path) -> tuple[Objective, ...]:
    """Read every objective of a file or folder, in order; `DataError` names file, line and what to write."""
    found = objectives_of(read_library(path))
    if not found:
        raise DataError(f"{path}: holds no SLO; `otel-attrib slo preset` prints one to begin with")
    return found


def objectives_of(library: Library) -> tuple[Objective, ...]:
    """Return the objectives of a library, each object of it checked whether an SLO needs it or not."""
    sources = library.sources()
    for sli in library.of("SLI"):
        indicator_of(sli.spec, sources)
    for policy in library.of("AlertPolicy"):
        policy_pair(policy.spec, library, LONGEST)
    for condition in library.of("AlertCondition"):
        condition_pair(condition.spec, LONGEST)
    for service in library.of("Service"):
        service.spec.fields(("description",))
    for target in library.of("AlertNotificationTarget"):
        target.spec.fields(("target", "description"))
    found: dict[str, Objective] = {}
    for slo in library.of("SLO"):
        for objective in _objectives(slo, library, sources):
            if objective.name in found:
                slo.spec.fail(f"objective {objective.name!r} is there already; rename one")
            found[objective.name] = objective
    return tuple(found.values())


def _objectives(slo: Thing, library: Library, sources: Mapping[str, str]) -> Iterator[Objective]:
    """Yield one objective for each entry of `objectives`; of several, the first is called `name-1`."""
    fields = slo.spec.fields(
        ("description", "service", "indicator", "indicatorRef", "timeWindow", "budgetingMethod")
        + ("objectives", "alertPolicies")
    )
    for name in ("service", "timeWindow", "budgetingMethod", "objectives"):
        if name not in fields:
            slo.spec.fail(f"write {name}" + (f": {ROLLING}" if name == "timeWindow" else ""))
    indicator = _indicator(slo.spec, fields, library, sources)
    window = _window(fields["timeWindow"])
    sliced = _method(fields["budgetingMethod"]) == "Timeslices"
    alerts = pairs_of(fields.get("alertPolicies"), library, window)
    entries = fields["objectives"].items()
    if not entries:
        fields["objectives"].fail("write one objective or more, such as - target: 0.99")
    if indicator.threshold and len(entries) > 1:
        fields["objectives"].fail("a thresholdMetric takes one objective")
    about = (fields["service"].text(), fields["description"].text() if "description" in fields else "")
    for number, entry in enumerate(entries, 1):
        name = f"{slo.name}-{number}" if len(entries) > 1 else slo.name
        yield _objective(name, slo, entry, indicator, window, sliced, alerts, about)


def _objective(
    name: str,
    slo: Thing,
    entry: Node,
    indicator: Indicator,
    window: timedelta,
    sliced: bool,
    alerts: tuple[BurnPair, ...],
    about: tuple[str, str],
) -> Objective:
    fields = entry.fields(("displayName", "op", "value", *TARGETS, *SLICES))
    promise: Promise = promise_of(slo.annotations)
    shown = fields["displayName"].text() if "displayName" in fields else ""
    titles = [word for word in (slo.title or slo.name, shown) if word]
    try:
        return Objective(
            name=name,
            title=": ".join(dict.fromkeys(titles)),
            where=indicator.where,
            limits=_limits(entry, fields, indicator),
            joint=indicator.joint,
            target=_target(entry, fields),
            window=window,
            sla_class=promise.sla_class,
            baseline_ms=promise.baseline_ms,
            buffer_ms=promise.buffer_ms,
            actions=promise.actions,
            service=about[0],
            description=about[1],
            slices=_slices(entry, fields, window, sliced),
            alerts=alerts,
        )
    except UsageError as fault:
        entry.fail(str(fault))


def _indicator(
    spec: Node, fields: Mapping[str, Node], library: Library, sources: Mapping[str, str]
) -> Indicator:
    if ("indicator" in fields) == ("indicatorRef" in fields):
        spec.fail("write either indicator or indicatorRef")
    if "indicatorRef" in fields:
        return indicator_of(library.get("SLI", fields["indicatorRef"]).spec, sources)
    inner = fields["indicator"].fields(("metadata", "spec"))
    for name in ("metadata", "spec"):
        if name not in inner:
            fields["indicator"].fail(f"write {name}")
    return indicator_of(thing_of(inner["metadata"], inner["spec"]).spec, sources)


def _window(node: Node) -> timedelta:
    windows = node.items()
    if len(windows) != 1:
        node.fail(f"write one window: {ROLLING}")
    fields = windows[0].fields(("duration", "isRolling", "calendar"))
    if "duration" not in fields:
        windows[0].fail("write duration: 30d")
    rolling = fields["isRolling"].truth() if "isRolling" in fields else False
    if "calendar" in fields or not rolling:
        windows[0].fail(f"windows aligned to a calendar are not computed here; write {ROLLING}")
    length = duration_of(fields["duration"])
    if not SHORTEST <= length <= LONGEST:
        fields["duration"].fail("a window lasts from 1 hour to 366 days")
    return length


def _method(node: Node) -> str:
    if node.text() == "RatioTimeslices":
        node.fail("RatioTimeslices (a mean of ratios, which has no budget) is not computed; write Timeslices")
    return node.one_of(METHODS)


def _limits(entry: Node, fields: Mapping[str, Node], indicator: Indicator) -> tuple[Limit, ...]:
    given = [name for name in ("op", "value") if name in fields]
    if not indicator.threshold:
        if given:
            fields[given[0]].fail("a ratioMetric has its limits in its source; leave op and value out")
        return indicator.limits
    if len(given) != 2:
        entry.fail("a thresholdMetric needs op: lte and value, the limit")
    if fields["op"].text() != "lte":
        fields["op"].fail("a request is good when its latency is at most the limit; write lte")
    ms = fields["value"].number() * indicator.unit_ms
    try:
        return (Limit(indicator.threshold, ms),)
    except UsageError as fault:
        fields["value"].fail(str(fault))


def _target(entry: Node, fields: Mapping[str, Node]) -> float:
    given = [name for name in TARGETS if name in fields]
    if len(given) != 1:
        entry.fail("write either target: 0.99 or targetPercent: 99")
    node = fields[given[0]]
    # Rounded so that 99.9 % is the number 0.999, as a person wrote it.
    share = node.number() if given == ["target"] else round(node.number() / 100, 12)
    if not 0 < share < 1:
        node.fail(f"{node.text()} is no target; write a share such as target: 0.99 or targetPercent: 99")
    return share


def _slices(entry: Node, fields: Mapping[str, Node], window: timedelta, sliced: bool) -> Timeslices | None:
    given = [name for name in SLICES if name in fields]
    if not sliced:
        if given:
            fields[given[0]].fail("belongs to budgetingMethod: Timeslices")
        return None
    if len(given) != 2:
        entry.fail("Timeslices need timeSliceTarget: 0.95 and timeSliceWindow: 1m")
    target, length = fields["timeSliceTarget"].number(), _slice_length(fields["timeSliceWindow"])
    if not 0 < target <= 1:
        fields["timeSliceTarget"].fail("write a share above 0, at most 1: 0.95")
    if length < timedelta(minutes=1) or window % length or window < 2 * length:
        fields["timeSliceWindow"].fail("the window has to hold two slices or more of 1m or longer, all whole")
    return Timeslices(length, target)


def _slice_length(node: Node) -> timedelta:
    """Return a slice; a number alone is in minutes."""
    if not node.text().isdigit():
        return duration_of(node)
    if len(node.text()) > 6:
        node.fail("is longer than any window; write 1m")
    return timedelta(minutes=int(node.text()))
