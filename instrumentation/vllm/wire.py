"""How facts travel from the engine's process to the API server: inside a field that vLLM carries anyway.

`EngineCoreOutput.trace_headers` (a mapping of strings) takes one more key with the first token
and one with the last; the API server takes them out before vLLM looks. So it works with several
API servers and engines, and no further channel is opened. Numbers only, comma separated.
"""

from collections.abc import Mapping
from typing import Any

from otel_attrib.instrumentation.facts import First, Last

__all__ = ["FIRST", "LAST", "attach", "detach"]

FIRST = "otel-attrib-first"
LAST = "otel-attrib-last"


def attach(output: Any, key: str, facts: First | Last) -> None:
    """Put one packet beside the trace headers of an output."""
    headers = dict(output.trace_headers or ())
    headers[key] = ",".join(map(str, facts))
    output.trace_headers = headers


def detach(headers: Mapping[str, str]) -> tuple[dict[str, str] | None, First | None, Last | None]:
    """Take our packets out again: what vLLM shall see, and the packets."""
    rest = dict(headers)
    first = rest.pop(FIRST, None)
    last = rest.pop(LAST, None)
    return rest or None, First(*_numbers(first)) if first else None, Last(*_numbers(last)) if last else None


def _numbers(packet: str) -> list[int]:
    return [int(number) for number in packet.split(",")]
