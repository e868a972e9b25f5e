"""GET /alerts: what fires now and why. POST and DELETE /alerts/silences: what nobody wants to be told of."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response

from otel_attrib.analytics.alerting.listing import SCHEMA, ask_alerts, sees
from otel_attrib.analytics.alerting.silences import (
    Silence,
    end_silence,
    fetch_silences,
    keep_silence,
    parse_matchers,
)
from otel_attrib.analytics.service.ask import Asks
from otel_attrib.analytics.service.caller import Caller, Reader, Writer
from otel_attrib.analytics.service.describe import ONE
from otel_attrib.analytics.service.parameters import Id
from otel_attrib.analytics.service.problem import Forbidden
from otel_attrib.analytics.windows import parse_duration, parse_time
from otel_attrib.errors import NotFound
from otel_attrib.schema.store import Store

__all__ = ["NewSilence", "router"]

router = APIRouter(tags=["alerts"])

Word = Annotated[str, Field(min_length=1, max_length=300)]


class NewSilence(BaseModel):
    """A silence; it begins now unless `starts` is given, and ends after `lasts` or at `ends`."""

    model_config = ConfigDict(extra="forbid")

    matchers: list[Word] = Field(
        min_length=1, max_length=20, description="All must hold.", examples=[["alertname=LatencyRegression"]]
    )
    comment: str = Field(min_length=1, max_length=1000, examples=["load test until four"])
    created_by: str = Field("", max_length=200, description="Who; the token's name if empty.")
    starts: str | None = Field(None, max_length=64, description="RFC 3339; now if absent.")
    ends: str | None = Field(None, max_length=64, description="RFC 3339.")
    lasts: str = Field("2h", max_length=20, description="How long, where no `ends` is given.")

    def silence(self, caller: Caller) -> Silence:
        """The silence as `caller` may make it: somebody with tenants silences alerts of one of them."""
        now = datetime.now(UTC)
        starts = parse_time(self.starts) if self.starts else now
        ends = parse_time(self.ends) if self.ends else starts + parse_duration(self.lasts)
        by = self.created_by or caller.name
        made = Silence.new(parse_matchers(self.matchers), starts, ends, by, self.comment)
        if not sees(made, caller.tenants):
            raise Forbidden(f"{caller.name} may silence alerts of its tenants alone: give tenant=…")
        return made


@router.get("/alerts", operation_id="alerts", summary="What fires now, and why; silences")
async def alerts(ask: Asks, caller: Reader) -> Response:
    """The oldest first, each as it was told last. A caller with tenants sees alerts on these alone."""
    return await ask.respond(lambda store: ask_alerts(store, caller.tenants), kept=0.0)


@router.post("/alerts/silences", operation_id="add_silence", summary="Silence alerts", status_code=201)
async def add(ask: Asks, caller: Writer, silence: NewSilence) -> Response:
    """Needs role write. Alertmanager's own silences are made in Alertmanager."""
    made, now = silence.silence(caller), datetime.now(UTC)
    await ask(lambda store: keep_silence(store, made, now))
    return JSONResponse({"schema": SCHEMA, "silences": [made.as_dict(now)]}, 201)


@router.delete(
    "/alerts/silences/{silence}", operation_id="end_silence", summary="Let a silence end now", responses=ONE
)
async def end(
    ask: Asks, caller: Writer, silence: Annotated[Id, Path(description="As /alerts gives it.")]
) -> Response:
    """Needs role write; the silence is kept, and is over."""
    now = datetime.now(UTC)
    ended = await ask(lambda store: _ended(store, silence.strip(), caller, now))
    return JSONResponse({"schema": SCHEMA, "silences": [ended.as_dict(now)]})


def _ended(store: Store, silence: str, caller: Caller, now: datetime) -> Silence:
    found = next((one for one in fetch_silences(store, now) if one.id == silence), None)
    if found is None or not sees(found, caller.tenants):
        raise NotFound(f"no silence {silence} is pending or active")
    return end_silence(store, silence, now)
