"""The mark on an engine's own tracing: the shim reports its requests, so its own spans count for none.

An engine makes its tracer from the standard environment, once; while it does, the mark is one more
resource attribute there.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from otel_attrib import __version__
from otel_attrib.schema.attributes import SHIM

__all__ = ["marked_resource"]

_ENVIRONMENT = "OTEL_RESOURCE_ATTRIBUTES"


@contextmanager
def marked_resource() -> Iterator[None]:
    """Every resource made from the environment inside carries `slatag.shim`."""
    before = os.environ.get(_ENVIRONMENT)
    mark = f"{SHIM}={__version__}"
    os.environ[_ENVIRONMENT] = f"{before},{mark}" if before else mark
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_ENVIRONMENT, None)
        else:
            os.environ[_ENVIRONMENT] = before
