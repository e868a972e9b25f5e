"""Service level objectives: how many requests were good, what is left of the budget, how fast it burns.

What a good request is, is said by `analytics/objectives/outcome.py` alone; here its conditions get the limits
typed on the dashboard, or those of objectives given as files.
"""

from collections.abc import Sequence
from typing import Final

from grafana_foundation_sdk.builders import dashboard

from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.objectives.objective import Limit, Objective
from otel_attrib.analytics.objectives.outcome import BAD as BAD_CODE
from otel_attrib.analytics.objectives.outcome import GOOD as GOOD_CODE
from otel_attrib.analytics.objectives.outcome import outcome
from otel_attrib.dashboards import variables
from otel_attrib.dashboards.config import BUDGET_LOW, PAGE_URL
from otel_attrib.dashboards.frame import Part, framed
from otel_attrib.dashboards.latency import latency
from otel_attrib.dashboards.palette import BAD, COLORS, GOOD, WARN
from otel_attrib.dashboards.panels import (
    AnyPanel,
    Said,
    bounded,
    colored,
    field,
    figures,
    lines,
    listing,
    steps,
)
from otel_attrib.dashboards.target import Target, literal

__all__ = ["objectives"]

_COLORS: Final = {"joint": COLORS["vermilion"], "ttft": COLORS["sky"], "tpot": COLORS["blue"]}
_GOOD: Final = (
    "A request is good when it did not fail and met its limits (equal is met). Joint: all limits at once; "
    "marginal: one limit by itself, which is never less."
)
_EXACT: Final = "exact: rows are counted; a sampled request counts as many times as it stands for"
_FIGURES: Final = {
    "joint": ("Joint", "percentunit"),
    "ttft": ("TTFT alone", "percentunit"),
    "tpot": ("TPOT alone", "percentunit"),
    "budget_left": ("Budget left", "percentunit"),
    "requests": ("Requests judged", "short"),
}
# The workbook's factors of a 30 day budget: page at once, page soon.
_QUICK, _SLOW = 14.4, 6.0


def objectives(page: str = PAGE_URL, given: Sequence[Objective] = ()) -> dashboard.Dashboard:
    """The dashboard as a builder; each objective `given` has a row of its own over its own window."""
    parts: list[Part] = [("Objectives from files", [_table(given)])] if given else []
    parts += [
        ("Under the limits typed above", [_range(), _attained(), _burn()]),
        (
            "For whom",
            [_groups("tenant", "By tenant"), _groups("model", "By model"), _groups("sla_class", "By class")],
        ),
        ("The latencies themselves", [latency("ttft"), latency("tpot")]),
        ("Deadlines that requests bring", [_deadlines()]),
    ]
    about = "How many requests were good, what is left of the budget, and how fast it burns."
    return framed("slo", "LLM serving: objectives", about, parts, page, own=variables.limits())


def _range() -> AnyPanel:
    said = Said(
        f"{_GOOD} Budget left: 1 − share of bad requests / (1 − target); below 0 it is overspent",
        "share of judged requests; requests",
        _EXACT,
    )
    query = Target("attained_range", "table", **_typed())
    left = steps(BAD, (0.0, WARN), (BUDGET_LOW, GOOD)).build()
    panel = figures("The range against the limits", said, query, _FIGURES)
    return panel.override_by_name("budget_left", [field("thresholds", left)])


def _attained() -> AnyPanel:
    said = Said(_GOOD, "share of judged requests", _EXACT)
    panel = lines("Attainment", said, [Target("attained", **_typed())], "percentunit")
    return colored(panel.max(1), _COLORS)


