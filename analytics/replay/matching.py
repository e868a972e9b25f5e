"""Which request each row of a metric is of."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from otel_attrib.analytics.columns import Rows

__all__ = ["place_rows"]

Ints = NDArray[np.int64]


def place_rows(rows: Rows, requests: pa.Table, kept: Ints) -> Ints:
    """Return (n,) where in `kept` (rows of the table `requests`) each row's request stands; −1: nowhere.

    A row is known by its time, and by its trace as well where several came in the same microsecond.
    """
    time = pc.cast(requests["time"], pa.int64()).to_numpy(zero_copy_only=False).astype(np.int64)[kept]
    order = np.argsort(time, kind="stable")
    first = np.searchsorted(time[order], rows.time_us, side="left")
    count = np.searchsorted(time[order], rows.time_us, side="right") - first
    place = np.full(rows.n, -1, dtype=np.int64)
    place[count == 1] = order[first[count == 1]]
    several = np.flatnonzero(count > 1)
    if several.size:
        place[several] = _by_trace(rows, several, requests, kept, time)
    return place


def _by_trace(rows: Rows, several: Ints, requests: pa.Table, kept: Ints, time: Ints) -> list[int]:
    """Return places of rows whose microsecond is shared; each request is given once."""
    traces = requests["trace_id"].to_pylist() if "trace_id" in requests.column_names else [""] * len(requests)
    shared = set(rows.time_us[several].tolist())
    there: dict[tuple[str, int], list[int]] = {}
    for index in range(kept.size - 1, -1, -1):
        if (at := int(time[index])) in shared:
            there.setdefault((traces[int(kept[index])], at), []).append(index)
    keys = zip(rows.trace_ids[several].tolist(), rows.time_us[several].tolist(), strict=True)
    return [found.pop() if (found := there.get(key)) else -1 for key in keys]
