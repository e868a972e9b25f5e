"""Standings for people: the answer first, then a table, then what the words mean."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from otel_attrib.analytics.objectives.objective import Objective
from otel_attrib.analytics.objectives.standing import Firing, Standing
from otel_attrib.analytics.objectives.tally import JOINT
from otel_attrib.analytics.windows import duration_text
from otel_attrib.analytics.wording import digits, wrapped

__all__ = [
    "FIRING_HEADS",
    "HEADS",
    "detail_lines",
    "firing_rows",
    "headline",
    "limits_text",
    "notes",
    "share_text",
    "table_rows",
    "trouble",
    "unmeasured_lines",
]

HEADS = ("objective", "state", "good", "target", "left", "burn 1h", "judged")
FIRING_HEADS = ("alert", "limit", "long", "burn", "short", "burn", "above", "")
NAME_COLUMNS = 24
SEVERITY = {"page": 0, "warn": 1, "no data": 2, "ok": 3}
HOUR = timedelta(hours=1)


def share_text(share: float | None) -> str:
    """Write a share in percent, with the decimals that tell it from 100 %, rounded down: 99.9, never 100."""
    if share is None:
        return "-"
    shown = 100 * share
    if shown >= 100 or shown == 0:
        return f"{shown:.0f} %"
    decimals = 1 if shown < 99 else 2 if shown < 99.9 else 3
    scale = 10**decimals
    return f"{int(shown * scale + 1e-9) / scale:.{decimals}f} %"


def limits_text(objective: Objective) -> str:
    """Write what a request has to meet: `TTFT ≤ 450 ms and TPOT ≤ 40 ms`."""
    word = " and " if objective.joint else ", "
    return word.join(f"{limit.metric.upper()} ≤ {limit.ms:.12g} ms" for limit in objective.limits)


def trouble(standings: Sequence[Standing]) -> list[Standing]:
    """Return those that page or warn, the worst first."""
    bad = [each for each in standings if each.state in ("page", "warn")]
    return sorted(bad, key=lambda each: (SEVERITY[each.state], each.budget_left or 0.0, each.objective.name))


def headline(standings: Sequence[Standing]) -> str:
    """Say in one sentence which objective is in trouble."""
    bad, n = trouble(standings), len(standings)
    if n == 1:
        return _alone(standings[0])
    if bad:
        verb = "is" if len(bad) == 1 else "are"
        return f"{len(bad)} of {n} objectives {verb} in trouble: {_trouble(bad[0])}"
    silent = sum(each.state == "no data" for each in standings)
    if silent == n:
        return f"no request of any of {n} objectives was judged"
    rest = f"; {silent} without a request" if silent else ""
    return f"{n - silent} of {n} objectives {'is' if n - silent == 1 else 'are'} met{rest}"


def _alone(standing: Standing) -> str:
    name, share = standing.objective.name, share_text(standing.attained.whole.value)
    if standing.state in ("page", "warn"):
        return _trouble(standing)
    if standing.state == "no data":
        return f"no request of {name} was judged"
    few = ", of too few requests to say" if standing.few else ""
    return f"{name} is met: {share} good{few}, with a target of {_target(standing.objective.target)}"


def _trouble(standing: Standing) -> str:
    name, worst = standing.objective.name, standing.worst
    if worst is None or worst.long_rate is None:
        return f"{name} has no budget left"
    over = duration_text(worst.pair.long)
    limit = "" if worst.limit == JOINT else f" ({worst.limit.upper()})"
    return f"{name} burns its budget{limit} {digits(worst.long_rate)} times too fast over {over}"


def table_rows(standings: Sequence[Standing]) -> list[tuple[str, ...]]:
    """Return a row for each objective, the worst first, under `HEADS`."""
    ordered = sorted(standings, key=lambda each: (SEVERITY[each.state], each.budget_left or 0.0))
    return [_row(each) for each in ordered]


def _row(standing: Standing) -> tuple[str, ...]:
    objective, attained = standing.objective, standing.attained
    name, share = objective.name, share_text(attained.whole.value)
    return (
        name if len(name) <= NAME_COLUMNS else f"{name[: NAME_COLUMNS - 1]}…",
        standing.state,
        f"~{share}" if standing.few and attained.total else share,
        _target(objective.target),
        _left(standing.budget_left),
        _rate(dict(standing.burn).get(HOUR)),
        _many(attained.total),
    )


def _many(n: int) -> str:
    """Write a count in at most six columns."""
    if n < 100_000:
        return f"{n:,}"
    power = 1 if n < 999_500 else 2 if n < 999_500_000 else 3
    return f"{digits(n / 1000**power)}{' kMG'[power]}"


def _target(share: float) -> str:
    return f"{100 * share:.10g} %"


def _left(left: float | None) -> str:
    return "-" if left is None else f"{100 * left:.0f} %"


def _rate(rate: float | None) -> str:
    return "-" if rate is None else digits(rate)


def notes(standings: Sequence[Standing]) -> Iterator[str]:
    """Say what a table's words mean, and what is missing in it."""
    yield from wrapped(
        "good: met every limit and did not fail (not joint: of the limit met least). left: of the budget, the"
        " share that may be bad. burn: how many times faster than that bad ones came."
    )
    few = [each for each in standings if each.few and each.attained.total]
    if few:
        needed = max(each.needed for each in few)
        yield from wrapped(f"~ too few to say: a share to within half its budget takes {needed:,} requests")
    for each in standings:
        yield from unmeasured_lines(each)


