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

    A row is known by its trace and its time: traces may hold several requests.
    """
    time = pc.cast(requests["time"], pa.int64()).to_pylist()
    traces = requests["trace_id"].to_pylist() if "trace_id" in requests.column_names else [""] * len(time)
    queues: dict[tuple[str, int], list[int]] = {}
    for index in range(kept.size - 1, -1, -1):
        row = int(kept[index])
        queues.setdefault((traces[row], time[row]), []).append(index)
    place = np.full(rows.n, -1, dtype=np.int64)
    for i, key in enumerate(zip(rows.trace_ids.tolist(), rows.time_us.tolist(), strict=True)):
        if found := queues.get(key):
            place[i] = found.pop()
    return place
