"""The evidence of a window as lines of text, at most 80 columns, the answer on the first."""

from collections.abc import Iterator, Sequence

from otel_attrib.analytics.join.quantities import title, written
from otel_attrib.analytics.join.sensors import lacking
from otel_attrib.analytics.join.window import PlaceLine, WindowEvidence
from otel_attrib.analytics.wording import percent, wrapped

__all__ = ["headline", "lines"]

SHOWN = 24
UNUSUAL = 3.0


def lines(told: WindowEvidence) -> list[str]:
    """Return the place that stands out most for each counter, and what was not read."""
    rows = _one_a_counter(told.lines)
    text = list(wrapped(headline(told), others="  "))
    if rows:
        head = f"{'counter':<25}{'where':<14}{'value':>11}{'before':>8}{'others':>8}{'z':>7}{'read':>6}"
        text += ["", head, *(_row(row) for row in rows[:SHOWN])]
    if len(rows) > SHOWN:
        text.append(f"and {len(rows) - SHOWN} more counters (--json has them all, at every place)")
    return [*text, "", *_notes(told)]


def headline(told: WindowEvidence) -> str:
    """Return the answer: which place stands out, or that none does."""
    if not told.engines:
        return "evidence: no request arrived in this window, so no card or host is meant"
    if not told.lines:
        return f"evidence: no counter of {', '.join(told.nodes) or 'these engines'} was read in this window"
    best = next((line for line in told.lines if line.badness >= UNUSUAL), None)
    if best is None:
        counters = len({line.counter.key for line in told.lines})
        return f"evidence: {counters} counters of {_places(told)}, none stands out"
    value, (before, others) = written(best.counter, best.value, [best.before, best.others], rate=True)
    beside = [f"{others} on the others"] if others else []
    told_before = [f"{before} before"] if before else []
    return f"evidence: {', '.join([f'{title(best.counter)} {value} on {best.place}', *told_before, *beside])}"


def _places(told: WindowEvidence) -> str:
    cards = len({line.place for line in told.lines if line.device})
    return f"{cards} cards on {len(told.nodes)} nodes" if cards else f"{len(told.nodes)} nodes"


def _one_a_counter(found: Sequence[PlaceLine]) -> list[PlaceLine]:
    first: dict[str, PlaceLine] = {}
    for line in found:
        first.setdefault(line.counter.key, line)
    return list(first.values())


def _row(line: PlaceLine) -> str:
    value, others = written(line.counter, line.value, [line.before, line.others], rate=True)
    z = "" if line.z is None else f"{max(-999.0, min(999.0, line.z)):+.1f}"
    name, place = _cut(title(line.counter), 24), _cut(line.place, 13)
    return f"{name:<25}{place:<14}{value:>11}{others[0]:>8}{others[1]:>8}{z:>7}{percent(line.coverage):>6}"


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}>"


def _notes(told: WindowEvidence) -> Iterator[str]:
    yield from wrapped(f"window {told.window}, before: as long just before it", "  ")
    yield from wrapped(
        f"{told.engines} engines on {len(told.nodes)} nodes; totals as what they grow by", "  "
    )
    for line in lacking(told.missing, told.nodes[:3]):
        yield from wrapped(line, "  ")
