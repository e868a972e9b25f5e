"""What an alert says of its report: the same for machines (`found_in`) and in words (`words_of`).

Annotations are kept short: a pager shows a few lines, and Alertmanager sends every one of them again and
again. The whole report stands behind the link.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from otel_attrib.analytics.report import Report
from otel_attrib.analytics.wording import layer_title, milliseconds, percent, probability, slice_title

__all__ = ["Found", "cut", "found_in", "listed", "words_of"]

SENTENCES = 5
LONGEST = 600
"""Characters of one annotation; what is longer ends with a sign that it goes on."""

ABSTAINS = ("GLOBAL", "INSUFFICIENT", "CAUSE_SET")
RESTS = ("workload", "load", "unexplained")

Found = dict[str, Any]


def found_in(report: Report) -> Found:
    """Return verdict, layers in ms with their probability, evidence for and against, requests to look at."""
    body = report.as_dict()
    return {
        "verdict": body["verdict"],
        "headline": body["headline"],
        "reason": body["checks"]["reason"],
        "metric": body["metric"],
        "quantile": body["quantile"],
        "baseline": body["baseline"],
        "current": body["current"],
        "delta_ms": body["delta_ms"],
        "delta_ci_ms": body["delta_ci_ms"],
        "layers": _layers(body["layers"], report.verdict.layers),
        **{f"{name}_ms": body[f"{name}_ms"] for name in RESTS},
        "evidence": _evidence(body["evidence"], report.verdict.layers),
        "slice": body["slice"],
        "exemplars": body["exemplars"],
        "deciding": body["deciding"] if body["verdict"] in ABSTAINS else [],
        "notes": body["checks"]["notes"],
        "hash": body["hash"],
    }


def _layers(layers: Mapping[str, Any], blamed: Sequence[str]) -> list[Found]:
    """Return the layers that hold anything, those that are blamed first, then by size."""
    order = sorted(layers, key=lambda name: (name not in blamed, -abs(layers[name]["ms"] or 0.0)))
    return [
        {"layer": name, "blamed": name in blamed, **{key: layers[name][key] for key in ("ms", "share", "p")}}
        for name in order
        if name in blamed or layers[name]["ms"]
    ]


def _evidence(evidence: Sequence[Mapping[str, Any]], blamed: Sequence[str]) -> dict[str, list[Found]]:
    """Return what speaks for and against what is blamed; without a cause, for and against any layer.

    What speaks for a layer that is not blamed speaks against the verdict.
    """
    fits = [one for one in evidence if one["for"] and (one["layer"] in blamed or not blamed)]
    contradicts = [one for one in evidence if not one["for"] and (one["layer"] in blamed or not blamed)]
    if blamed:
        contradicts += [one for one in evidence if one["for"] and one["layer"] not in blamed]
    return {"for": [_point(one) for one in fits], "against": [_point(one) for one in contradicts]}


def _point(evidence: Mapping[str, Any]) -> Found:
    return {name: evidence[name] for name in ("layer", "counter", "text")}


def words_of(found: Found) -> dict[str, str]:
    """Return the annotations; what there is nothing to say about is left out."""
    words = {
        "verdict": f"{found['verdict']}: {found['reason']}",
        "layers": "; ".join(_lines(found)),
        "evidence_for": listed(_sentences(found["evidence"]["for"])),
        "evidence_against": listed(_sentences(found["evidence"]["against"])),
        "who": _who(found["slice"]),
        "would_decide": listed(found["deciding"]),
        "exemplars": " ".join(found["exemplars"][:SENTENCES]),
    }
    return {name: cut(text) for name, text in words.items() if text}


def _lines(found: Found) -> Iterator[str]:
    for line in found["layers"]:
        sure = f"{percent(line['share'] or 0.0)}, p {probability(line['p'] or 0.0)}"
        yield f"{layer_title(line['layer'])} {milliseconds(line['ms'], sign=True)} ms ({sure})"
    for name in RESTS:
        ms = found[f"{name}_ms"]
        if ms:
            yield f"{name} {milliseconds(ms, sign=True)} ms"


def _sentences(points: Sequence[Found]) -> list[str]:
    return [f"{layer_title(point['layer'])}: {point['text']}" for point in points]


def listed(sentences: Sequence[str]) -> str:
    """Return the first few, one a line, and how many more there are."""
    more = [f"and {len(sentences) - SENTENCES} more"] if len(sentences) > SENTENCES else []
    return "\n".join([*sentences[:SENTENCES], *more])


def _who(found: Mapping[str, Any] | None) -> str:
    if not found:
        return ""
    share = f", {percent(found['share_of_delta'])} of the excess"
    return f"{slice_title(found['where'])}: {found['requests']} requests{share}"


def cut(text: str, longest: int = LONGEST) -> str:
    """Return a text of `longest` characters at most."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
