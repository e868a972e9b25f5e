"""Prometheus pages of exporters and engines: DCGM, AMD, Ascend, TPU, vLLM, SGLang, TGI, Triton.

What a better source gives of the cards (NVML) is left out, which is said once. Without a page it costs a look
at the engine's processes every ten seconds.
"""

import logging
import time
from collections.abc import Callable, Iterable
from typing import Final

from otel_attrib.collector.agent.source import Reading
from otel_attrib.collector.sources.scrape.endpoint import Endpoint
from otel_attrib.collector.sources.scrape.endpoints import Endpoints, shared_endpoints
from otel_attrib.collector.sources.scrape.target import Target

__all__ = ["LOOK_S", "Scrape"]

_log = logging.getLogger(__name__)

LOOK_S: Final = 10.0
"""How often pages are looked for."""


class Scrape:
    """Every page that is given or found here, now or later: engines come and go."""

    name = "scrape"
    every_s = 1.0

    def __init__(
        self, endpoints: Endpoints | None = None, steady: Callable[[], float] = time.monotonic
    ) -> None:
        """Look for pages; each is asked for the first time at the first read."""
        self._endpoints = endpoints or shared_endpoints()
        self._steady = steady
        self._looked = float("-inf")
        self._open: dict[Target, Endpoint] = {}
        self._look()

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The pages, whether they answer or not."""
        return tuple(self._open.values())

    def read(self) -> Iterable[Reading]:
        """Read every page that is due."""
        if self._steady() - self._looked >= LOOK_S:
            self._look()
        return [reading for endpoint in self._open.values() for reading in endpoint.read()]

    def close(self) -> None:
        """Close every connection."""
        for endpoint in self._open.values():
            endpoint.close()

    def _look(self) -> None:
        """Take pages up that are new; let those go that are no longer there."""
        self._looked = self._steady()
        wanted = self._endpoints.current()
        for gone in [each for each in self._open if each not in wanted]:
            self._open.pop(gone).close()
        for each in wanted:
            if each not in self._open:
                self._open[each] = Endpoint(each, self._endpoints.token, self._steady)
