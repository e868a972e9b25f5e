"""The answer in one line, and the verdict with its reason in the next: what somebody on call reads first."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from otel_attrib.analytics.intervals import Estimate
from otel_attrib.analytics.wording import (
    layer_title,
    milliseconds,
    one_interval,
    percent,
    probability,
    slice_title,
    wrapped,
)

if TYPE_CHECKING:
    from otel_attrib.analytics.report import Report

__all__ = ["answer", "named_layers", "sentence"]

RISEN = ("CAUSE", "CAUSE_SET", "MIX", "LOAD", "GLOBAL")
WORK = {"prompt_tokens": "prompts", "output_tokens": "answers"}
MACHINES = {"node", "gpu", "gpu_set", "replica"}
LONGER = 1.05
MORE = 1.02  # of the request rate
WORTH_NAMING = 0.2  # share of the change from which a layer is one of a set


def answer(report: "Report", indent: str = "") -> Iterator[str]:
    """Return the headline, then the verdict with its reason and the interval of the change."""
    yield from wrapped(sentence(report), indent, f"{indent}  ")
    yield from wrapped(f"{report.verdict.word}: {report.verdict.reason}.{_sureness(report)}", indent, indent)


def sentence(report: "Report") -> str:
    """Return the headline in one piece, as it stands in the JSON."""
    return f"{_name(report)} {_what(report)}"


def named_layers(report: "Report") -> tuple[str, ...]:
    """Return the layers that the verdict blames, most of the change first."""
    return tuple(layer for layer in report.verdict.layers if layer in report.layers)


def _name(report: "Report") -> str:
    return f"P{100 * report.level:g} {report.metric.title}"


def _what(report: "Report") -> str:
    delta = report.delta
    if delta is None or report.baseline.ms is None or report.current.ms is None:
        return "cannot be judged."
    change = f"{_between(report)} ({milliseconds(delta.value, sign=True)})"
    if report.verdict.word in RISEN:
        return f"rose {change}: {_why(report, delta)}"
    if report.verdict.word == "INSUFFICIENT":
        return f"cannot be judged: {change}"
    low, high = delta.interval()
    if high < 0:
        return f"fell {change}"
    return f"rose {change}, not surely enough to matter" if low > 0 else f"shows no regression: {change}"


def _between(report: "Report") -> str:
    before, after = (milliseconds(side.ms or 0.0) for side in (report.baseline, report.current))
    if report.baseline.name:
        return f"{report.baseline.name} {before} → {report.current.name} {after} ms"
    return f"{before} → {after} ms"


def _why(report: "Report", delta: Estimate) -> str:
    word = report.verdict.word
    if word == "MIX":
        return f"{_heavier(report)}, no layer at fault"
    if word == "LOAD":
        return f"{_fuller(report)}, no layer at fault"
    if word == "GLOBAL":
        grown = _grown(report, delta)
        return f"{grown}{_whose(report)}, layer not known" if grown else f"layer not known{_whose(report)}"
    return " and ".join(_layer(report, layer) for layer in named_layers(report)) + _whose(report)


def _whose(report: "Report") -> str:
    if not report.slices:
        return ""
    where = report.slices[0].where
    return f" {'on' if set(where) & MACHINES else 'for'} {slice_title(where)}"


def _grown(report: "Report", delta: Estimate) -> str:
    """Return the stage that most of it is in, caused there where that is known."""
    known = report.stages_unexplained is not None
    stages = report.stages if known else report.tail_accounting
    most = max(stages, key=lambda name: stages[name].value, default="")
    if not most or stages[most].value < WORTH_NAMING * delta.value:
        return ""
    share = milliseconds(stages[most].value, sign=True)
    return f"{share} in {most}" if known else f"in the tail {share} {most}"


def _heavier(report: "Report") -> str:
    longer = _longer(report)
    return f"the {longer} became longer" if longer else "the requests became heavier"


def _fuller(report: "Report") -> str:
    """Say what of the arrivals changed: their rate, or else how they are spread."""
    old, new = report.means.get("requests_per_s", (0.0, 0.0))
    if 0 < new <= MORE * old:
        return "requests came in bursts or to fewer engines"
    return "more requests arrived"


def _longer(report: "Report") -> str:
    grown = {name: new / old for name, (old, new) in report.means.items() if name in WORK and old > 0}
    most = max(grown, key=lambda name: grown[name], default="")
    return WORK[most] if grown.get(most, 0.0) > LONGER else ""


def _layer(report: "Report", layer: str) -> str:
    line = report.layers[layer]
    sure = f"{percent(line.share)}, p {probability(line.p)}"
    return f"{layer_title(layer)} {milliseconds(line.ms, sign=True)} ms ({sure})"


def _sureness(report: "Report") -> str:
    delta = report.delta
    if delta is None or delta.freedom < 1:
        return ""
    return f" 95 % interval of the change: {one_interval(delta)} ms."
