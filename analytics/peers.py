"""Requests like one request: the same model, about the same work, in the same window.

Like means nearest by |log| of prompt tokens, of those to compute and, where decoding counts, of output
tokens; at most a hundred, and none that differs more than twofold in any of them.
"""

from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.columns import Floats, Rows

__all__ = ["LEAST_PEERS", "MOST_PEERS", "Peers", "peers_of"]

LEAST_PEERS = 20
MOST_PEERS = 100
TWOFOLD = float(np.log(2))


@dataclass(frozen=True, slots=True)
class Peers:
    """The rows of the peers; `enough` when there are at least twenty, `told` who they are in words."""

    rows: Rows
    enough: bool
    told: str


def peers_of(own: Rows, window: Rows, decoding: bool) -> Peers:
    """Return the peers of the one row of `own` among the rows of its window."""
    alike = np.ones(window.n, dtype=np.bool_)
    model = _word(own, "model")
    if "model" in window.dims:
        alike &= window.dims["model"].words() == model
    if "status" in window.dims:
        alike &= window.dims["status"].words() == "ok"
    itself = (window.trace_ids == own.trace_ids[0]) & (window.time_us == own.time_us[0])
    apart = np.abs(_sizes(window, decoding) - _sizes(own, decoding))
    alike &= ~itself & (apart <= TWOFOLD).all(axis=1)
    rows = np.flatnonzero(alike)
    nearest = rows[np.argsort(apart[rows].sum(axis=1), kind="stable")][:MOST_PEERS]
    return Peers(window.take(np.sort(nearest)), nearest.size >= LEAST_PEERS, _told(own, model, decoding))


def _sizes(rows: Rows, decoding: bool) -> Floats:
    """Return (n, 2 or 3) logs of the work's sizes."""
    fresh = np.maximum(0.0, rows.prompt - rows.cached)
    sizes = (rows.prompt, fresh, rows.output) if decoding else (rows.prompt, fresh)
    logs: Floats = np.log1p(np.column_stack(sizes))
    return logs


def _told(own: Rows, model: str, decoding: bool) -> str:
    fresh = max(0.0, float(own.prompt[0] - own.cached[0]))
    parts = [f"{own.prompt[0]:,.0f} prompt tokens ({fresh:,.0f} to compute)"]
    if decoding:
        parts.append(f"{own.output[0]:,.0f} output tokens")
    return f"{model or 'any model'}, about {', '.join(parts)}"


def _word(rows: Rows, name: str) -> str:
    return str(rows.dims[name].words()[0]) if name in rows.dims else ""
