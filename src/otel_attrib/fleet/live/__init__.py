"""A simulation told in real time: what has happened by now is sent by now."""

from otel_attrib.fleet.live.cut import by_second, later
from otel_attrib.fleet.live.send import Live, send_live

__all__ = ["Live", "by_second", "later", "send_live"]
