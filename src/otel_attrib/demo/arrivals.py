"""Recorded traffic: when requests came to a real coding assistant, and how long they were.

An excerpt of 1,500 rows of `AzureLLMInferenceTrace_code.csv` (Microsoft Azure, 2023,
CC-BY-4.0; see `data/SOURCE.md`), unchanged: one row a request, arrival, prompt tokens
and generated tokens.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.resources import files

__all__ = ["Arrival", "load", "paced"]

EXCERPT = "azure_code_excerpt.csv"


@dataclass(frozen=True, slots=True)
class Arrival:
    """One recorded request; `at` in seconds after the first."""

    at: float
    prompt_tokens: int
    output_tokens: int


def load() -> list[Arrival]:
    """Read the excerpt."""
    text = files("otel_attrib.demo").joinpath("data", EXCERPT).read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    stamps = [_seconds(row["TIMESTAMP"]) for row in rows]
    return [
        Arrival(stamp - stamps[0], int(row["ContextTokens"]), int(row["GeneratedTokens"]))
        for stamp, row in zip(stamps, rows, strict=True)
    ]


def _seconds(stamp: str) -> float:
    """Parse the trace's stamps, whose seventh decimal Python does not take."""
    return datetime.fromisoformat(stamp[:26] + "+00:00").timestamp()


def paced(arrivals: Sequence[Arrival], rate: float, longest_silence: float) -> list[Arrival]:
    """Bring arrivals to `rate` a second on average, bursts kept, silences cut to a multiple of the mean gap.

    A trace of minutes has silences that a demonstration would sit through; nothing else of
    its shape is changed: after the cut every gap is stretched by the same factor.
    """
    gaps = [b.at - a.at for a, b in zip(arrivals, arrivals[1:], strict=False)]
    most = longest_silence * sum(gaps) / len(gaps)
    cut = [min(gap, most) for gap in gaps]
    stretch = len(cut) / (rate * sum(cut))
    at, paced_at = 0.0, [0.0]
    for gap in cut:
        at += gap * stretch
        paced_at.append(at)
    return [replace(arrival, at=at) for arrival, at in zip(arrivals, paced_at, strict=True)]
