"""Several collectors as one page: OpenMetrics, with exemplars, for who accepts it; else Prometheus' text."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder

__all__ = ["Collects", "encoded"]


class Collects(Protocol):
    """A registry, or anything else that yields metric families."""

    def collect(self) -> Iterable[Metric]:
        """Yield them."""


class _Together:
    def __init__(self, collectors: Iterable[Collects]) -> None:
        self._collectors = tuple(collectors)

    def collect(self) -> Iterator[Metric]:
        for collector in self._collectors:
            yield from collector.collect()

    def describe(self) -> list[Metric]:
        return []


def encoded(collectors: Iterable[Collects], accept: str = "") -> tuple[bytes, str]:
    """Return the page and its content type for the `Accept` header of who asks."""
    registry = CollectorRegistry()
    registry.register(_Together(collectors))
    encoder, content_type = choose_encoder(accept)
    return encoder(registry), content_type
