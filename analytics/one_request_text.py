"""Why one request was slow, as lines of text: the answer first, at most 80 columns."""

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

from otel_attrib.analytics.peers import LEAST_PEERS

if TYPE_CHECKING:
    from otel_attrib.analytics.one_request import Explanation, StageExcess

__all__ = ["headline", "lines"]

WIDTH = 80
NAMED = 3
MATTERS = 0.05  # of the excess
UNUSUAL = 3.0


def lines(told: "Explanation") -> list[str]:
    """Return everything about it."""
    text = [headline(told), ""]
    text += wrap(f"beside   {told.peers:,} requests: {told.who}", WIDTH, subsequent_indent=" " * 9)
    text += [f"window   {told.window}"[:WIDTH], f"trace    {told.trace_id}"[:WIDTH]]
    return [*text, "", *_table(told)] if told.enough else text


def headline(told: "Explanation") -> str:
    """Return the answer: how much slower than requests like it, and the stages that made it so."""
    title = told.metric.upper()
    if not told.enough or told.excess_ms is None or told.typical_ms is None:
        return f"{title} {_ms(told.own_ms)} ms; only {told.peers} requests like it, {LEAST_PEERS} would tell"
    if not _slow(told):
        return f"{title} {_ms(told.own_ms)} ms, as usual: such requests take {_ms(told.typical_ms)} ms"
    parts = sorted((line for line in told.stages if line.excess_ms > 0), key=lambda line: -line.excess_ms)
    named = [part for part in parts if part.excess_ms >= MATTERS * told.excess_ms][:NAMED]
    words = [f"{part.stage} {_signed(part.excess_ms)}" for part in named]
    if (told.unexplained_ms or 0.0) >= MATTERS * told.excess_ms:
        words.append(f"unexplained {_signed(told.unexplained_ms or 0.0)}")
    return _fit(f"{title} {_ms(told.own_ms)} ms, {_signed(told.excess_ms)} than usual", words)


def _slow(told: "Explanation") -> bool:
    """Return whether it is slower than nine in ten of its peers, by 5 % at least."""
    excess, typical = told.excess_ms or 0.0, told.typical_ms or 0.0
    return (told.slower_than or 0.0) >= 0.9 and excess > 0.05 * typical


def _fit(start: str, words: list[str]) -> str:
    """Leave out the last words that the line has no room for."""
    while words and len(f"{start}: {', '.join(words)}") > WIDTH:
        words = words[:-1]
    return f"{start}: {', '.join(words)}" if words else start


def _table(told: "Explanation") -> Iterator[str]:
    yield f"{'stage':<18}{'ms':>11}{'usual':>11}{'more':>11}{'z':>8}"
    for line in told.stages:
        yield from _line(line)
    yield f"{'stays unexplained':<18}{'':>22}{_signed(told.unexplained_ms or 0.0):>11}"
    numbers = _ms(told.own_ms), _ms(told.typical_ms), _signed(told.excess_ms)
    yield f"{told.metric.upper():<18}" + "".join(f"{number:>11}" for number in numbers)


def _line(line: "StageExcess") -> Iterator[str]:
    if line.own_ms is None or line.typical_ms is None:
        yield f"{line.stage:<18}{_ms(line.own_ms):>11}{_ms(line.typical_ms):>11}{'not observed':>19}"
    else:
        z = "" if line.z is None else f"{line.z:+,.1f}" if abs(line.z) < 1000 else f"{line.z:+,.0f}"
        yield (
            f"{line.stage:<18}{_ms(line.own_ms):>11}{_ms(line.typical_ms):>11}{_signed(line.excess_ms):>11}{z:>8}"
        )
    if line.hint and (line.z is None or line.z >= UNUSUAL):
        yield from wrap(line.hint, WIDTH, initial_indent="  └ ", subsequent_indent="    ")


def _ms(value: float | None) -> str:
    if value is None:
        return "?"
    digits = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    return f"{value:,.{digits}f}"


def _signed(value: float | None) -> str:
    return "?" if value is None else f"{'+' if value >= 0 else '-'}{_ms(abs(value))}"
