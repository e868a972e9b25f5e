"""The slices found are the requests that were made slower."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from otel_attrib.analytics.columns import Dimension, Flags, Floats, Rows
from otel_attrib.analytics.slices import find_slices

MINUTE_US = 60_000_000
Fault = Callable[[dict[str, np.ndarray]], Flags]
GPU_5: Fault = lambda d: (d["node"] == 3) & (d["gpu_set"] == 5)  # noqa: E731 - a table of faults
GPU_2: Fault = lambda d: (d["node"] == 1) & (d["gpu_set"] == 2)  # noqa: E731 - a table of faults


def made(
    seed: int, start_min: int, fault: Fault | None = None, factor: float = 2.0, longer: float = 1.0
) -> tuple[Rows, Flags]:
    """20,000 requests on 4 nodes of 8 GPUs whose time grows with the prompt, and which were slowed."""
    rng, n = np.random.default_rng(seed), 20_000
    time = np.sort(rng.integers(0, 15 * MINUTE_US, n)) + start_min * MINUTE_US
    codes = {
        "node": rng.integers(0, 4, n),
        "gpu_set": rng.integers(0, 8, n),
        "tenant": rng.choice(6, n, p=[0.4, 0.2, 0.2, 0.1, 0.05, 0.05]),
        "model": rng.integers(0, 2, n),
        "version": rng.integers(0, 2, n),
    }
    prompt = np.floor(rng.lognormal(6.2, 0.9, n) * longer) + 1
    ms = (5 + 0.06 * prompt * (1 + codes["model"])) * rng.lognormal(0, 0.3, n) + rng.exponential(20, n)
    slowed = fault(codes) if fault else np.zeros(n, dtype=np.bool_)
    return rows(np.where(slowed, ms * factor, ms), time, prompt, codes), slowed


def rows(ms: Floats, time: np.ndarray, prompt: Floats, codes: dict[str, np.ndarray]) -> Rows:
    """Rows of one stage."""
    n = ms.size
    return Rows(
        names=("prefill", "outside"),
        parts=np.column_stack([ms, np.zeros(n)]),
        observed=np.ones((n, 2), dtype=np.bool_),
        time_us=time,
        prompt=prompt,
        cached=np.zeros(n),
        output=np.ones(n),
        dims={name: Dimension.of(np.array([f"{name}-{c}" for c in code])) for name, code in codes.items()},
        cluster=np.arange(n),
        trace_ids=np.full(n, "", dtype=object),
        total=n,
    )


@pytest.mark.parametrize(
    ("fault", "where"),
    [
        (GPU_5, [{"gpu": "node-3:gpu_set-5"}]),
        (lambda d: d["node"] == 2, [{"node": "node-2"}]),
        (lambda d: d["tenant"] == 5, [{"tenant": "tenant-5"}]),
        (
            lambda d: (d["tenant"] == 1) & (d["version"] == 1),
            [{"version": "version-1", "tenant": "tenant-1"}],
        ),
        (
            lambda d: GPU_5(d) | GPU_2(d),
            [{"gpu": "node-1:gpu_set-2"}, {"gpu": "node-3:gpu_set-5"}],
        ),
    ],
    ids=["gpu", "node", "tenant", "tenant of a version", "two gpus"],
)
def test_finds_what_was_slowed(fault: Fault, where: list[dict[str, str]]) -> None:
    """The slices are those slowed, no wider and no narrower, and the rows hit are exactly theirs."""
    current, slowed = made(2, 15, fault)

    found = find_slices(made(1, 0)[0], current, 0.99)

    assert where == sorted((s.where for s in found.slices), key=str)
    assert np.array_equal(slowed, found.hit)
    assert not found.global_


def test_all_slowed_is_global() -> None:
    """A change that hits every request alike has no slice, and hits every row."""
    found = find_slices(made(1, 0)[0], made(2, 15, lambda d: d["node"] >= 0, 1.5)[0], 0.99)

    assert () == found.slices
    assert found.global_ and found.hit.all()


def test_longer_prompts_are_no_slice() -> None:
    """Prompts twice as long slow every request and exceed no limit."""
    found = find_slices(made(1, 0)[0], made(2, 15, longer=2.0)[0], 0.99)

    assert () == found.slices
    assert not found.hit.any()


def test_same_rows_same_answer() -> None:
    """Two calls give equal answers."""
    baseline, current = made(1, 0)[0], made(2, 15, GPU_5)[0]

    first, second = (find_slices(baseline, current, 0.99) for _ in range(2))

    assert first.slices == second.slices


def test_gaps_are_counted_as_requests() -> None:
    """Of rows that are gaps, four a request, a slice counts the requests."""
    (before, _), (after, slowed) = made(1, 0), made(2, 15, lambda d: d["node"] == 2)
    by_four = np.arange(after.n) // 4
    grouped = replace(after, cluster=by_four)
    (plain,), (found,) = (find_slices(before, rows, 0.99).slices for rows in (after, grouped))

    assert (int(slowed.sum()), np.unique(by_four[slowed]).size) == (plain.requests, found.requests)
