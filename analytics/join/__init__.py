"""The join: what cards, links and host did in exactly the time of a request, of each stage, or of a window.

`measure` reads one series over stretches of time, `joined` all counters of some places, `controls` what is
usual there and beside; `trace` puts them together for one request and `window` for a window.
"""

from otel_attrib.analytics.join.joined import Joined, join
from otel_attrib.analytics.join.measure import Measured, increase, level
from otel_attrib.analytics.join.stretches import Stretch, stretches_of

__all__ = ["Joined", "Measured", "Stretch", "increase", "join", "level", "stretches_of"]