def unmeasured_lines(standing: Standing) -> Iterator[str]:
    """Say how far requests without a measurement could move the share, where there are any."""
    whole = standing.attained.whole
    reach = whole.reach()
    if whole.unmeasured and reach is not None:
        low, high = map(share_text, reach)
        yield from wrapped(
            f"{standing.objective.name}: {whole.unmeasured:,} more lack a latency and are counted as neither;"
            f" with them the share lies between {low} and {high}"
        )


def detail_lines(standing: Standing) -> Iterator[str]:
    """Yield all there is to say about one objective."""
    objective, whole = standing.objective, standing.attained.whole
    yield from wrapped(headline([standing]))
    yield ""
    yield from _about(objective)
    unit = "requests" if objective.slices is None else "slices"
    yield f"good          {share_text(whole.value)} ({whole.good:,} of {whole.total:,} {unit})"
    interval = whole.interval()
    if interval is not None:
        low, high = map(share_text, interval)
        few = f"; {standing.needed:,} {unit} would tell it to half the budget" if standing.few else ""
        yield f"95 % interval {low} to {high}{few}"
    yield f"budget left   {_left(standing.budget_left)}"
    kind = "joint" if objective.joint else "marginal, each has the target to itself"
    yield f"limits        {kind}"
    for name, share in standing.attained.marginal.items():
        yield f"  {name:<11} {share_text(share.value)} met it alone ({share.good:,} of {share.total:,})"
    yield from unmeasured_lines(standing)


def _about(objective: Objective) -> Iterator[str]:
    yield f"objective     {objective.title}"
    yield f"requests      {objective.where if objective.where.allowed else 'all'}"
    yield f"limit         {limits_text(objective)}"
    slices = objective.slices
    of = "" if slices is None else f" of {duration_text(slices.length)} slices, each {_target(slices.target)}"
    yield f"target        {_target(objective.target)}{of} over {duration_text(objective.window)}"
    if objective.sla_class:
        yield f"class         {objective.sla_class}"


def firing_rows(standing: Standing) -> list[tuple[str, ...]]:
    """Return a row for each pair of burn windows."""
    return [_firing_row(each) for each in standing.pairs]


def _firing_row(firing: Firing) -> tuple[str, ...]:
    pair = firing.pair
    return (
        pair.severity,
        "-" if firing.limit == JOINT else firing.limit,
        duration_text(pair.long),
        _rate(firing.long_rate),
        duration_text(pair.short),
        _rate(firing.short_rate),
        digits(pair.factor),
        "burning" if firing.firing else "",
    )
