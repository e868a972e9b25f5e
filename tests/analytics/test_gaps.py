"""Single gaps split by the engine step that made each."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics.gaps import split_gaps
from otel_attrib.schema.attributes import DECODE_STAGES

ENGINE = {"service": "chat", "node": "n0", "engine": "vllm", "replica": "0"}
STAMP = pa.timestamp("us", "UTC")
STARTS = [0, 1000, 2200, 3500, 4500]  # of steps 10…14
DURATIONS = [900, 1100, 1000, 950, 800]


def steps(**other: Any) -> pa.Table:
    """Five steps of one engine, numbers 10 to 14."""
    n = len(STARTS)
    columns = {
        "time": pa.array(STARTS, STAMP),
        **{name: [word] * n for name, word in ENGINE.items()},
        "step": [10, 11, 12, 13, 14],
        "duration_us": [float(us) for us in DURATIONS],
        "schedule_us": [20.0] * n,
        "forward_us": [700.0, 800.0, 850.0, 780.0, 600.0],
        "sample_us": [50.0] * n,
        "output_us": [30.0] * n,
    }
    return pa.table(columns | other)


def request(**other: Any) -> pa.Table:
    """One request: two prompt steps (10, 11), then tokens of steps 12, 13 and 14."""
    columns = {name: [word] for name, word in ENGINE.items()}
    return pa.table(columns | {"first_step": [10], "last_step": [14], "prefill_chunks": [2]} | other)


def split(requests: pa.Table, gaps: Sequence[float], table: pa.Table | None) -> tuple[Any, Any]:
    """Split one request's gaps."""
    values = np.array(gaps, dtype=np.float64)
    return split_gaps(requests, values, np.zeros(values.size, dtype=np.int64), table)


GAPS = [1100.0, 1250.0, 850.0]  # between the ends of steps 11, 12, 13 and 14


def test_each_gap_takes_its_own_step() -> None:
    """Gap j has the times of the step that made its token, and the idle time and scheduling before it."""
    parts, known = split(request(), GAPS, steps())
    expected = {
        "batch_wait": [2200 - 2100 + 20, 3500 - 3200 + 20, 4500 - 4450 + 20],
        "forward": [850, 780, 600],
        "sample": [50, 50, 50],
        "egress": [30, 30, 30],
    }

    assert [True] * 3 == known.tolist()
    assert expected == {name: parts[:, k].tolist() for k, name in enumerate(DECODE_STAGES)}


def test_parts_never_exceed_the_gap() -> None:
    """Overlapping steps and long idle times are cut to what the gap holds."""
    gaps = [300.0, 900.0, 640.0]
    parts, _ = split(request(), gaps, steps())

    assert (parts >= 0).all()
    assert (parts.sum(axis=1) <= np.array(gaps) + 1e-9).all()
    assert 300 == pytest.approx(parts[0].sum())
    assert 850 / 930 * 300 == pytest.approx(parts[0, 1])


@pytest.mark.parametrize(
    ("requests", "gaps", "table"),
    [
        (request(), GAPS, None),
        (request(last_step=[15]), GAPS, steps()),
        (request(replica=["1"]), GAPS, steps()),
        (request(first_step=pa.array([None], pa.uint64())), GAPS, steps()),
        (request(), [850.5, 1100.25, 1250.75], steps()),
    ],
    ids=["no steps", "a step without it", "another engine", "steps unknown", "from a sketch"],
)
def test_gaps_of_unknown_steps_stay_whole(
    requests: pa.Table, gaps: list[float], table: pa.Table | None
) -> None:
    """Nothing is split where a step's request, engine or order is not known."""
    parts, known = split(requests, gaps, table)

    assert not known.any()
    assert 0 == parts.sum()


def test_two_requests_of_two_engines() -> None:
    """Each takes the steps of its own engine, in whatever order the tables stand."""
    other = steps(replica=["1"] * 5, forward_us=[100.0] * 5)
    both = pa.concat_tables([other, steps()])
    requests = pa.concat_tables([request(), request(replica=["1"])])
    parts, known = split_gaps(requests, np.array(GAPS * 2), np.repeat([0, 1], 3), both)

    assert known.all()
    assert [850, 780, 600, 100, 100, 100] == parts[:, 1].tolist()
