"""Send planned requests at their moments, whatever the server does, and write down what was seen.

Open loop: a slow server does not slow the arrivals, as it would not slow real users. Each
request has its own W3C trace, so a server that continues it can be compared request by
request with what is written here.
"""

import asyncio
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from otel_attrib.demo.client import Exchange, exchange
from otel_attrib.demo.workload import Planned

__all__ = ["Outcome", "read_outcomes", "replay", "write_outcomes"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One sent request as its client saw it."""

    phase: str
    index: int
    kind: str
    tenant: str
    trace_id: str
    span_id: str
    seen: Exchange

    @property
    def ttft_us(self) -> float | None:
        """Return the time from the request's bytes written to the first output seen, in µs."""
        first = self.seen.events_ns[0] if self.seen.events_ns else None
        if self.kind == "whole" and self.seen.http_status == 200:
            first = self.seen.first_body_ns
        return None if first is None else (first - self.seen.sent_ns) / 1000


async def replay(
    planned: Sequence[Planned],
    port: int,
    phase: str,
    speed: float = 1.0,
    late: Mapping[str, float] | None = None,
) -> list[Outcome]:
    """Send every request of the plan to a server on loopback; return the outcomes in that order.

    `late` holds, by tenant, how many seconds its bodies come after their heads.
    """
    loop = asyncio.get_running_loop()
    start = loop.time()
    running = []
    for request in planned:
        await asyncio.sleep(max(0.0, start + request.at / speed - loop.time()))
        running.append(
            asyncio.create_task(_send(request, port, phase, (late or {}).get(request.tenant, 0.0)))
        )
    return list(await asyncio.gather(*running))


async def _send(request: Planned, port: int, phase: str, late_s: float) -> Outcome:
    trace_id, span_id = secrets.token_hex(16), secrets.token_hex(8)
    headers = {
        "traceparent": f"00-{trace_id}-{span_id}-01",
        "x-slatag-tenant": request.tenant,
        "x-slatag-sla-class": request.sla_class,
        "x-slatag-sla-deadline-ms": f"{request.deadline_ms:g}",
        "x-slatag-stream-id": f"{phase}-{request.index}",
    }
    body = json.dumps(request.body).encode()
    seen = await exchange(port, request.route, headers, body, request.abort_after, late_s)
    return Outcome(phase, request.index, request.kind, request.tenant, trace_id, span_id, seen)


def write_outcomes(outcomes: Sequence[Outcome], path: Path) -> None:
    """Append outcomes to a file, one JSON object a line."""
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(outcome)) + "\n" for outcome in outcomes)


def read_outcomes(path: Path) -> list[Outcome]:
    """Read such a file."""
    with path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [Outcome(**{**row, "seen": Exchange(**row["seen"])}) for row in rows]
