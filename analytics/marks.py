"""What people and machines did to the service at a known time: deploys, changed configurations."""

from dataclasses import dataclass
from datetime import datetime

from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import Window, rfc3339
from otel_attrib.schema.epoch import time_at
from otel_attrib.schema.store import Store

__all__ = ["Mark", "marks_between"]


@dataclass(frozen=True, slots=True)
class Mark:
    """One row of `marks`."""

    time: datetime
    kind: str
    name: str

    def __str__(self) -> str:
        """Write it as it stands in a note: `deploy v2 at 2026-05-01T12:20:00Z`."""
        return f"{f'{self.kind} {self.name}'.strip()} at {rfc3339(self.time)}"


def marks_between(store: Store, span: Window, where: Filter, most: int) -> list[Mark]:
    """Return the last `most` marks in [start, end), latest first.

    Where one service alone is asked for, its own and those that name no service; where tenants are, theirs
    and those that name no tenant (in the attribute `tenant`).
    """
    chosen = dict(where.allowed)
    services = chosen.get("service", ())
    service = services[0] if len(services) == 1 else ""
    bound = {**span.bounds_us(), "service": service, "most": most, "tenants": list(chosen.get("tenant", ()))}
    return [
        Mark(time_at(int(row["at_us"])), row["kind"], row["name"])
        for row in store.rows(statement("marks_between"), bound)
    ]
