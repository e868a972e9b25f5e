"""vLLM: asleep until asked for, then every process of a server records its part of each request.

`opentelemetry-instrument vllm serve …` and `otel-attrib run -- vllm serve …` ask for it by the
environment; vLLM itself then loads `plugin` in its API servers, engine cores and workers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from otel_attrib.instrumentation import shim, status

if TYPE_CHECKING:
    from otel_attrib.instrumentation.vllm.instrumentor import VLLMInstrumentor

__all__ = ["PATCHES", "SUPPORTED", "VLLMInstrumentor", "plugin"]

SUPPORTED = ("0.32.0", "0.33.0")
"""First supported version of vLLM, and the first that is not."""

PATCHES = shim.Patches()


def plugin() -> None:
    """Hook this process if it was asked for; never raises. vLLM calls it in each of its processes."""
    try:
        reason = _reason()
        if reason is None:
            _hook()
        status.tell("plugin", enabled=reason is None, reason=reason or "")
        if reason is not None and not reason.startswith("OTEL_ATTRIB_"):
            shim.say(f"vLLM is not instrumented: {reason}")
    except Exception as error:
        shim.FAULTS.count("plugin", error)


def _reason() -> str | None:
    asked = shim.not_asked_for()
    if asked is not None:
        return asked
    return shim.outside(engine_version(), SUPPORTED)


def engine_version() -> str:
    """Version of the vLLM that has loaded us."""
    return str(import_module("vllm.version").__version__)


def _hook() -> None:
    """Hook each module when this process imports it; most processes import only their own part."""
    from otel_attrib.instrumentation.logs.correlate import correlate_logs
    from otel_attrib.instrumentation.logs.json_lines import json_lines
    from otel_attrib.instrumentation.vllm.hooks import watch

    if shim.logs_named():
        correlate_logs()
    json_lines()
    watch(PATCHES, engine_version())


def __getattr__(name: str) -> Any:
    # The instrumentor's base class is not in every server; the plugin must load without it.
    if name == "VLLMInstrumentor":
        from otel_attrib.instrumentation.vllm.instrumentor import VLLMInstrumentor

        return VLLMInstrumentor
    raise AttributeError(name)
