"""The baseline at once, as if it had just passed, then the current window second by second as it happens."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from otel_attrib.collector.imports.delivery import Delivery
from otel_attrib.collector.signals import METRICS, TRACES, Signal
from otel_attrib.errors import DataError
from otel_attrib.fleet.live.cut import by_second, later
from otel_attrib.fleet.otlp import metric_exports, request_exports, step_exports
from otel_attrib.fleet.simulation import Simulation

__all__ = ["Live", "send_live"]


@dataclass(frozen=True, slots=True)
class Live:
    """When the current window began, seconds sent as past and in real time, and how late one came at most."""

    began: datetime
    past_s: int
    live_s: int
    latest_s: float


def send_live(
    simulation: Simulation,
    to: Delivery,
    begins: Callable[[datetime], None],
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
) -> Live:
    """Send each second's items when it has passed; the baseline, which has passed already, goes at once.

    All times are moved by whole seconds so that the current window begins when all is ready to be sent, which
    `begins` is told. Raises `DataError` when items are refused.
    """
    timetable = _timetable(simulation)
    shift = ceil(clock() - simulation.windows[1].start.timestamp())
    began = simulation.windows[1].start + timedelta(seconds=shift)
    begins(began)
    past = live = 0
    latest = 0.0
    for second, exports in timetable:
        bodies = [(signal, later(signal, body, shift)) for signal, body in exports]
        is_past = second + shift <= began.timestamp()
        sleep(max(0.0, second + shift - clock()))
        refused = sum(to.send(signal, body) for signal, body in bodies)
        if refused:
            raise DataError(f"{to.shown} refused {refused:,} items")
        past, live = past + is_past, live + (not is_past)
        latest = latest if is_past else max(latest, clock() - second - shift)
    to.finish()
    return Live(began, past, live, latest)


def _timetable(simulation: Simulation) -> list[tuple[int, list[tuple[Signal, bytes]]]]:
    """Return each second with its requests, spans before counters."""
    found: dict[int, list[tuple[Signal, bytes]]] = {}
    exports = (
        (TRACES, request_exports(simulation)),
        (TRACES, step_exports(simulation)),
        (METRICS, metric_exports(simulation)),
    )
    for signal, bodies in exports:
        for second, body in by_second(signal, (body for _, body in bodies)).items():
            found.setdefault(second, []).append((signal, body))
    return sorted(found.items())
