"""What bounds a profile's kernels, copies and collectives, as lines of at most 80 columns."""

from collections import Counter
from collections.abc import Iterator, Sequence

from otel_attrib.analytics.profiles.cards import Card
from otel_attrib.analytics.profiles.collectives import CollectiveUse
from otel_attrib.analytics.profiles.limits import Limits
from otel_attrib.analytics.profiles.link_use import LinkUse
from otel_attrib.analytics.profiles.missing_text import Missing, missing_lines
from otel_attrib.analytics.profiles.roofline import ClassRoof
from otel_attrib.analytics.profiles.verdict import duration
from otel_attrib.analytics.wording import digits, percent, wrapped

__all__ = ["answer", "limit_lines"]

_ROWS = 12
_WORTH = 0.05


def limit_lines(devices: Sequence[Limits], missing: Missing = ()) -> Iterator[str]:
    """Yield the answer about the first device, then every device, and what the file does not say."""
    yield from wrapped(answer(devices))
    for one in devices:
        yield ""
        yield f"GPU {one.device}  {one.name or 'without a name'}  {_card(one.card, one.name)}"[:80]
        yield from _classes(one.roofs)
        if one.rule and one.rule.share >= _WORTH:
            yield from wrapped(f"  {one.rule.text}.")
        yield from _links(one.links)
        yield from _collectives(one.collectives)
    yield from missing_lines(missing)


def answer(devices: Sequence[Limits]) -> str:
    """Return what bounds the longest class of the first device that computes."""
    for one in devices:
        if one.roofs:
            roof, total = one.roofs[0], sum(roof.time_ns for roof in one.roofs)
            kind = roof.kind.replace("_", " ")
            subject = f"{kind}, {percent(roof.time_ns / max(total, 1))} of the compute time"
            return f"GPU {one.device}: {_said(roof, subject)}"
    return "no kernels that compute in this profile"


def _said(roof: ClassRoof, subject: str) -> str:
    if roof.verdict == "undecided":
        return f"what bounds {subject}, is undecided ({roof.reason})"
    if roof.verdict == "unknown":
        return f"what bounds {subject}, is not known: {roof.reason}"
    return f"{subject}, is {roof.verdict} ({roof.reason})"


def _card(card: Card | None, name: str) -> str:
    if card is None:
        return "(no peaks known: --card)"
    peak = max(card.peaks.get("bf16", 0.0), card.peaks.get("fp16", 0.0))
    taken = "" if name else "taken for "
    return f"({taken}{card.key}: {peak / 1e12:,.0f} TFLOP/s, {card.memory_bandwidth / 1e12:.2f} TB/s)"


def _classes(roofs: Sequence[ClassRoof]) -> Iterator[str]:
    yield ""
    yield f"  {'class':16}{'time':>9}{'TFLOP/s':>9}{'GB/s':>8}{'FLOP/B':>8}{'known':>6}  bound by"
    for roof in roofs[:_ROWS]:
        seconds = roof.known_ns / 1e9
        flops = digits(roof.flops / seconds / 1e12) if seconds and roof.flops else "-"
        rate = f"{roof.bytes / seconds / 1e9:,.0f}" if seconds and roof.bytes else "-"
        density = digits(roof.intensity) if roof.intensity else "-"
        known = percent(roof.known_ns / roof.time_ns) if roof.time_ns else "-"
        kind = roof.kind.replace("_", " ")
        time = duration(roof.time_ns)
        yield f"  {kind[:15]:16}{time:>9}{flops:>9}{rate:>8}{density:>8}{known:>6}  {_bound(roof)}"


def _bound(roof: ClassRoof) -> str:
    if roof.compute_share is None or roof.memory_share is None or roof.verdict in ("unknown", "launch-bound"):
        return roof.verdict
    word = roof.verdict.removesuffix("-bound")
    return f"{word} ({percent(max(roof.compute_share, roof.memory_share))})"


def _links(links: Sequence[LinkUse]) -> Iterator[str]:
    if not links:
        return
    yield ""
    yield f"  {'copies':8}{'count':>8}{'MB':>10}{'GB/s':>8}  of what can be carried"
    for use in links:
        copies = use.copies
        size = "-" if copies.bytes is None else _small(copies.bytes / 1e6)
        rate = "-" if copies.gb_per_s is None else _small(copies.gb_per_s)
        yield f"  {copies.direction:8}{copies.count:>8,}{size:>10}{rate:>8}  {_carried(use)}"[:80]
        if use.reason:
            yield f"          {use.reason}"


def _carried(use: LinkUse) -> str:
    if not use.capacity or use.share is None:
        return "link not known (--card or --link)"
    share = f"{100 * use.share:.1f} %"
    return f"{share} of {use.over} ({use.capacity / 1e9:,.0f} GB/s)"


def _collectives(uses: Sequence[CollectiveUse]) -> Iterator[str]:
    if not uses:
        return
    yield ""
    times = f"{'fastest':>9}{'median':>9}{'alone':>9}"
    yield f"  {'collective':15}{'ranks':>6}{'MB':>9}{'count':>7}{times}{'bus GB/s':>9}"
    for use in uses[:_ROWS]:
        ranks = str(use.ranks) if use.ranks > 0 else "-"
        size = digits(use.bytes / 1e6) if use.bytes > 0 else "-"
        alone = duration(use.measured.us * 1e3) if use.measured.us is not None else "-"
        bus = digits(use.bus_bytes_per_second / 1e9) if use.bus_bytes_per_second else "-"
        times = f"{duration(use.fastest_ns):>9}{duration(use.median_ns):>9}{alone:>9}"
        yield f"  {use.operation[:14]:15}{ranks:>6}{size:>9}{use.count:>7,}{times}{bus:>9}"
    for text, sizes in Counter(f"{use.operation}: {use.verdict}" for use in uses[:_ROWS]).items():
        yield from wrapped(f"  {text}{f' ({sizes} messages)' if sizes > 1 else ''}")


def _small(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else digits(number) if number >= 0.01 else "<0.01"
