"""Clocks: durations come from the monotonic one, their place in time from the wall clock, in UTC."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

from otel_attrib.collector.sources.clock import read_kernel_clock
from otel_attrib.doctor.check import Finding, Surroundings, check, ok, warn

_EARLIEST = datetime(2025, 1, 1, tzinfo=UTC)
_DRIFT = 0.005
_SLEEP_S = 0.1


@check("clock")
def wall_clock(around: Surroundings) -> Iterator[Finding]:
    """The wall clock shows a possible date, and the process's zone does not matter but is told."""
    now = datetime.now(UTC)
    zone = datetime.now().astimezone().tzname() or "unknown"
    if now < _EARLIEST:
        yield Finding(
            "FAIL", "clock", f"the wall clock says {now:%Y-%m-%d %H:%M}", "set it: timedatectl set-ntp true"
        )
    else:
        yield ok("clock", f"{now:%Y-%m-%d %H:%M:%S} UTC, local zone {zone} (everything is stored in UTC)")


@check("clock rate")
def rates(around: Surroundings) -> Iterator[Finding]:
    """Wall and monotonic clock advance alike over a tenth of a second."""
    wall, steady = time.time_ns(), time.monotonic_ns()
    time.sleep(_SLEEP_S)
    moved = (time.time_ns() - wall) / (time.monotonic_ns() - steady) - 1
    if abs(moved) > _DRIFT:
        text = f"the wall clock ran {moved:+.1%} against the monotonic one"
        yield warn("clock rate", text, "wait until the time service has settled; durations are not affected")
    else:
        yield ok("clock rate", "wall and monotonic clock run alike")


@check("NTP")
def synchronised(around: Surroundings) -> Iterator[Finding]:
    """Whether the kernel's clock is disciplined, as adjtimex(2) tells."""
    try:
        told = read_kernel_clock()
    except (OSError, AttributeError):
        yield ok("NTP", "state not visible here (spans of several hosts need it)")
        return
    if not told.synchronized:
        yield warn(
            "NTP",
            "the kernel's clock is not synchronised: offsets between hosts are unknown",
            "run chronyd, ntpd or systemd-timesyncd on the host",
        )
    else:
        yield ok("NTP", f"synchronised, estimated error {told.most * 1000:,.1f} ms at most")
