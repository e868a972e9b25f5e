"""All groups at a glance: rate, failures, TTFT and TPOT, what is in the tail, and what changed.

Rates and quantiles come from the 10 s states (within 1 %); what is in the tail comes from the slowest
requests themselves, tilted so that the stages add up to the P99 shown beside them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from typing import Any

import numpy as np
import pyarrow.compute as pc

from otel_attrib.analytics import harrell_davis
from otel_attrib.analytics.copies import copies, weights_of
from otel_attrib.analytics.filters import EVERY_REQUEST, ROLLED_UP, Filter, check_dimensions
from otel_attrib.analytics.metric import METRICS, OUTSIDE
from otel_attrib.analytics.quantiles import STATE_SECONDS
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import Window
from otel_attrib.errors import UsageError
from otel_attrib.schema.store import Store

__all__ = ["Group", "overview"]

LEVEL = 0.99
TTFT = METRICS["ttft"]
NUMBERS = ("ttft_p50", "ttft_p99", "tpot_p50", "tpot_p99")
Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """One group in one window; times in ms, None where nothing was measured.

    `tail` maps each stage, `outside` included, to its ms of the TTFT P99, largest first; `change` is the
    P99's relative change against the window before, None when there is nothing to compare with.
    """

    key: Key
    requests: int
    per_second: float
    failed: float
    ttft_p50: float | None
    ttft_p99: float | None
    tpot_p50: float | None
    tpot_p99: float | None
    change: float | None
    tail: dict[str, float]


def overview(
    store: Store, end: datetime, seconds: int, by: Sequence[str], where: Filter = EVERY_REQUEST
) -> list[Group]:
    """Return the groups of the last `seconds` (rounded up to 10) before `end`, slowest P99 first."""
    if not by:
        raise UsageError("name at least one dimension to group by, such as model")
    check_dimensions((*by, *where.names()), ROLLED_UP)
    last = -int(-end.timestamp() // STATE_SECONDS) * STATE_SECONDS
    length = -(-seconds // STATE_SECONDS) * STATE_SECONDS
    now, before = _numbers(store, last, length, by, where)
    most = max((_ranks_needed(int(row["arrived"])) for row in now.values()), default=1)
    window = Window(datetime.fromtimestamp(last - length, UTC), datetime.fromtimestamp(last, UTC))
    tails = _tails(store, window, by, where, most, {key: row["ttft_p99"] for key, row in now.items()})
    groups = [_group(key, row, before.get(key), tails.get(key, {}), length) for key, row in now.items()]
    return sorted(groups, key=lambda group: (-(group.ttft_p99 or 0.0), group.key))


def _numbers(
    store: Store, last: int, length: int, by: Sequence[str], where: Filter
) -> tuple[dict[Key, dict[str, Any]], dict[Key, dict[str, Any]]]:
    times = {"first": last - 2 * length, "middle": last - length, "last": last}
    sql = statement("top_groups", dimensions="".join(f"{name}, " for name in by), where=where.sql())
    sides: tuple[dict[Key, dict[str, Any]], dict[Key, dict[str, Any]]] = ({}, {})
    for row in store.rows(sql, {**times, **where.parameters()}):
        numbers = {name: row[name] if isfinite(row[name]) else None for name in NUMBERS}
        key = tuple(str(row[name]) for name in by)
        sides[0 if row["now"] else 1][key] = {**row, **numbers}
    return sides


def _ranks_needed(n: int) -> int:
    return n - harrell_davis.rank_window(n, LEVEL)[0] + 1 if n else 1


def _tails(
    store: Store,
    window: Window,
    by: Sequence[str],
    where: Filter,
    most: int,
    shown: dict[Key, float | None],
) -> dict[Key, dict[str, float]]:
    columns = ", ".join(f"toFloat64(ifNull({sql}, 0))" for _, sql in TTFT.parts)
    sql = statement(
        "top_tails",
        dimensions="".join(f"{name}, " for name in by),
        partition=", ".join(by),
        value=TTFT.value,
        values=TTFT.values,
        parts=f"[{columns}]",
        where=where.sql(),
    )
    table = store.arrow(sql, {**window.bounds_us(), **where.parameters(), "most": most})
    keys = list(zip(*(table[name].to_pylist() for name in by), strict=True))
    values = table["value"].to_numpy()[::-1] / 1000
    weights = weights_of(table)[::-1]
    parts = pc.list_flatten(table["parts"]).to_numpy().reshape(len(keys), len(TTFT.parts))[::-1] / 1000
    sizes = table["n"].to_numpy()[::-1]
    places: dict[Key, list[int]] = {}
    for place, key in enumerate(reversed(keys)):
        places.setdefault(tuple(str(word) for word in key), []).append(place)
    return {
        key: _tail(
            copies(values[rows], weights[rows]),
            copies(parts[rows], weights[rows]),
            int(sizes[rows[0]]),
            shown.get(key),
        )
        for key, rows in places.items()
    }


def _tail(values: Any, parts: Any, n: int, shown: float | None) -> dict[str, float]:
    """Return the stages of the P99 from its slowest rows in rising order."""
    first = max(harrell_davis.rank_window(n, LEVEL)[0], n - values.size + 1)
    used = n - first + 1
    weight = harrell_davis.weights(n, LEVEL, first, n)
    values, parts = values[-used:], parts[-used:]
    try:
        weight = harrell_davis.tilt(weight, values, shown) if shown is not None else weight
    except ValueError:  # so few rows that the sketch's number lies outside them
        pass
    mixed = harrell_davis.composition(weight, np.column_stack([parts, values - parts.sum(axis=1)]))
    named = zip((*TTFT.stages, OUTSIDE), mixed.tolist(), strict=True)
    return dict(sorted(named, key=lambda item: -item[1]))


def _group(
    key: Key, row: dict[str, Any], before: dict[str, Any] | None, tail: dict[str, float], length: int
) -> Group:
    old, new = (before or {}).get("ttft_p99"), row["ttft_p99"]
    requests = int(row["arrived"])
    return Group(
        key=key,
        requests=requests,
        per_second=requests / length,
        failed=int(row["failed"]) / requests if requests else 0.0,
        change=new / old - 1 if old and new is not None else None,
        tail=tail,
        **{name: row[name] for name in NUMBERS},
    )
