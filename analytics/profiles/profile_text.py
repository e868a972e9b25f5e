"""A breakdown as lines of text, at most 80 columns, the answer on the first."""

from collections.abc import Iterator, Sequence

from otel_attrib.analytics.profiles.breakdown import Breakdown
from otel_attrib.analytics.profiles.missing_text import missing_lines
from otel_attrib.analytics.profiles.timeline import UNKNOWN
from otel_attrib.analytics.profiles.verdict import duration, verdict, wasted_share
from otel_attrib.analytics.wording import digits, wrapped

__all__ = ["lines"]

WIDTH = 80
NAMES = 36  # columns of a device's name


def lines(devices: Sequence[Breakdown], missing: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield everything; the first line is about the device that computes least, `missing` is (file, text)."""
    yield from wrapped(_headline(devices))
    for one in devices:
        yield ""
        yield from _device(one, several=len({device.path for device in devices}) > 1)
    yield from missing_lines(missing)


def _headline(devices: Sequence[Breakdown]) -> str:
    if not devices:
        return "this profile holds nothing that a device did"
    worst = max(devices, key=wasted_share)
    several = f"{len(devices)} devices, the worst: " if len(devices) > 1 else ""
    alike = [one for one in devices if _subject(one) == _subject(worst)]
    file = f" ({worst.path.rsplit('/', 1)[-1]})" if len(alike) > 1 else ""
    cut = "; its file is cut" if worst.cut else "; a file is cut" if any(one.cut for one in devices) else ""
    return f"{several}{_subject(worst)}{file} {verdict(worst)}{cut}"


def _subject(one: Breakdown) -> str:
    rank = "" if one.rank in (UNKNOWN, one.device) else f"rank {one.rank} "
    return f"{rank}GPU {one.device}"


def _device(one: Breakdown, several: bool) -> Iterator[str]:
    file = one.path.rsplit("/", 1)[-1]
    told = "  ".join(text for text in (_subject(one), one.name[:NAMES], file if several else "") if text)
    yield told[:WIDTH]
    yield from _times(one)
    yield ""
    yield from _kernels(one)
    if one.copies:
        yield ""
        yield from _copies(one)
    yield from _launching(one)


def _times(one: Breakdown) -> Iterator[str]:
    rows = [
        ("span", one.span_ns),
        ("compute", one.compute_ns),
        ("communication", one.communication_ns),
        ("copies and memsets", one.memory_ns),
        ("idle", one.idle.total_ns),
        ("  waiting for the host", one.idle.host_ns),
        ("  between queued kernels", one.idle.kernel_ns),
        ("  queued, not started", one.idle.other_ns),
        ("  no host call recorded", one.idle.unknown_ns),
    ]
    for name, ns in rows:
        if ns or not name.startswith("  ") and name != "communication":
            yield f"  {name:26}{_us(ns):>14} µs {_share(ns, one.span_ns)}"
    if one.overlap_share is not None:
        yield f"  communication hidden behind compute: {100 * one.overlap_share:.1f} %"


def _kernels(one: Breakdown) -> Iterator[str]:
    yield f"  {'kernels':26}{'µs':>14}    {'busy':>6}{'count':>9}{'mean µs':>11}"
    for kind in one.kernels:
        mean = kind.sum_ns / kind.count
        yield (
            f"  {kind.kind.replace('_', ' '):26}{_us(kind.sum_ns):>14}    "
            f"{_share(kind.busy_ns, one.span_ns)}{kind.count:>9,}{_us(mean):>11}"
        )


def _copies(one: Breakdown) -> Iterator[str]:
    yield f"  {'copies':26}{'µs':>14}    {'count':>6}{'size':>11}{'GB/s':>9}"
    for copy in one.copies:
        size = "" if copy.bytes is None else _size(copy.bytes)
        rate = "" if copy.gb_per_s is None else digits(copy.gb_per_s)
        yield f"  {copy.direction:26}{_us(copy.busy_ns):>14}    {copy.count:>6,}{size:>11}{rate:>9}"


def _launching(one: Breakdown) -> Iterator[str]:
    found = one.launching
    if found is None:
        return
    yield ""
    told = (
        f"{found.calls:,} launches started {found.activities:,} activities, {found.short:,} of them shorter "
        f"than their own call; delay after the call p50 {duration(found.delay_p50_ns)}, p99 "
        f"{duration(found.delay_p99_ns)}; queue mean {found.queue_mean:.1f}, longest {found.queue_longest:,}"
    )
    yield from wrapped(told, "  ")


def _us(ns: float) -> str:
    us = ns / 1e3
    return f"{us:,.0f}" if us >= 99.95 else f"{us:.1f}" if us >= 9.995 else f"{us:.2f}"


def _size(size: int) -> str:
    for unit, least in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= least:
            return f"{digits(size / least)} {unit}"
    return f"{size} B"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:5.1f}%" if whole else f"{'-':>6}"
