"""GET /slo, /slo/{name} and /slo/derive: objectives, as `otel-attrib slo --json` and `slo derive --json`.

An objective on requests of other tenants than the caller's is not there; every other one is counted on the
caller's own requests alone.
"""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from otel_attrib.analytics.objectives.ask_slo import ask_objective, ask_slo
from otel_attrib.analytics.objectives.count_cache import CountCaches
from otel_attrib.analytics.objectives.derive import DERIVED_LAST
from otel_attrib.analytics.objectives.derived_object import ask_derive
from otel_attrib.analytics.objectives.objective import Objective
from otel_attrib.analytics.objectives.scope import in_scope
from otel_attrib.analytics.objectives.slo_files import SloFiles
from otel_attrib.analytics.service.ask import Asks
from otel_attrib.analytics.service.caller import Caller, Reader
from otel_attrib.analytics.service.describe import ONE
from otel_attrib.analytics.service.parameters import At, Metric, Where
from otel_attrib.errors import DataError, NotFound

__all__ = ["objective_named", "objectives_for", "router"]

router = APIRouter(tags=["objectives"])

KEPT_SECONDS = 5.0
Name = Annotated[str, Path(min_length=1, max_length=255, description="Of an objective.")]


def objectives_for(request: Request, caller: Caller) -> tuple[Objective, ...]:
    """Return the objectives of setting `slo` that the caller sees, each on the caller's requests.

    What is wrong with a file is for callers of all tenants: it may name another's objective.
    """
    slo_files: SloFiles = request.app.state.slo_files
    try:
        return in_scope(slo_files.objectives(), caller.tenants)
    except DataError as fault:
        if caller.tenants:
            raise DataError("the objectives cannot be read; whoever runs the service sees why") from fault
        raise


def objective_named(name: str, objectives: Sequence[Objective]) -> Objective:
    """Return the one of this name; `NotFound` where the caller sees none."""
    found = next((each for each in objectives if each.name == name), None)
    if found is None:
        raise NotFound(f"no objective {name!r} here")
    return found


@router.get("/slo", operation_id="slo", summary="Where every objective stands")
async def slo(request: Request, ask: Asks, caller: Reader, at: At = "now") -> Response:
    """Attainment, budget left, burn rates and state of each; `items` is empty without setting `slo`.

    Counts are exact up to the last whole minute; a request stored later than half an hour after it arrived is
    in them within the hour. `fault` is there while a file is broken: what was read before it stays in force.
    """
    objectives = objectives_for(request, caller)
    count_caches: CountCaches = request.app.state.count_caches
    broken = request.app.state.slo_files.fault
    fault = {"fault": broken} if broken and not caller.tenants else {}
    return await ask.respond(lambda store: ask_slo(store, count_caches, objectives, at) | fault, KEPT_SECONDS)


@router.get("/slo/derive", operation_id="slo_derive", summary="What could be promised, from the last days")
async def derive(
    request: Request,
    ask: Asks,
    caller: Reader,
    metric: Metric = "ttft",
    last: Annotated[
        str, Query(max_length=20, description="How many days to learn from: `14d`.", examples=["14d"])
    ] = DERIVED_LAST,
    where: Where = [],  # noqa: B006 -- FastAPI makes a new one for each request
    at: At = "now",
) -> Response:
    """P95 of each endpoint by the hour of day (UTC), and a limit proposed from its peak hour."""
    objectives, chosen = objectives_for(request, caller), caller.filter(where)
    return await ask.respond(
        lambda store: ask_derive(store, metric, last, chosen, at, objectives), KEPT_SECONDS
    )


@router.get(
    "/slo/{name:path}", operation_id="slo_objective", summary="Where one objective stands", responses=ONE
)
async def objective(
    request: Request,
    ask: Asks,
    caller: Reader,
    name: Name,
    at: At = "now",
    history: Annotated[
        bool, Query(description="Add good and total of up to 120 stretches of the window.")
    ] = False,
) -> Response:
    """As an item of /slo, with `history` on demand."""
    objectives = objectives_for(request, caller)
    objective_named(name, objectives)
    count_caches: CountCaches = request.app.state.count_caches
    return await ask.respond(
        lambda store: ask_objective(store, count_caches, objectives, name, at, history), KEPT_SECONDS
    )
