"""The requests of one window as the engine's scheduler met them: what a replay takes.

Arrival at the scheduler is arrival at the server plus what was done before it (ingress, tokenize);
a clock is only read within one row, so hosts need not agree on the time across engines.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["Arrivals", "arrivals_of", "engine_names", "sequence_of_engines"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ENGINE_KEYS = ("service", "node", "replica", "gpu_set")
BEFORE = ("ingress_us", "tokenize_us")
UNTIL_FIRST_TOKEN = ("kv_init", "prefill", "sample")


@dataclass(frozen=True)
class Arrivals:
    """n requests by engine and, within one, by arrival at the scheduler; all times in ms.

    row: (n,) the request's row in the table. engine: code. at: arrival since the first one of the window.
    queue: as recorded. first_step: its number on the engine, −1 where unknown. serving: {kv_init, prefill,
    sample} ms each. holding: from the first token to the last, while the seat stays taken. prompt: tokens;
    fresh: those to compute; held: tokens of KV cache at the end; chunks: steps that computed the prompt.
    group: tenant and model. zero_us: the moment from which `at` counts.
    """

    row: Ints
    engine: Ints
    at: Floats
    queue: Floats
    first_step: Ints
    serving: dict[str, Floats]
    holding: Floats
    prompt: Floats
    fresh: Floats
    chunks: Floats
    held: Floats
    output: Floats
    group: NDArray[np.str_]
    zero_us: int

    @property
    def n(self) -> int:
        """Return the number of requests."""
        return int(self.at.size)

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
    engine = np.array([engines.get(name, -1) for name in engine_names(requests)], dtype=np.int64)
    order = kept[np.lexsort((at[kept], engine[kept]))]
    serving = {name: _zero(requests, f"{name}_us")[order] for name in UNTIL_FIRST_TOKEN}
    prompt, cached = _count(requests, "prompt_tokens"), _count(requests, "cached_tokens")
    output = _count(requests, "output_tokens")
    return Arrivals(
        row=order,
        engine=engine[order],
        at=at[order],
        queue=queue[order],
        first_step=np.nan_to_num(_numbers(requests, "first_step"), nan=-1.0).astype(np.int64)[order],
        serving=serving,
        holding=_holding(requests)[order],
        prompt=prompt[order],
        fresh=np.maximum(1.0, prompt - cached)[order],
        chunks=np.maximum(1.0, _count(requests, "prefill_chunks"))[order],
        held=(prompt + output)[order],
        output=output[order],
        group=np.char.add(_words(requests, "tenant"), np.char.add("/", _words(requests, "model")))[order],
        zero_us=zero,
    )


def sequence_of_engines(*tables: pa.Table) -> dict[str, int]:
    """Return name → code of every engine replica of the tables, in order of name."""
    names = sorted({name for table in tables for name in engine_names(table)})
    return {name: code for code, name in enumerate(names)}


def engine_names(table: pa.Table) -> list[str]:
    """Return one name a row: service, node and replica, as far as the table has them.

    Where no row names a replica, the cards of a request tell engines of one node apart.
    """
    keys = [key for key in ENGINE_KEYS if key in table.column_names]
    columns = {key: pc.fill_null(pc.cast(table[key], pa.string()), "") for key in keys}
    named = "replica" in columns and bool(pc.any(pc.not_equal(columns["replica"], "")).as_py())
    dropped = "gpu_set" if named else "replica"
    parts = [column.to_pylist() for key, column in columns.items() if key != dropped]
    return ["/".join(words) for words in zip(*parts, strict=True)] if parts else [""] * len(table)


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


def _zero(table: pa.Table, name: str) -> Floats:
    return np.nan_to_num(_ms(table, name))


def _count(table: pa.Table, name: str) -> Floats:
    return np.nan_to_num(_numbers(table, name))


def _words(table: pa.Table, name: str) -> NDArray[np.str_]:
    if name not in table.column_names:
        return np.full(len(table), "", dtype=np.str_)
    return np.array(pc.fill_null(pc.cast(table[name], pa.string()), "").to_pylist(), dtype=np.str_)
