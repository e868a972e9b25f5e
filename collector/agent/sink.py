"""Where readings go: the OTLP export, the board that spans are marked from, or a list in a test."""

from typing import Protocol

from otel_attrib.collector.agent.readings import Readings

__all__ = ["Sink"]


class Sink(Protocol):
    """Something that takes every batch of readings; called from the thread that read them."""

    def take(self, ns: int, readings: Readings) -> None:
        """Take what was read at `ns` (wall clock, the middle of the read); it must be quick and keep calm."""
        ...
