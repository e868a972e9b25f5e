"""A report for people: the answer in the first line, then what it rests on, in 80 columns."""

from collections.abc import Callable, Iterator, Mapping

from otel_attrib.analytics.findings import Evidence
from otel_attrib.analytics.headline import answer, named_layers
from otel_attrib.analytics.matrix import matrix_table
from otel_attrib.analytics.report import Report, Side
from otel_attrib.analytics.report_tables import golden_table, layer_table, stage_table, tail_table
from otel_attrib.analytics.windows import Window
from otel_attrib.analytics.wording import layer_title, milliseconds, percent, points, wrapped

__all__ = ["VIEWS", "milliseconds", "render"]

SHOWN = 6  # points of one kind; --json has all
ABSTAINS = ("GLOBAL", "INSUFFICIENT", "CAUSE_SET")

Section = Callable[[Report], Iterator[str]]


def render(report: Report, view: str = "all") -> str:
    """Return the whole text; `view` is one of `VIEWS` and says which tables stand in it."""
    tables = VIEWS[view]
    quiet = view == "all" and _all_clear(report)
    found: tuple[Section, ...] = () if quiet else (_for, _against, *tables, _slices, _exemplars)
    sections = (answer, _windows, *(found or tables), _deciding, _notes, _definition)
    return "\n\n".join("\n".join(lines) for section in sections if (lines := list(section(report)))) + "\n"


def _all_clear(report: Report) -> bool:
    """Whether nothing got slower, so that whatever moved beside it is of no interest."""
    return report.verdict.word == "NO_REGRESSION" and not _faint(report)


def _faint(report: Report) -> bool:
    """Whether a rise is there and perhaps too small to matter."""
    rises = report.delta is not None and report.delta.interval()[0] > 0
    return report.verdict.word == "NO_REGRESSION" and rises


def _windows(report: Report) -> Iterator[str]:
    for name, side in (("baseline", report.baseline), ("current", report.current)):
        yield f"  {side.name or name:8}  {_side(side, report)}"
        if side.where:
            yield f"            {_pairs(side.where)}"
    if report.where:
        yield f"  where     {_pairs(report.where)}"


def _pairs(where: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in where.items())


def _side(side: Side, report: Report) -> str:
    what = "gaps" if report.metric.name == "tbt" else "requests"
    value = "" if side.ms is None else f"  {milliseconds(side.ms)} ms"
    return f"{_span(side.window)}  {side.n} {what}{value}"


def _span(window: Window) -> str:
    end = "%H:%M:%S" if window.start.date() == window.end.date() else "%Y-%m-%d %H:%M:%S"
    return f"{window.start:%Y-%m-%d %H:%M:%S}…{window.end:{end}} UTC"


def _for(report: Report) -> Iterator[str]:
    named = named_layers(report)
    found = [item for item in report.evidence if item.speaks_for and item.layer in (named or report.layers)]
    yield from _listed("What speaks for it" if named else "What points to a layer", "+", found)


def _against(report: Report) -> Iterator[str]:
    """Evidence against the layers that are named, and for any other."""
    named = named_layers(report)
    found = [
        item for item in report.evidence if not item.speaks_for and item.layer in (named or report.layers)
    ]
    if named:
        found += [item for item in report.evidence if item.speaks_for and item.layer not in named]
    yield from _listed("What speaks against it" if named else "What speaks against a layer", "-", found)


def _listed(title: str, sign: str, found: list[Evidence]) -> Iterator[str]:
    if not found:
        return
    yield title
    yield from points(sign, [_sentence(item) for item in found[:SHOWN]])
    if len(found) > SHOWN:
        yield f"    and {len(found) - SHOWN} more (--json has all)"


def _sentence(item: Evidence) -> str:
    return (
        f"{layer_title(item.layer)}: {item.text} [{item.counter}]"
        if item.counter
        else (f"{layer_title(item.layer)}: {item.text}")
    )


def _slices(report: Report) -> Iterator[str]:
    if report.slices:
        yield "Who was hit"
    for found in report.slices:
        share = f"{percent(found.share)} of the excess"
        yield from wrapped(f"{found}: {found.requests} requests, {share}", "  ", "    ")


def _exemplars(report: Report) -> Iterator[str]:
    if report.exemplars:
        yield "Requests to look at (otel-attrib trace ID, otel-attrib why --trace ID)"
    for exemplar in report.exemplars:
        largest = f", of it {exemplar.stage} {milliseconds(exemplar.stage_ms)}" if report.metric.parts else ""
        yield f"  {exemplar.trace_id}  {milliseconds(exemplar.ms)} ms{largest}"


def _deciding(report: Report) -> Iterator[str]:
    if report.deciding and (_faint(report) or report.verdict.word in ABSTAINS):
        yield "What would decide it"
        yield from points("?", list(report.deciding))


def _notes(report: Report) -> Iterator[str]:
    if report.notes:
        yield "Notes"
        yield from points("-", list(report.notes))


def _definition(report: Report) -> Iterator[str]:
    yield from wrapped(f"{report.metric.title}: {report.metric.definition}.")
    yield "The rule for calling a regression: otel-attrib why --help"


def _matrix(report: Report) -> Iterator[str]:
    if report.matrix is not None:
        yield from matrix_table(report.matrix)


def _where(report: Report) -> Iterator[str]:
    """Both tables; without a change that stands out of its own uncertainty their shares would mislead."""
    delta = report.delta
    if delta is None:
        return
    low, high = delta.interval()
    if low < 0 < high:
        yield from wrapped(
            "What each layer added is not shown: the change is within its own uncertainty"
            " (--view layers shows it all the same)."
        )
        return
    layers, stages = list(layer_table(report)), list(_caused_or_tail(report))
    yield from [*layers, *([""] if layers and stages else []), *stages]


def _caused_or_tail(report: Report) -> Iterator[str]:
    """What each stage caused, or where that is not known what is in the tail."""
    return stage_table(report) if report.stages_unexplained is not None else tail_table(report)


VIEWS: dict[str, tuple[Section, ...]] = {
    "all": (_where,),
    "layers": (layer_table,),
    "stages": (stage_table, tail_table),
    "golden": (golden_table,),
    "matrix": (_matrix,),
}
"""The tables that `--view` chooses."""
