"""Work that only an engine's own mark tells: the lengths of the sequences in one of vLLM's steps.

vLLM's worker marks a step `execute_T_context_N(sqAskBsqsqCsqskD)_generation_M(…)`: over the N prefills and
M decodes, A sums the new tokens (sq), B the tokens attended to (sk), C their squares and D the products
sq × sk. A new token attends to itself and what stands before it, so the pairs of queries and keys are
D − (C − A) / 2. With a sliding window fewer are looked at, and the work is counted too high.
"""

import json
import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from otel_attrib.analytics.profiles.number_formats import bytes_of_dtype
from otel_attrib.analytics.profiles.timeline import UNKNOWN, Profile
from otel_attrib.analytics.profiles.work import Work

__all__ = ["StepLengths", "attention_work", "step_lengths"]

_SUMS: Final = re.compile(r"(context|generation)_(\d+)\(sq(\d+)sk(\d+)sqsq(\d+)sqsk(\d+)\)")
_OPERATORS: Final = ("vllm::unified_attention_with_output", "vllm::unified_attention")


@dataclass(frozen=True, slots=True)
class StepLengths:
    """One step of the engine: new tokens, tokens attended to, and pairs of both, over all its sequences."""

    sequences: int
    queries: int
    keys: int
    pairs: int


def step_lengths(mark: str) -> StepLengths | None:
    """Read the mark of a step; None when it is none of vLLM's, or of a version that writes no sums."""
    found = _SUMS.findall(mark)
    if not found:
        return None
    rows = [tuple(int(word) for word in words[1:]) for words in found]
    return StepLengths(
        sequences=sum(row[0] for row in rows),
        queries=sum(row[1] for row in rows),
        keys=sum(row[2] for row in rows),
        pairs=sum(row[4] - (row[3] - row[1]) // 2 for row in rows),
    )


def attention_work(profile: Profile, op: int) -> Work | None:
    """Return the work of one call of vLLM's attention (a row of `profile.ops`), if its step is marked."""
    ops = profile.ops
    if profile.names[ops.name[op]] not in _OPERATORS:
        return None
    lengths = _step_at(profile, int(ops.start_ns[op]))
    if lengths is None:
        return None
    shape = profile.shapes[ops.shape[op]]
    dims, types = json.loads(shape.dims), json.loads(shape.types)
    (_, heads, width), (_, key_heads, _) = dims[0], dims[1]
    size = bytes_of_dtype(types[0]) or 2
    moved = 2 * lengths.keys * key_heads * width + 2 * lengths.queries * heads * width
    return Work(4.0 * lengths.pairs * heads * width, float(moved * size), types[0])


def _step_at(profile: Profile, moment_ns: int) -> StepLengths | None:
    ranges = profile.ranges
    there = (ranges.start_ns <= moment_ns) & (moment_ns < ranges.end_ns) & (ranges.device == UNKNOWN)
    told = (step_lengths(profile.names[code]) for code in ranges.name[np.flatnonzero(there)])
    return next((lengths for lengths in told if lengths), None)
