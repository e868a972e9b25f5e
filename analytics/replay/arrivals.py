"""The requests of one window as the engine's scheduler met them: what a replay takes.

Arrival at the scheduler is arrival at the server plus what was done before it (ingress, tokenize);
a clock is only read within one row, so hosts need not agree on the time across engines.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from otel_attrib.analytics.codes import distinct
from otel_attrib.analytics.columns import Dimension

__all__ = ["Arrivals", "arrivals_of", "engine_codes", "sequence_of_engines"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ENGINE_KEYS = ("service", "node", "replica", "gpu_set")
BEFORE = ("ingress_us", "tokenize_us")
UNTIL_FIRST_TOKEN = ("kv_init", "prefill", "sample")


@dataclass(frozen=True)
class Arrivals:
    """n requests by engine and, within one, by arrival at the scheduler; all times in ms.

    row: (n,) the request's row in the table. engine: code. at: arrival since the first one of the window.
    queue: as recorded. first_step, last_step: their numbers, −1 where unknown. serving: {kv_init, prefill,
    sample} ms each. holding: from the first token to the last, while the seat stays taken. prompt: tokens;
    fresh: those to compute; held: tokens of KV cache at the end; chunks: steps that computed the prompt.
    group: tenant and model. zero_us: the moment from which `at` counts.
    """

    row: Ints
    engine: Ints
    at: Floats
    queue: Floats
    first_step: Ints
    last_step: Ints
    serving: dict[str, Floats]
    holding: Floats
    prompt: Floats
    fresh: Floats
    chunks: Floats
    held: Floats
    output: Floats
    group: Dimension
    zero_us: int

    @property
    def n(self) -> int:
        """Return the number of requests."""
        return int(self.at.size)

    def of_engines(self, codes: Ints) -> "Arrivals":
        """Return the requests of these engines alone, at the times that they have here."""
        kept = np.isin(self.engine, codes)
        columns: dict[str, Any] = {
            name: value[kept] for name, value in vars(self).items() if isinstance(value, np.ndarray)
        }
        serving = {name: ms[kept] for name, ms in self.serving.items()}
        return replace(self, **columns, serving=serving, group=self.group.take(kept))

    @property
    def service(self) -> Floats:
        """Return (n,) ms from admission to first token."""
        total: Floats = np.sum([self.serving[name] for name in UNTIL_FIRST_TOKEN], axis=0)
        return total


def arrivals_of(requests: pa.Table, engines: dict[str, int]) -> Arrivals:
    """Return the requests whose queue was observed, in order; `engines` codes name → code (see below)."""
    queue = _ms(requests, "queue_us")
    kept = np.flatnonzero(~np.isnan(queue))
    time = pc.cast(requests["time"], pa.int64()).to_numpy(zero_copy_only=False).astype(np.int64)
    zero = int(time.min()) if time.size else 0
    at = (time - zero) / 1000 + sum(_zero(requests, name) for name in BEFORE)
    engine = engine_codes(requests, engines)
    order = kept[np.lexsort((at[kept], engine[kept]))]
    serving = {name: _zero(requests, f"{name}_us")[order] for name in UNTIL_FIRST_TOKEN}
    prompt, cached = _count(requests, "prompt_tokens"), _count(requests, "cached_tokens")
    output = _count(requests, "output_tokens")
    return Arrivals(
        row=order,
        engine=engine[order],
        at=at[order],
        queue=queue[order],
        first_step=_step(requests, "first_step")[order],
        last_step=_step(requests, "last_step")[order],
        serving=serving,
        holding=_holding(requests)[order],
        prompt=prompt[order],
        fresh=np.maximum(1.0, prompt - cached)[order],
        chunks=np.maximum(1.0, _count(requests, "prefill_chunks"))[order],
        held=(prompt + output)[order],
        output=output[order],
        group=_groups(requests).take(order),
        zero_us=zero,
    )


def sequence_of_engines(*tables: pa.Table) -> dict[str, int]:
    """Return name → code of every engine replica of the tables, in order of name."""
    names = sorted({name for table in tables for name in _engines(table).labels})
    return {name: code for code, name in enumerate(names)}


def engine_codes(table: pa.Table, engines: dict[str, int]) -> Ints:
    """Return the (n,) code of each row's engine, −1 for one that `engines` does not name."""
    named = _engines(table)
    return np.array([engines.get(name, -1) for name in named.labels], dtype=np.int64)[named.codes]


def _engines(table: pa.Table) -> Dimension:
    """Return one name a row: service, node and replica, as far as the table has them.

    Where no row names a replica, the cards of a request tell engines of one node apart.
    """
    columns = {key: Dimension.of(table[key]) for key in ENGINE_KEYS if key in table.column_names}
    named = "replica" in columns and any(columns["replica"].labels)
    columns.pop("gpu_set" if named else "replica", None)
    return _joined(list(columns.values()), len(table))


def _joined(columns: list[Dimension], n: int) -> Dimension:
    """Return the (n,) words of all columns with strokes between them."""
    if not columns or not n:
        return Dimension(np.zeros(n, dtype=np.int64), ("",) if n else ())
    shape = tuple(len(column.labels) for column in columns)
    joint = np.ravel_multi_index([column.codes for column in columns], shape)
    held, place = distinct(joint)
    words = zip(*(np.unravel_index(held, shape)), strict=True)
    names = ["/".join(column.labels[i] for column, i in zip(columns, word, strict=True)) for word in words]
    labels, rank = np.unique(names, return_inverse=True)
    return Dimension(rank[place].astype(np.int64), tuple(labels.tolist()))


def _holding(requests: pa.Table) -> Floats:
    """Return ms from first token to last byte; from TPOT where E2E was not observed, else 0."""
    after = _ms(requests, "e2e_us") - _ms(requests, "ttft_us")
    tokens = np.maximum(0.0, _count(requests, "output_tokens") - 1)
    after = np.where(np.isnan(after), _ms(requests, "tpot_us") * tokens, after)
    return np.maximum(0.0, np.nan_to_num(after))


def _numbers(table: pa.Table, name: str) -> Floats:
    if name not in table.column_names:
        return np.full(len(table), np.nan)
    numbers: Floats = pc.cast(table[name], pa.float64()).to_numpy(zero_copy_only=False).astype(np.float64)
    return numbers


def _ms(table: pa.Table, name: str) -> Floats:
    return _numbers(table, name) / 1000


def _step(table: pa.Table, name: str) -> Ints:
    return np.nan_to_num(_numbers(table, name), nan=-1.0).astype(np.int64)


def _zero(table: pa.Table, name: str) -> Floats:
    return np.nan_to_num(_ms(table, name))


def _count(table: pa.Table, name: str) -> Floats:
    return np.nan_to_num(_numbers(table, name))


def _groups(table: pa.Table) -> Dimension:
    held = [name for name in ("tenant", "model") if name in table.column_names]
    return _joined([Dimension.of(table[name]) for name in held], len(table))