def _burn() -> AnyPanel:
    said = Said(
        "How fast the budget burns: share of bad requests over 5 minutes, an hour and 6 hours, over "
        "1 − target. At 1 "
        "the budget lasts just its window. Dashed: the workbook's factors 14.4 (page at once) and 6 "
        "(page soon), of "
        "a budget of 30 days",
        "multiples",
        _EXACT,
    )
    panel = bounded(
        lines("Burn rate", said, [Target("burn", **_typed())], "short"), (_SLOW, WARN), (_QUICK, BAD)
    )
    return colored(panel, {"burn_5m": COLORS["sky"], "burn_1h": COLORS["blue"], "burn_6h": COLORS["purple"]})


def _groups(column: str, title: str) -> AnyPanel:
    said = Said(f"{_GOOD} The least first", "share of judged requests; requests", _EXACT)
    return listing(title, said, Target("attained_groups", "table", column=column, **_typed()), "third")


def _deadlines() -> AnyPanel:
    said = Said(
        "Share of requests that met the deadline for the first token that they brought themselves "
        "(`slatag.sla_deadline_ms`), of those that brought one",
        "share of requests",
        _EXACT,
    )
    panel = lines("Own deadlines met", said, [Target("deadlines")], "percentunit", "whole")
    return colored(panel.max(1), {"met": COLORS["green"]})


def _table(given: Sequence[Objective]) -> AnyPanel:
    said = Said(
        f"{_GOOD} Each over its own window up to the end of the range, for the requests that it names",
        "share of judged requests",
        _EXACT,
    )
    rows = "\nUNION ALL\n".join(_row(one) for one in given)
    panel = listing("Objectives", said, Target("objective_rows", "table", rows=rows))
    link = {
        "title": "Page: the objective",
        "url": "${page}/#/slo/${__data.fields.objective}",
        "targetBlank": True,
    }
    return panel.override_by_name("objective", [field("links", [link])])


def _row(one: Objective) -> str:
    """One objective as a SELECT: without `joint` the worst of its limits stands for it."""
    sets = [one.limits] if one.joint else [(limit,) for limit in one.limits]
    shares = []
    for limits in sets:
        good, bad = _filled(limits, {limit.metric: repr(1000 * limit.ms) for limit in limits})
        shares.append(f"sumIf(weight, {good}) / sumIf(weight, ({good}) OR ({bad}))")
    attained = shares[0] if len(shares) == 1 else f"least({', '.join(shares)})"
    window = int(one.window.total_seconds())
    return (
        f"SELECT {literal(one.name)} AS objective, {literal(one.title)} AS title, "
        f"{one.target!r} AS target_share, {attained} AS attained_share, "
        f"1 - (1 - attained_share) / {one.budget!r} AS budget_left_share "
        f"FROM requests WHERE requests.time > $__toTime - {window} AND requests.time <= $__toTime "
        f"AND {_condition(one.where)} HAVING isFinite(attained_share)"
    )


def _typed() -> dict[str, str]:
    """The conditions under the limits of the text boxes, as words for a statement."""
    words = {}
    for name, metrics in {"joint": ("ttft", "tpot"), "ttft": ("ttft",), "tpot": ("tpot",)}.items():
        limits = [Limit(metric, 1.0) for metric in metrics]
        typed = {m: f"(1000 * toFloat64OrZero(${{{m}_limit_ms:singlequote}}))" for m in metrics}
        words[f"good_{name}"], words[f"bad_{name}"] = _filled(limits, typed)
    return words


def _filled(limits: Sequence[Limit], us: dict[str, str]) -> tuple[str, str]:
    """Conditions of good and bad requests, each limit as the given SQL in µs instead of a bound value."""
    codes = [
        outcome(limit.metric, "limit", "1").replace("{limit:Float64}", us[limit.metric]) for limit in limits
    ]
    code = codes[0] if len(codes) == 1 else f"greatest({', '.join(codes)})"
    return f"{code} = {GOOD_CODE}", f"{code} = {BAD_CODE}"


def _condition(where: Filter) -> str:
    """A filter with its values as literals: Grafana binds nothing."""
    return (
        " AND ".join(f"{name} IN ({', '.join(map(literal, values))})" for name, values in where.allowed)
        or "1"
    )
