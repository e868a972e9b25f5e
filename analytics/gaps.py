"""Single gaps between tokens, split by the engine step that made each: batch_wait, forward, sample, egress.

A request whose prompt took c steps from number s on has its first token from step s + c − 1, and gap j
(from 0) ends with the token of step s + c + j. That holds only while every step serves the request: where
its last step says otherwise (a preemption, speculative tokens) its gaps are not split.

Gaps that come from a span's sketch are sorted and are not split either; a series is told from them by having
whole µs or a gap shorter than the one before.

`forward`, `sample` and `egress` are the step's own times (shrunk together where they exceed the gap: steps
may overlap), `batch_wait` its scheduling and the engine's idle time before it, as far as the gap has room.
What is left is `outside`. A gap that is not split is `outside` as a whole.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from otel_attrib.analytics.columns import Dimension, Flags, Floats, Ints
from otel_attrib.schema.attributes import DECODE_STAGES

__all__ = ["split_gaps"]

ENGINE = ("service", "node", "engine", "replica")
NUMBERS = 1 << 44  # of steps in one engine, for keys of engine and step
OWN = {"forward": "forward_us", "sample": "sample_us", "egress": "output_us"}


def split_gaps(
    requests: pa.Table, gaps_us: Floats, parents: Ints, steps: pa.Table | None
) -> tuple[Floats, Flags]:
    """Return (n, 4) µs of `DECODE_STAGES` for (n,) gaps in the order of their requests, and which are split.

    `parents` is (n,), ascending: the row of `requests` that a gap belongs to.
    """
    parts = np.zeros((gaps_us.size, len(DECODE_STAGES)))
    if steps is None or not len(steps) or not gaps_us.size or "first_step" not in requests.column_names:
        return parts, np.zeros(gaps_us.size, dtype=np.bool_)
    number, known = _step_numbers(requests, parents)
    engine, table = _engines(requests, steps)
    at, found = table.find(engine[parents], number)
    split = known & _in_order(gaps_us, parents, len(requests)) & found & (table.own["forward"][at] > 0)
    own = np.column_stack([table.own[name][at] for name in OWN])
    own *= np.minimum(1.0, gaps_us / np.maximum(own.sum(axis=1), 1e-9))[:, None]
    room = gaps_us - own.sum(axis=1)
    waited = np.clip(table.before[at], 0.0, room)
    parts[split] = np.column_stack([waited, own])[split]
    return parts, split


def _step_numbers(requests: pa.Table, parents: Ints) -> tuple[Ints, Flags]:
    """Return each gap's step, and whether its request was served by every step from its first to its last."""
    first, last, chunks = (_whole(requests, name) for name in ("first_step", "last_step", "prefill_chunks"))
    counts = np.bincount(parents, minlength=len(requests))
    token = first + np.maximum(chunks, 1) - 1
    whole = (first >= 0) & (last == token + counts)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    nth = np.arange(parents.size) - starts[parents]
    numbers: Ints = token[parents] + 1 + nth
    return numbers, whole[parents]


def _in_order(gaps_us: Floats, parents: Ints, requests: int) -> Flags:
    """Whether the gaps of a request stand as they came: a sketch gives them back sorted and in fractions."""
    fractions = np.bincount(parents[gaps_us != np.rint(gaps_us)], minlength=requests) > 0
    falls = (np.diff(gaps_us) < 0) & (np.diff(parents) == 0)
    shorter = np.bincount(parents[1:][falls], minlength=requests) > 0
    ordered: Flags = (shorter | ~fractions)[parents]
    return ordered


def _whole(table: pa.Table, name: str) -> Ints:
    """Return (n,) whole numbers, −1 where there is none."""
    if name not in table.column_names:
        return np.full(len(table), -1, dtype=np.int64)
    numbers: Ints = pc.fill_null(pc.cast(table[name], pa.int64()), -1).to_numpy()
    return numbers


@dataclass(frozen=True)
class _Steps:
    """Steps in order of engine and number: keys, their own times in µs, and the time before each."""

    keys: Ints
    own: dict[str, Floats]
    before: Floats

    def find(self, engine: Ints, number: Ints) -> tuple[Ints, Flags]:
        """Return where each step stands, and whether it is there."""
        asked = engine * NUMBERS + np.clip(number, 0, NUMBERS - 1)
        at = np.minimum(np.searchsorted(self.keys, asked), self.keys.size - 1)
        return at, (self.keys[at] == asked) & (engine >= 0)


def _engines(requests: pa.Table, steps: pa.Table) -> tuple[Ints, _Steps]:
    """Number the engines of both tables alike; −1 for a request whose engine recorded no steps."""
    names = [name for name in ENGINE if name in requests.column_names and name in steps.column_names]
    codes = np.zeros(len(requests) + len(steps), dtype=np.int64)
    for name in names:
        both = pa.chunked_array([*requests[name].cast("string").chunks, *steps[name].cast("string").chunks])
        column = Dimension.of(both)
        codes = codes * (len(column.labels) + 1) + column.codes
    codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    engine, of_steps = codes[: len(requests)], codes[len(requests) :]
    return np.where(np.isin(engine, of_steps), engine, -1), _steps(steps, of_steps)


def _steps(steps: pa.Table, engine: Ints) -> _Steps:
    keys = engine * NUMBERS + _whole(steps, "step")
    order = np.argsort(keys, kind="stable")
    start = pc.cast(steps["time"], pa.int64()).to_numpy().astype(np.float64)[order]
    end = start + _times(steps, "duration_us")[order]
    follows = np.concatenate([[False], np.diff(keys[order]) == 1])
    idle = np.where(follows, start - np.concatenate([[0.0], end[:-1]]), 0.0)
    before = np.maximum(0.0, idle) + _times(steps, "schedule_us")[order]
    own = {name: _times(steps, column)[order] for name, column in OWN.items()}
    return _Steps(keys[order], own, before)


def _times(steps: pa.Table, name: str) -> Floats:
    if name not in steps.column_names:
        return np.zeros(len(steps))
    times: Floats = pc.fill_null(pc.cast(steps[name], pa.float64()), 0.0).to_numpy().astype(np.float64)
    return times
