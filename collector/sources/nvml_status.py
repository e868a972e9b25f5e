"""Whether each card works: `hw.status` with `hw.state` ok, degraded or failed."""

from collections.abc import Iterable

import numpy as np

from otel_attrib.collector.agent.source import Series, series
from otel_attrib.collector.sources.nvml_columns import Columns, Named

__all__ = ["STATES", "Status"]

STATES = ("ok", "degraded", "failed")


class Status:
    """The states of all cards, those that cannot be read among them."""

    def __init__(self) -> None:
        """Know no card yet."""
        self._named: dict[str, tuple[Series, ...]] = {}
        self._uuids: dict[str, str] = {}
        self._all = Named([])

    def name(self, device: str, uuid: str, model: str) -> None:
        """Make a card's series, once for as long as its UUID stays."""
        if device not in self._named or (uuid and self._uuids[device] != uuid):
            self._uuids[device] = uuid
            named = {"slatag__gpu__uuid": uuid, "hw__name": model} if uuid else {}
            self._named[device] = tuple(
                series("gpu_status", device, hw__state=state, **named) for state in STATES
            )
            self._all = Named([one for named in self._named.values() for one in named])

    def columns(self, failed: Iterable[str], degraded: Iterable[str]) -> Columns:
        """Return 1 for the state that holds of each card and 0 for the others."""
        bad, poor = frozenset(failed), frozenset(degraded)
        holds = ["failed" if one in bad else "degraded" if one in poor else "ok" for one in self._named]
        return self._all.columns(np.array([float(state == held) for held in holds for state in STATES]))
