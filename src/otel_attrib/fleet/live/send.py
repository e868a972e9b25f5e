"""The baseline at once, as if it had just passed, then the current window second by second as it happens."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from otel_attrib.collector.imports.delivery import Delivery
from otel_attrib.collector.signals import METRICS, TRACES, Signal
from otel_attrib.errors import DataError
from otel_attrib.fleet.live.cut import by_second
from otel_attrib.fleet.otlp import metric_exports, request_exports, step_exports
from otel_attrib.fleet.simulation import Simulation

__all__ = ["Live", "send_live"]

Advance = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Live:
    """Seconds of the run sent as past and in real time, and how late the latest of these was, in seconds."""

    past_s: int
    live_s: int
    latest_s: float


def send_live(
    simulation: Simulation,
    to: Delivery,
    advance: Advance,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
) -> Live:
    """Send each second's items when it has passed; what has passed already goes at once.

    Raises `DataError` when items are refused. Whoever starts it chooses the start of the scenario so that the
    current window begins now.
    """
    past = live = 0
    latest = 0.0
    for second, exports in _timetable(simulation):
        wait = second - clock()
        if wait > 0:
            sleep(wait)
        refused = sum(to.send(signal, body) for signal, body in exports)
        if refused:
            raise DataError(f"{to.shown} refused {refused:,} items")
        late = clock() - second
        past, live = (past + 1, live) if not live and wait <= 0 else (past, live + 1)
        latest = max(latest, late) if live else 0.0
        advance(1)
    to.finish()
    return Live(past, live, latest)


def _timetable(simulation: Simulation) -> Iterator[tuple[int, list[tuple[Signal, bytes]]]]:
    """Yield each second with its requests, spans before counters."""
    found: dict[int, list[tuple[Signal, bytes]]] = {}
    exports = (
        (TRACES, request_exports(simulation)),
        (TRACES, step_exports(simulation)),
        (METRICS, metric_exports(simulation)),
    )
    for signal, bodies in exports:
        for second, body in by_second(signal, (body for _, body in bodies)).items():
            found.setdefault(second, []).append((signal, body))
    yield from sorted(found.items())
