"""The tables of a report: what each layer and each stage added, with every line that makes up the sum."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from otel_attrib.analytics.golden import golden_formula
from otel_attrib.analytics.intervals import Estimate
from otel_attrib.analytics.metric import OUTSIDE
from otel_attrib.analytics.report import Report
from otel_attrib.analytics.wording import (
    layer_title,
    milliseconds,
    one_interval,
    percent,
    probability,
    reach,
    signed,
    wrapped,
)

__all__ = ["golden_table", "layer_table", "stage_table", "tail_table"]

SMALLEST_MS = 0.005  # below it a number would be written as 0.00
WORTH_A_LINE = 0.005  # share of the change below which layers are put together


@dataclass(frozen=True, slots=True)
class _Line:
    name: str
    ms: float
    share: str = ""
    p: str = ""
    interval: str = ""

    def __str__(self) -> str:
        text = f"  {self.name:22}{signed(self.ms):>9}{self.share:>8}{self.p:>7}"
        return f"{text}{self.interval:>18}".rstrip()


def layer_table(report: Report) -> Iterator[str]:
    """Return what each layer added, then workload, load, unexplained and the sum."""
    delta = report.delta
    if delta is None or not report.layers:
        return
    yield f"Where the {milliseconds(delta.value, sign=True)} ms came from"
    yield f"  {'layer':22}{'ms':>9}{'share':>8}{'p':>7}{'95 % interval':>18}"
    yield from map(str, _layer_lines(report, delta))
    for name, line in (
        ("workload (mix)", report.workload),
        ("load (arrivals)", report.load),
        ("unexplained", report.unexplained),
    ):
        if line is not None:
            width = one_interval(line) if line.variance else ""
            yield str(_Line(name, line.value, _share(line.value, delta), "", width))
    yield str(_Line("sum", delta.value, _share(delta.value, delta), "", one_interval(delta)))


def _layer_lines(report: Report, delta: Estimate) -> Iterator[_Line]:
    small = []
    for layer, line in sorted(report.layers.items(), key=lambda item: (-abs(item[1].ms), item[0])):
        if abs(line.ms) < WORTH_A_LINE * abs(delta.value):
            small.append(line.ms)
            continue
        yield _Line(layer_title(layer), line.ms, _share(line.ms, delta), probability(line.p), reach(*line.ci))
        yield from (
            _Line(f"  of it {part.partition('.')[2] or part}", ms, _share(ms, delta))
            for part, ms in line.parts.items()
        )
    if small:
        which = "all" if len(small) == len(report.layers) else str(len(small))
        name = (
            "all layers" if which == "all" else f"{which} other layers" if len(small) > 1 else "1 other layer"
        )
        yield _Line(name, sum(small), _share(sum(small), delta))


def _share(ms: float, delta: Estimate) -> str:
    return percent(ms / delta.value) if delta.value else ""


def stage_table(report: Report) -> Iterator[str]:
    """Return the change that each stage caused, then what it does not explain, and the sum."""
    delta = report.delta
    if delta is None or not report.stages or report.stages_unexplained is None:
        return
    yield "In which stage: change caused by the stage itself, at equal work"
    yield from _estimates([*report.by_size, *_others(report)], delta)


def tail_table(report: Report) -> Iterator[str]:
    """Return what stood in the tail, after minus before: bookkeeping, and said to be no cause."""
    delta = report.delta
    if delta is None or not report.tail_accounting:
        return
    yield "What is in the tail (bookkeeping, not a cause)"
    lines = sorted(report.tail_accounting.items(), key=lambda item: (item[0] == OUTSIDE, -abs(item[1].value)))
    yield from _estimates(lines, delta)


def _others(report: Report) -> Iterator[tuple[str, Estimate]]:
    if OUTSIDE in report.stages:
        yield OUTSIDE, report.stages[OUTSIDE]
    for name, line in (
        ("workload (mix)", report.workload),
        ("load (arrivals)", report.load),
        ("unexplained", report.stages_unexplained),
    ):
        if line is not None and line.value:
            yield name, line


def _estimates(lines: Iterable[tuple[str, Estimate]], delta: Estimate) -> Iterator[str]:
    yield f"  {'stage':22}{'ms':>9}{'share':>8}{'':7}{'95 % interval':>18}"
    listed = list(lines)
    for name, line in listed:
        if abs(line.value) >= SMALLEST_MS:
            yield str(_Line(name, line.value, _share(line.value, delta), "", one_interval(line)))
    unmoved = [name for name, line in listed if abs(line.value) < SMALLEST_MS]
    yield from wrapped(f"{', '.join(unmoved)}: 0", "  ", "    ") if unmoved else ()
    yield str(_Line("sum", delta.value, _share(delta.value, delta), "", one_interval(delta)))


def golden_table(report: Report) -> Iterator[str]:
    """Return the same change as compute, memory, transfer and scheduling."""
    delta = report.delta
    if delta is None or not report.layers:
        return
    yield "T = compute + memory + transfer + scheduling"
    yield f"  {'term':22}{'ms':>9}{'share':>8}"
    for name, ms in (*golden_formula(report.layers, report.rest).items(), ("sum", delta.value)):
        yield str(_Line(name, ms, _share(ms, delta)))
    yield from wrapped(
        "compute and memory: GPU; transfer: PCIe, NVLink and network; scheduling: scheduler and host CPU.",
        "  ",
    )
