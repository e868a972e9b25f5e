"""GET /why and GET /diff: what made the tail slower, as `otel-attrib why --json` and `diff --json`."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from otel_attrib.analytics.one_request import explain_trace
from otel_attrib.analytics.question import Question, compare, end_of, pose
from otel_attrib.analytics.service.ask import Asks
from otel_attrib.analytics.service.caller import Caller, Reader
from otel_attrib.analytics.service.describe import LONG
from otel_attrib.analytics.service.parameters import At, Baseline, Id, Metric, Quantile, Where, Window
from otel_attrib.analytics.service.progress import Progress
from otel_attrib.analytics.service.scope import scoped
from otel_attrib.analytics.why import CHOOSING, STEPS, explain, with_matrix
from otel_attrib.analytics.windows import parse_duration, rfc3339
from otel_attrib.errors import UsageError
from otel_attrib.schema.store import Store

__all__ = ["router"]

router = APIRouter(tags=["attribution"])

KEPT_SECONDS = 2.0
View = Annotated[
    Literal["all", "matrix"],
    Query(description="`matrix` adds layers by TTFT, TPOT and TBT, which asks three times."),
]
Exact = Annotated[bool, Query(description="Read every request of a large window.")]


@router.get(
    "/why", operation_id="why", summary="What made the tail slower, and how sure that is", responses=LONG
)
async def why(
    ask: Asks,
    caller: Reader,
    metric: Metric = "ttft",
    quantile: Quantile = 0.99,
    window: Window = "15m",
    baseline: Baseline = None,
    where: Where = [],  # noqa: B006 -- FastAPI makes a new one for each request
    at: At = "now",
    view: View = "all",
    exact: Exact = False,
    trace: Annotated[
        Id | None, Query(description="Explain this one request by those like it within `window` of it.")
    ] = None,
) -> Response:
    """The change of the quantile between two windows, divided into layers, mix, load and unexplained.

    With `trace` one request instead: its stages beside those of requests like it, of the caller's tenants.
    """
    if trace is not None:
        unused: dict[str, object] = {"baseline": baseline, "where": where, "exact": exact}
        unused |= {"view": view != "all", "quantile": quantile != 0.99, "at": at != "now"}
        return await _one_request(ask, caller, trace, metric, window, unused)
    words = caller.words(where)

    def question(store: Store) -> Question:
        return pose(store, metric, quantile, window, baseline, words, at)

    return await ask.respond_long(
        lambda store, progress: _report(store, question, exact, view, progress), KEPT_SECONDS
    )


@router.get("/diff", operation_id="diff", summary="Why B is slower than A", responses=LONG)
async def diff(
    ask: Asks,
    caller: Reader,
    a: Annotated[
        str, Query(max_length=400, description="The reference: `version=1.0`, a window, or `version=1.0@2h`.")
    ],
    b: Annotated[str, Query(max_length=400, description="What is compared with it, written alike.")],
    metric: Metric = "ttft",
    quantile: Quantile = 0.99,
    window: Window = "15m",
    where: Where = [],  # noqa: B006 -- FastAPI makes a new one for each request
    at: At = "now",
    view: View = "all",
    exact: Exact = False,
) -> Response:
    """Two versions, two windows or two selections of requests; the answer is that of /why."""
    visible = caller.filter(where)

    def question(store: Store) -> Question:
        end = rfc3339(end_of(store, at, visible))
        return scoped(compare(store, a, b, metric, quantile, window, where, end), caller)

    return await ask.respond_long(
        lambda store, progress: _report(store, question, exact, view, progress), KEPT_SECONDS
    )


def _report(
    store: Store, posed: Callable[[Store], Question], exact: bool, view: str, progress: Progress
) -> dict[str, Any]:
    progress(CHOOSING, 0, STEPS)
    question = posed(store)
    report = explain(store, question, exact, progress)
    if view == "matrix":
        report = with_matrix(store, question, report, exact)
    return report.as_dict()


async def _one_request(
    ask: Asks, caller: Caller, trace: str, metric: str, window: str, unused: Mapping[str, object]
) -> Response:
    needless = next((name for name, value in unused.items() if value), None)
    if needless:
        raise UsageError(f"{needless} has no use with trace, which compares one request with those like it")
    around, scope = parse_duration(window), caller.scope()
    return await ask.respond_long(
        lambda store, progress: explain_trace(store, trace.strip(), metric, around, scope).as_dict(),
        KEPT_SECONDS,
    )
