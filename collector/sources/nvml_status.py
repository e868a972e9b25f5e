"""Whether each card works: `hw.status` with `hw.state` ok, degraded or failed."""

from collections.abc import Iterable

from otel_attrib.collector.agent.source import Reading, Series, series

__all__ = ["STATES", "Status"]

STATES = ("ok", "degraded", "failed")


class Status:
    """The states of all cards, those that cannot be read among them."""

    def __init__(self) -> None:
        """Know no card yet."""
        self._named: dict[str, tuple[Series, ...]] = {}
        self._uuids: dict[str, str] = {}

    def name(self, device: str, uuid: str, model: str) -> None:
        """Make a card's series, once for as long as its UUID stays."""
        if device not in self._named or (uuid and self._uuids[device] != uuid):
            self._uuids[device] = uuid
            named = {"slatag__gpu__uuid": uuid, "hw__name": model} if uuid else {}
            self._named[device] = tuple(
                series("gpu_status", device, hw__state=state, **named) for state in STATES
            )

    def readings(self, failed: Iterable[str], degraded: Iterable[str]) -> list[Reading]:
        """Return 1 for the state that holds of each card and 0 for the others."""
        bad, poor = frozenset(failed), frozenset(degraded)
        told: list[Reading] = []
        for device, named in self._named.items():
            holds = "failed" if device in bad else "degraded" if device in poor else "ok"
            told += [(one, float(state == holds)) for one, state in zip(named, STATES, strict=True)]
        return told
