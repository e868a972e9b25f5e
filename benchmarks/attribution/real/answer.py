"""What was answered of one real fault, and whether that is right, wrong or withheld."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from benchmarks.attribution.real.faults import Fault

__all__ = ["Answered", "Grade", "grade", "read_answer", "table"]

Grade = Literal["right", "wrong", "abstained"]
LINES = {"MIX": "workload", "LOAD": "load", "NO_REGRESSION": "none"}


@dataclass(frozen=True, slots=True)
class Answered:
    """One fault in one repeat: ours, and each rival's named layer ("" when it names none) with its grade."""

    fault: str
    truth: tuple[str, ...]
    repeat: int
    before_ms: float | None
    after_ms: float | None
    verdict: str
    named: str
    p: float | None
    grade: Grade
    reason: str
    rivals: dict[str, str] = field(default_factory=dict)
    rival_grades: dict[str, Grade] = field(default_factory=dict)


def read_answer(fault: Fault, repeat: int, body: Mapping[str, Any], rivals: Mapping[str, str]) -> Answered:
    """Read a `why --json` and the rivals' answers."""
    named, p = _named(body)
    return Answered(
        fault=fault.name,
        truth=tuple(sorted(fault.truth)),
        repeat=repeat,
        before_ms=body["baseline"]["ms"],
        after_ms=body["current"]["ms"],
        verdict=body["verdict"],
        named=named,
        p=p,
        grade=grade(named, fault.truth),
        reason=body["checks"]["reason"],
        rivals=dict(rivals),
        rival_grades={name: grade(said, fault.truth) for name, said in rivals.items()},
    )


def grade(named: str, truth: frozenset[str]) -> Grade:
    """Right when any of what is named is true; abstained when nothing is named."""
    if not named:
        return "abstained"
    return "right" if set(named.split("+")) & truth else "wrong"


def _named(body: Mapping[str, Any]) -> tuple[str, float | None]:
    """The layers of a cause, largest first; a line for a mix, load or calm; nothing for an abstention."""
    verdict = body["verdict"]
    if verdict in LINES:
        return LINES[verdict], None
    if verdict not in ("CAUSE", "CAUSE_SET"):
        return "", None
    layers = sorted(body["layers"].items(), key=lambda item: -item[1]["ms"])
    count = 1 if verdict == "CAUSE" else 2
    return "+".join(name for name, _ in layers[:count]), layers[0][1]["p"]


def table(answered: Sequence[Answered]) -> str:
    """The answers side by side, in 100 columns, and the count of each grade."""
    rivals = sorted({name for answer in answered for name in answer.rivals})
    head = (
        f"{'fault':15}{'truth':11}{'P95 before':>11}{'after':>8}  {'verdict':14}{'named':12}{'p':>5} {'':10}"
    )
    lines = [head + "".join(f"{name:>16}" for name in rivals)]
    for answer in answered:
        told = "".join(f"{answer.rivals.get(name, '') or '-':>16}" for name in rivals)
        p = "" if answer.p is None else f"{answer.p:.2f}"
        lines.append(
            f"{answer.fault:15}{'/'.join(answer.truth):11}"
            f"{_ms(answer.before_ms):>11}{_ms(answer.after_ms):>8}  "
            f"{answer.verdict:14}{answer.named or '-':12}{p:>5} {answer.grade:10}{told}"
        )
    ours = _counted(answer.grade for answer in answered)
    lines.append(f"otel-attrib: {ours}")
    for name in rivals:
        lines.append(f"{name}: {_counted(a.rival_grades[name] for a in answered if name in a.rival_grades)}")
    return "\n".join(lines)


def _counted(grades: Any) -> str:
    found = list(grades)
    return ", ".join(f"{found.count(grade)} {grade}" for grade in ("right", "wrong", "abstained"))


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"
