"""The compiled admission loop is the plain one, and compiles where nothing can be written."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from otel_attrib.analytics.replay.admission import admit
from otel_attrib.analytics.replay.compiled import admission

COMPILE = """
from otel_attrib.analytics.replay.compiled import admission
loop = admission()
print(getattr(loop, "_cache").cache_path or "nowhere")
"""


def requests(seed: int, n: int = 3000) -> tuple[Any, ...]:
    """Arrivals at a load of about 0.9 with copies in the way and beside, in the order `admit` takes them."""
    rng = np.random.default_rng(seed)
    copied = rng.random(n) < 0.3
    return (
        np.cumsum(rng.exponential(22, n)),
        rng.exponential(8, n),
        rng.lognormal(0, 0.1, n),
        np.where(copied, rng.exponential(3, n), 0.0),
        np.where(~copied & (rng.random(n) < 0.3), rng.exponential(40, n), 0.0),
        np.floor(rng.lognormal(6, 1, n)) + 1,
        np.floor(rng.lognormal(6, 1, n)) + 60,
        np.full(n, 50.0),
        np.floor(rng.exponential(60, n)),
        rng.exponential(4, n),
    )


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize(
    "limits",
    [
        (np.inf, np.inf, np.inf, False),
        (8.0, np.inf, 512.0, False),
        (np.inf, 6000.0, 2048.0, False),
        (np.inf, 6000.0, 2048.0, True),
    ],
)
def test_compiled_is_plain(limits: tuple[float, float, float, bool], timed: bool) -> None:
    """Both give the same times to the last bit, whatever limit binds, in either clock of steps."""
    given = (*requests(1), limits, (8.0, 4.0, 0.05, 0.1), (3.0, 50.0, 1.0), np.arange(1.0, 40.0, 8), timed)
    plain, compiled = admit(*given), admission()(*given)

    assert plain[0].tolist() == compiled[0].tolist()
    assert plain[1].tolist() == compiled[1].tolist()
    assert plain[2].tolist() == compiled[2].tolist()
    assert (plain[0] > given[0]).mean() > 0.2  # there was something to wait for


def where_compiled(**environment: str) -> str:
    """The folder in which a process of its own keeps what it compiled."""
    told = subprocess.run(
        [sys.executable, "-c", COMPILE],
        env={**os.environ, "NUMBA_CACHE_DIR": "", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return told.stdout.strip()


def test_the_cache_can_be_put_elsewhere(tmp_path: Path) -> None:
    """What was compiled is kept where NUMBA_CACHE_DIR says."""
    assert where_compiled(NUMBA_CACHE_DIR=str(tmp_path)).startswith(str(tmp_path))


def test_a_cache_folder_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no folder can be written the loop is compiled all the same, for this process."""
    from numba.core.caching import CacheImpl

    monkeypatch.setattr(CacheImpl, "_locator_classes", [])
    uncached = admission.__wrapped__()

    given = (
        *requests(2, 300),
        (8.0, 6000.0, 512.0, True),
        (8.0, 4.0, 0.05, 0.1),
        (0.0, 0.0, 1.0),
        np.zeros(0),
        False,
    )
    assert admit(*given)[1].tolist() == uncached(*given)[1].tolist()
