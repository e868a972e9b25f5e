"""When each stage of a request was: stretches of wall time on the clock of the node that served it.

The stages of the first token lie end to end in the order of `STAGES` from the arrival on, `decode` between
the first token and the last byte. Bounds are whole µs; where one stage ends the next one begins, so what is
counted in the stages adds up to what is counted in all of it. `outside` has no known place among the others:
`shift_us` says by how much later than here a stage may have been. Stages of a prompt computed in several
chunks, or of a preempted request, alternate in truth; their lengths are right, their places are not.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor
from typing import Any

from otel_attrib.schema.attributes import STAGES

__all__ = ["DECODE", "REQUEST", "Stretch", "stretches_of"]

REQUEST = "request"
"""The whole, from the arrival to the last byte."""
DECODE = "decode"


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `start_us` to `end_us`, µs since 1970; at least 1 µs."""

    stage: str
    start_us: int
    end_us: int
    shift_us: float = 0.0

    @property
    def length_us(self) -> int:
        """Return how long it lasts."""
        return self.end_us - self.start_us


def stretches_of(request: Mapping[str, Any]) -> tuple[Stretch, ...]:
    """Return the whole request, its observed stages and `decode`, of one row of `requests`."""
    start = int(request["time_us"])
    ttft, e2e = request["ttft_us"], request["e2e_us"]
    parts = [(stage, request[f"{stage}_us"]) for stage in STAGES if request[f"{stage}_us"] is not None]
    ends = [0.0]
    for _, us in parts:
        ends.append(ends[-1] + us)
    outside = float(request["outside_us"] or 0.0)
    found = [Stretch(REQUEST, start, start + whole(max(e2e or 0.0, ttft or 0.0, ends[-1])))]
    found += [
        Stretch(stage, start + whole(left), start + whole(right), 0.0 if stage == "outside" else outside)
        for (stage, _), left, right in zip(parts, ends, ends[1:], strict=False)
    ]
    if ttft is not None and e2e is not None:
        found.append(Stretch(DECODE, start + whole(ttft), start + whole(e2e)))
    return tuple(stretch for stretch in found if stretch.length_us > 0)


def whole(us: float) -> int:
    """Return whole µs; the border lies between two ns, so that equal sums of ns give equal µs."""
    return floor(us + 0.5005)
