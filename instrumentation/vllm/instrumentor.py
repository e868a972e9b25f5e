"""`opentelemetry-instrument` finds vLLM's shim here."""

import os
from collections.abc import Collection
from typing import Any

from opentelemetry.instrumentation.instrumentor import (  # type: ignore[attr-defined] # not in its __all__
    BaseInstrumentor,
)

from otel_attrib.instrumentation.shim import ENABLED
from otel_attrib.instrumentation.vllm import PATCHES, SUPPORTED

__all__ = ["VLLMInstrumentor"]


class VLLMInstrumentor(BaseInstrumentor):  # type: ignore[misc] # untyped in some releases
    """Asks for the shim; vLLM's own plugin loading does the rest, here and in the processes it starts."""

    def instrumentation_dependencies(self) -> Collection[str]:
        """Name the supported versions of vLLM."""
        return (f"vllm >= {SUPPORTED[0]}, < {SUPPORTED[1]}",)

    def _instrument(self, **kwargs: Any) -> None:
        os.environ[ENABLED] = "1"

    def _uninstrument(self, **kwargs: Any) -> None:
        os.environ.pop(ENABLED, None)
        PATCHES.restore()
