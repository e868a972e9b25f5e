"""What a report says of one layer, one piece of evidence, and one slice of the requests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Evidence", "LayerLine", "SliceLine"]


@dataclass(frozen=True, slots=True)
class LayerLine:
    """One layer's part of the change: `ms` of it, its share, and the probability that it is to blame.

    `ci` is the 95 % interval of `ms`. `parts` splits `ms` by named part where counters tell them apart
    (`gpu.compute` and `gpu.memory`); what they leave over stays with the layer as a whole.
    """

    ms: float
    share: float
    p: float
    ci: tuple[float, float]
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One counter (or stage) that speaks for or against a layer, in words that an engineer on call reads."""

    layer: str
    speaks_for: bool
    counter: str
    text: str

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {"layer": self.layer, "for": self.speaks_for, "counter": self.counter, "text": self.text}


@dataclass(frozen=True, slots=True)
class SliceLine:
    """The requests that were hit: dimension → value, how many, and how much of the excess is theirs."""

    where: Mapping[str, str]
    requests: int
    share: float

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {"where": dict(self.where), "requests": self.requests, "share_of_delta": round(self.share, 9)}

    def __str__(self) -> str:
        """Write it on one line: `node=n3 gpu_set=GPU-5`."""
        return " ".join(f"{name}={value}" for name, value in self.where.items())
