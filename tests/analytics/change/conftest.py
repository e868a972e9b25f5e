"""Rows made from stage times, and the distributions that the guarantees are held over."""

from collections.abc import Callable

import numpy as np
import pytest

from otel_attrib.analytics.columns import Dimension, Floats, Rows

STAGES = ("queue", "prefill", "outside")
Random = np.random.Generator
DISTRIBUTIONS: dict[str, Callable[[Random, int], Floats]] = {
    "normal": lambda random, n: np.abs(random.normal(50, 10, (n, 3))),
    "log-normal": lambda random, n: random.lognormal(2, 1, (n, 3)),
    "pareto": lambda random, n: random.pareto(1.5, (n, 3)),
    "two-humped": lambda random, n: random.choice([5.0, 80.0], (n, 3)) + random.random((n, 3)),
    "mostly zero": lambda random, n: random.lognormal(2, 1, (n, 3)) * (random.random((n, 3)) < 0.2),
    "integers": lambda random, n: random.poisson(4, (n, 3)).astype(np.float64),
    "constant": lambda _, n: np.full((n, 3), 7.0),
    "one stage": lambda random, n: random.exponential(9, (n, 3)) * np.array([0.0, 1.0, 0.0]),
    "all zero": lambda _, n: np.zeros((n, 3)),
    "shared load": lambda random, n: random.lognormal(0, 1, (n, 1)) * random.lognormal(2, 0.3, (n, 3)),
    "nanoseconds": lambda random, n: random.lognormal(2, 1, (n, 3)) * 1e-6,
    "months": lambda random, n: random.lognormal(2, 1, (n, 3)) * 1e9,
}


def make_rows(parts: Floats, prompt: Floats | None = None, **dims: list[str]) -> Rows:
    """Rows with these (n, 3) stages, one a second, all of one model unless told otherwise."""
    n = parts.shape[0]
    words = {"model": ["m"] * n, **dims}
    return Rows(
        names=STAGES,
        parts=parts,
        observed=np.ones(parts.shape, dtype=np.bool_),
        time_us=np.arange(n, dtype=np.int64) * 1_000_000,
        prompt=np.full(n, 100.0) if prompt is None else prompt,
        cached=np.zeros(n),
        output=np.full(n, 10.0),
        dims={name: Dimension.of(np.array(column)) for name, column in words.items()},
        cluster=np.arange(n),
        trace_ids=np.array([f"{i:032x}" for i in range(n)], dtype=object),
        total=n,
    )


@pytest.fixture(params=DISTRIBUTIONS, ids=lambda name: str(name).replace(" ", "-"))
def distribution(request: pytest.FixtureRequest) -> Callable[[Random, int], Floats]:
    """One way to draw (n, 3) stage times."""
    return DISTRIBUTIONS[request.param]


@pytest.fixture
def rows() -> Callable[..., Rows]:
    """The maker of rows."""
    return make_rows
