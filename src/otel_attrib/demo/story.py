"""What happened in one run: its phases and faults, written down while it ran.

This is the truth that the answers of `otel-attrib why` are held against; a recording
carries it too.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

__all__ = ["BASELINE", "FAULTS", "Phase", "Story"]

BASELINE = "baseline"
FAULTS: Mapping[str, str] = {
    "cpu-hog": "a noisy neighbour on the engine's own cores",
    "small-cache": "a restart with too small a key-value cache",
}


@dataclass(frozen=True, slots=True)
class Phase:
    """One stretch of traffic; times in ns since 1970, `end` after the last answer."""

    name: str
    start_ns: int
    end_ns: int
    requests: int
    what: str = ""

    @property
    def is_fault(self) -> bool:
        """Whether harm was done in it."""
        return self.name in FAULTS

    def shifted(self, by_ns: int) -> "Phase":
        """Return the same phase at another time."""
        return replace(self, start_ns=self.start_ns + by_ns, end_ns=self.end_ns + by_ns)


@dataclass(frozen=True, slots=True)
class Story:
    """All phases in order, how the run was made, and how many requests were sent in all."""

    phases: tuple[Phase, ...]
    sent: int
    made_with: dict[str, str] = field(default_factory=dict)

    def phase(self, name: str) -> Phase:
        """Return the phase of that name."""
        return next(phase for phase in self.phases if phase.name == name)

    @property
    def faults(self) -> tuple[Phase, ...]:
        """Return the phases in which harm was done."""
        return tuple(phase for phase in self.phases if phase.is_fault)

    @property
    def end_ns(self) -> int:
        """Return when the last phase ended."""
        return max(phase.end_ns for phase in self.phases)

    def shifted(self, by_ns: int) -> "Story":
        """Return the same story at another time."""
        return replace(self, phases=tuple(phase.shifted(by_ns) for phase in self.phases))

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> "Story":
        """Read what `as_dict` wrote."""
        phases = tuple(Phase(**phase) for phase in told["phases"])
        return cls(phases, told["sent"], dict(told["made_with"]))
