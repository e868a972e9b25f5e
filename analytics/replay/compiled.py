"""The admission loop, compiled when the first replay asks for it.

Compiling takes seconds, once: numba keeps the result beside the source, in NUMBA_CACHE_DIR, or in the
user's cache folder where the installation cannot be written. Where nothing can be written, every process
compiles for itself. With NUMBA_DISABLE_JIT=1 the same text runs as plain Python.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.replay.admission import admit

__all__ = ["admission"]

Floats = NDArray[np.float64]
Loop = Callable[..., tuple[Floats, Floats, Floats]]


@cache
def admission() -> Loop:
    """Return `admit`, compiled, with the same results to the last bit."""
    from numba import njit  # slow to import, and most questions need no replay

    jit: Callable[..., Any] = njit
    try:
        return cast(Loop, jit(admit, cache=True))
    except RuntimeError:  # there is no place to keep it
        return cast(Loop, jit(admit))
