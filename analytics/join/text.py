"""The evidence of one request as lines of text, at most 80 columns, the answer on the first."""

from collections.abc import Iterator, Sequence

from otel_attrib.analytics.join.controls import LEAST_BEFORE
from otel_attrib.analytics.join.findings import Finding, RequestEvidence
from otel_attrib.analytics.join.quantities import title, written
from otel_attrib.analytics.join.sensors import lacking
from otel_attrib.analytics.join.stretches import REQUEST, Stretch
from otel_attrib.analytics.wording import percent, wrapped

__all__ = ["headline", "lines"]

SHOWN = 6
UNUSUAL = 3.0
COVERED = 0.5
"""A counter is shown in a stage that its readings stand for by half; what is known less is in the JSON."""


def lines(told: RequestEvidence) -> list[str]:
    """Return everything that is known, stage after stage."""
    text = list(wrapped(headline(told), others="  "))
    tables = [line for stretch in told.stretches for line in _stage(told, stretch)]
    text += ["", *tables] if tables else []
    return [*text, *_too_short(told), "", *_notes(told)]


def headline(told: RequestEvidence) -> str:
    """Return the answer: what was most unusual and where, or that nothing was."""
    if not told.stretches:
        return "evidence: no time of this request was observed, so no reading is its"
    if not told.findings:
        return f"evidence: no counter of {told.node or 'its node (unknown)'} was read in that time"
    judged = [each for each in _covered(told.findings) if each.z is not None]
    unusual = _one_a_layer([each for each in judged if each.badness >= UNUSUAL])
    if unusual:
        return "evidence: " + "; ".join(_told(each) for each in unusual[:2])
    count = len({each.counter.key for each in told.findings})
    read = "1 counter" if count == 1 else f"{count} counters"
    return f"evidence: {read} read, {'none unusual for its stage' if judged else 'nothing to hold against'}"


def _covered(findings: Sequence[Finding]) -> list[Finding]:
    return [each for each in findings if each.coverage >= COVERED]


def _one_a_layer(findings: Sequence[Finding]) -> list[Finding]:
    """Return the first finding of each layer, of the whole request where it shows there too."""
    found: dict[str, Finding] = {}
    whole = {(each.counter.key, each.device): each for each in findings if each.stage == REQUEST}
    for each in findings:
        found.setdefault(each.counter.layer, whole.get((each.counter.key, each.device), each))
    return list(found.values())


def _told(finding: Finding) -> str:
    usual = finding.before or finding.beside
    value, others = written(finding.counter, finding.value, [usual.median if usual else None])
    stage = "" if finding.stage == REQUEST else f" in {finding.stage}"
    where = f" on card {finding.device}" if finding.device else ""
    kind = "usual" if finding.before else "beside"
    return f"{title(finding.counter)} {value}{stage}{where} ({kind} {others[0]})"


def _stage(told: RequestEvidence, stretch: Stretch) -> Iterator[str]:
    """Write the rows of one stage: of several cards the one that deviates most."""
    length = f"{stretch.length_us / 1e3:,.1f} ms"
    findings = told.of(stretch.stage)
    rows = _worst_card(_covered(findings))
    if rows:
        title = f"{stretch.stage}, {length}"
        yield f"{title:<33}{'value':>12}{'usual':>9}{'beside':>9}{'z':>7}{'covered':>9}"
        yield from (_row(row, len(told.devices) > 1) for row in rows[:SHOWN])
        if len(rows) > SHOWN:
            yield f"  and {len(rows) - SHOWN} more (--json has them all)"


def _too_short(told: RequestEvidence) -> Iterator[str]:
    """Name the stages in which nothing is known well enough to be shown."""
    seen = [stretch for stretch in told.stretches if told.of(stretch.stage)]
    unclear = {stage for stages in told.too_short.values() for stage in stages}
    bare = [stretch.stage for stretch in seen if not _covered(told.of(stretch.stage))]
    if short := [stage for stage in bare if stage not in unclear]:
        yield from wrapped(f"shorter than the readings are apart: {', '.join(short)}", others="  ")
    for host, stages in told.too_short.items():
        what = f"too short for the clocks to place {host} in it: {', '.join(stages)}"
        yield from wrapped(what, others="  ")


def _worst_card(findings: Sequence[Finding]) -> list[Finding]:
    found: dict[tuple[str, bool], Finding] = {}
    for each in findings:
        found.setdefault((each.counter.key, bool(each.device)), each)
    return list(found.values())


def _row(finding: Finding, several: bool) -> str:
    usual, beside = finding.before, finding.beside
    medians = [usual.median if usual else None, beside.median if beside else None]
    value, others = written(finding.counter, finding.value, medians)
    name = title(finding.counter) + (f" @{finding.device}" if several and finding.device else "")
    z = "" if finding.z is None else f"{max(-999.0, min(999.0, finding.z)):+.1f}"
    name = name if len(name) <= 30 else f"{name[:29]}>"
    return f"  {name:<31}{value:>12}{others[0]:>9}{others[1]:>9}{z:>7}{percent(finding.coverage):>8}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _notes(told: RequestEvidence) -> Iterator[str]:
    """Say whose counters these are, what they are held against, how far to trust, what is missing."""
    if told.devices and not told.named:
        yield from wrapped(f"its cards are not known by name: all of {told.node} stand for them", "  ")
    if told.findings:
        usual = f"usual: {_counted(told.earlier, 'earlier request')} like it on the same cards"
        usual += f", and {LEAST_BEFORE} are needed" if told.earlier < LEAST_BEFORE else ""
        beside = f"beside: {_counted(told.engines, 'other engine')} of the model then"
        yield from wrapped(f"{usual}; {beside}", "  ")
        clocks = "; ".join(dict.fromkeys(told.clocks.values()))
        yield from wrapped(f"clocks: {clocks}", "  ")
    for host in told.unplaced:
        yield from wrapped(f"nothing of {host} is placed in time: {told.clocks[host]}", "  ")
    for line in lacking(told.missing, [told.node, *told.unplaced]):
        yield from wrapped(line, "  ")
