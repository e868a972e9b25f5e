"""GET and POST /marks: what people and machines did to the service at a known time."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response

from otel_attrib.analytics.mark_list import ATTRIBUTES_AT_MOST, LONGEST, TENANT, MarkRow, add_mark
from otel_attrib.analytics.mark_object import SCHEMA, ask_marks, marks_object
from otel_attrib.analytics.service.ask import Asks
from otel_attrib.analytics.service.caller import Caller, Reader, Writer
from otel_attrib.analytics.service.pages import Cursor, Limit
from otel_attrib.analytics.service.parameters import At
from otel_attrib.analytics.service.problem import Forbidden
from otel_attrib.analytics.service.span import From, To, span_words
from otel_attrib.analytics.windows import parse_time
from otel_attrib.errors import UsageError

__all__ = ["NewMark", "router"]

router = APIRouter(tags=["marks"])
Names = Annotated[list[str], Query(max_length=32, description="Only these; repeatable; none: any.")]


class NewMark(BaseModel):
    """A mark to be kept; without a time it is now."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=LONGEST["name"], examples=["v2.3.1"])
    kind: str = Field(min_length=1, max_length=LONGEST["kind"], examples=["deploy"])
    service: str = Field("", max_length=LONGEST["service"], description="None: it concerns all.")
    time: str | None = Field(None, max_length=64, description="RFC 3339.", examples=["2026-05-01T12:00:00Z"])
    attributes: dict[str, str] = Field(
        default_factory=dict,
        max_length=ATTRIBUTES_AT_MOST,
        description="`tenant` makes the mark that tenant's alone.",
    )

    def row(self, caller: Caller) -> MarkRow:
        """The mark as `caller` may write it: somebody with tenants marks for one of them."""
        time = parse_time(self.time) if self.time else datetime.now(UTC)
        attributes = dict(self.attributes)
        if caller.tenants:
            attributes.setdefault(TENANT, _only(caller))
            if not caller.sees(attributes[TENANT]):
                raise Forbidden(f"{caller.name} may not make marks of tenant {attributes[TENANT]!r}")
        return MarkRow(time, self.kind, self.name, self.service, attributes)


def _only(caller: Caller) -> str:
    if len(caller.tenants) > 1:
        raise UsageError(f"give attribute {TENANT}: one of {', '.join(caller.tenants)}")
    return caller.tenants[0]


@router.get("/marks", operation_id="marks", summary="Deploys, changes and drills, page by page")
async def marks(
    ask: Asks,
    caller: Reader,
    last: Annotated[
        str | None,
        Query(max_length=100, description="The span: `7d` (without any), or `FROM..TO`.", examples=["7d"]),
    ] = None,
    begin: From = None,
    end: To = None,
    at: At = "now",
    service: Names = [],  # noqa: B006 -- FastAPI makes a new one for each request
    kind: Names = [],  # noqa: B006 -- the same
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """The newest first. Marks of other tenants than the caller's are left out."""
    span = span_words(last, begin, end, "last", "7d")
    # Not shared: who has just kept a mark finds it.
    return await ask.respond(
        lambda store: marks_object(ask_marks(store, span, at, service, kind, caller.tenants, limit, cursor)),
        kept=0.0,
    )


@router.post("/marks", operation_id="add_mark", summary="Keep a mark", status_code=201)
async def add(ask: Asks, caller: Writer, mark: NewMark) -> Response:
    """Needs role write. The same mark once more is stored once."""
    row = mark.row(caller)
    await ask(lambda store: add_mark(store, row))
    return JSONResponse({"schema": SCHEMA, "items": [row.as_dict()]}, 201)
