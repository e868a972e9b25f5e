"""What the other benchmarks found, from the JSON that they leave in build/bench: a table each.

A document is a list of flat records, or an object that holds such lists; single values stand above the table.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["SECTIONS", "other_sections", "read_others"]

SECTIONS: dict[str, tuple[str, str, str]] = {
    "core": (
        "The split of ΔP99 into stages",
        "Made requests whose exact Shapley values are known; ms, L1 beside tail accounting.",
        "python -m benchmarks.attribution.core",
    ),
    "detector": (
        "Detection",
        "Alarms a day on streams in which nothing rises, and the delay after three times as many requests are"
        " above their cell's quantile, at 100 requests a second.",
        "python -m benchmarks.attribution.detector",
    ),
    "scale": (
        "Time and memory",
        "The whole of `why` from a store, beside peers that answer a smaller question on the same rows.",
        "python -m benchmarks.attribution.scale",
    ),
    "riskloc": (
        "Localisation on real incidents",
        "Which slice is broken: incidents of a video service with the operators' labels (RobustSpot's, as"
        " published with RiskLoc), beside baselines written from their papers. `exact`: the set named is the"
        " set labelled.",
        "python -m benchmarks.attribution.riskloc",
    ),
    "fleet_check": (
        "The model fleet beside a recorded engine",
        "Simulated times against two recorded vLLM runs on RTX PRO 6000 cards; errors are shares of each"
        " request's measured time, and the second run was not fitted on.",
        "python -m benchmarks.attribution.fleet_check",
    ),
    "real": (
        "Real faults on a real engine",
        "vLLM on a CPU, broken for real, `why` and the installable rivals asked of the same runs.",
        "make prove-real",
    ),
}
"""Name of the document → title, what it is, and the command that makes it."""

MOST_COLUMNS = 12


def read_others(folder: Path) -> dict[str, Any]:
    """Return the documents that are there, by name."""
    paths = {name: folder / f"{name}.json" for name in SECTIONS}
    return {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}


def other_sections(others: Mapping[str, Any]) -> str:
    """Return a section for each document; one that was not made is named with its command."""
    made = [_section(name, others[name]) for name in SECTIONS if name in others]
    missing = [f"`{SECTIONS[name][2]}`" for name in SECTIONS if name not in others]
    if missing:
        made.append(
            "## Not measured here\n\n" + "Figures of these were not there: " + ", ".join(missing) + "."
        )
    return "\n\n".join(made)


def _section(name: str, document: Any) -> str:
    title, what, command = SECTIONS[name]
    body = _real(document) if name == "real" else _parts(document)
    parts = [f"## {title}", f"{what}\n(`{command}`)", *body]
    if name == "detector":
        parts.append("![Delay and false alarms](proof/detection.svg)")
    return "\n\n".join(parts)


def _real(document: Any) -> Iterator[str]:
    """What each tool names for each run with its grade, and how many of each grade it has."""
    answers = document["answers"]
    rivals = list(dict.fromkeys(name for answer in answers for name in answer["rivals"]))
    yield _table([_of_run(answer, rivals) for answer in answers])
    yield "– is an abstention, or a tool that was not asked."
    grades = {"otel-attrib": [answer["grade"] for answer in answers]}
    for name in rivals:
        grades[name] = [a["rival_grades"][name] for a in answers if name in a["rival_grades"]]
    words = ("right", "wrong", "abstained")
    yield _table([{"tool": name, **{w: found.count(w) for w in words}} for name, found in grades.items()])


def _of_run(answer: Mapping[str, Any], rivals: Sequence[str]) -> dict[str, Any]:
    told = {name: answer["rivals"].get(name) or None for name in rivals}
    graded = {
        name: f"{said} ({answer['rival_grades'][name]})" if said else None for name, said in told.items()
    }
    return {
        "fault": answer["fault"],
        "truth": "/".join(answer["truth"]),
        "P95 before, ms": answer["before_ms"],
        "after": answer["after_ms"],
        "verdict": answer["verdict"],
        "ours": f"{answer['named']} ({answer['grade']})" if answer["named"] else None,
        "p": answer["p"],
        **graded,
    }


def _parts(document: Any) -> Iterator[str]:
    if isinstance(document, list):
        yield _table(document)
        return
    single = {k: v for k, v in document.items() if not isinstance(v, list | dict)}
    if single:
        yield "; ".join(f"{_words(key)}: {_cell(value)}" for key, value in single.items()) + "."
    for value in document.values():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            yield _table(value)


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    flat = [_flat(row) for row in rows]
    keys = list(dict.fromkeys(key for row in flat for key in row))[:MOST_COLUMNS]
    lines = [[_words(key) for key in keys], ["---"] * len(keys)]
    lines += [[_cell(row.get(key)) for key in keys] for row in flat]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the single values of a record, those of an object in it beside them, lists joined."""
    found: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            found |= {name: cell for name, cell in value.items() if not isinstance(cell, list | dict)}
        else:
            found[key] = ", ".join(map(str, value)) if isinstance(value, list) else value
    return found


def _words(key: str) -> str:
    return key.replace("_", " ")


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value).replace("|", "\\|")
