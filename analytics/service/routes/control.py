"""GET /slo/thresholds, /slo/arbiter, /slo/budget, /slo/pressure: what the objectives ask for.

All of them recommend; nothing here changes a threshold or an engine. Who sees certain tenants only gets the
recommendation for their requests: shares are then of what these tenants have together.
"""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from otel_attrib.analytics.control.arbiter import arbiter_object, budget_object
from otel_attrib.analytics.control.ask_control import ask_arbiter, ask_pressure, ask_thresholds, weights_of
from otel_attrib.analytics.control.factors import Policy
from otel_attrib.analytics.control.tails import Asked
from otel_attrib.analytics.service.ask import Asks
from otel_attrib.analytics.service.caller import Reader
from otel_attrib.analytics.service.describe import ONE
from otel_attrib.analytics.service.parameters import At, Metric, Quantile
from otel_attrib.analytics.service.routes.slo import objective_named, objectives_for

__all__ = ["router"]

router = APIRouter(tags=["objectives"])

KEPT_SECONDS = 5.0  # as long as a round lasts
Direction = Annotated[
    Literal["boost", "throttle"], Query(description="A tenant in breach gets more, or less.")
]
Least = Annotated[int, Query(ge=1, le=1_000_000, description="Requests that a factor needs.")]
Smoothing = Annotated[
    float, Query(gt=0, le=1, allow_inf_nan=False, description="Weight of the newest round; 1: none.")
]
DeadBand = Annotated[
    float, Query(ge=0, lt=1, allow_inf_nan=False, description="Smaller relative changes are none.")
]
Duration = Annotated[str, Query(max_length=20, description="How long: `5m`, `24h`.", examples=["5m"])]


async def _rules(
    policy: Direction = "boost",
    metric: Metric = "ttft",
    quantile: Quantile = 0.95,
    least: Least = 20,
    smoothing: Smoothing = 1.0,
    dead_band: DeadBand = 0.0,
) -> tuple[Policy, Asked]:
    return Policy(policy, least=least, smoothing=smoothing, dead_band=dead_band), Asked(metric, quantile)


Rules = Annotated[tuple[Policy, Asked], Depends(_rules)]
"""How the arbiter makes factors, and which tail it looks at."""


@router.get("/slo/thresholds", operation_id="slo_thresholds", summary="What the threshold loop would decide")
async def thresholds(
    request: Request,
    ask: Asks,
    caller: Reader,
    at: At = "now",
    period: Duration = "5m",
    day: Duration = "24h",
    log: Annotated[
        str | None, Query(max_length=100, description="Add the decisions kept in this span: `7d`.")
    ] = None,
) -> Response:
    """As `otel-attrib slo thresholds --json`, always a dry run.

    Kept decisions tell of all tenants' requests: who sees certain tenants only gets none of them.
    """
    objectives = objectives_for(request, caller)
    shown = None if caller.tenants else log
    return await ask.respond(
        lambda store: ask_thresholds(store, objectives, at, period, day, caller.scope(), shown), KEPT_SECONDS
    )


@router.get("/slo/arbiter", operation_id="slo_arbiter", summary="A factor for each tenant")
async def arbiter(
    request: Request,
    ask: Asks,
    caller: Reader,
    rules: Rules,
    at: At = "now",
) -> Response:
    """From the last minute, anew every five seconds, between 0.5 and 2; a recommendation."""
    objectives = objectives_for(request, caller)
    how, asked = rules
    return await ask.respond(
        lambda store: arbiter_object(ask_arbiter(store, objectives, at, how, asked, caller.scope())),
        KEPT_SECONDS,
    )


@router.get("/slo/budget", operation_id="slo_budget", summary="Each tenant's part of a total")
async def budget(
    request: Request,
    ask: Asks,
    caller: Reader,
    rules: Rules,
    total: Annotated[
        float | None, Query(gt=0, le=1e12, allow_inf_nan=False, description="Tokens a second to divide.")
    ] = None,
    weight: Annotated[
        list[str],
        Query(max_length=1000, description="`tenant=2`: a usual weight; none: tokens used in the last day."),
    ] = [],  # noqa: B006 -- FastAPI makes a new one for each request
    at: At = "now",
) -> Response:
    """The factors of /slo/arbiter, times usual shares, normalised to the total; a recommendation."""
    objectives = objectives_for(request, caller)
    (how, asked), weights = rules, weights_of(weight)
    return await ask.respond(
        lambda store: budget_object(
            ask_arbiter(store, objectives, at, how, asked, caller.scope(), weights, total)
        ),
        KEPT_SECONDS,
    )


@router.get("/slo/pressure", operation_id="slo_pressure", summary="One number for autoscalers", responses=ONE)
async def pressure(
    request: Request,
    ask: Asks,
    caller: Reader,
    name: Annotated[str, Query(min_length=1, max_length=255, description="Of an objective.")],
    metric: Annotated[
        Literal["ttft", "tpot", "tbt", "e2e"] | None,
        Query(description="One of its latencies; none: the worst."),
    ] = None,
    window: Duration = "5m",
    at: At = "now",
) -> Response:
    """`value`: the quantile over the threshold in force, 1 at it; KEDA's metrics-api scaler reads it.

    Without a measured request there is no number: 404, on which an autoscaler keeps its replicas.
    """
    found = objective_named(name, objectives_for(request, caller))
    return await ask.respond(
        lambda store: ask_pressure(store, found, at, window, metric, caller.scope()), KEPT_SECONDS
    )
