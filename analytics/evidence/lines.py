"""The answer of the evidence: ms per layer with what speaks for and against it."""

from dataclasses import dataclass, field

from otel_attrib.analytics.intervals import Estimate

__all__ = ["Evidence", "LayerLine", "Layers"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """One finding in plain words.

    `strength` is 0…1; `own` says that it is the layer's own counter. `name` is the signal's, `part` its
    column: `gpu.memory` where only that part of the layer is meant.
    """

    layer: str
    speaks_for: bool
    counter: str
    text: str
    strength: float = 1.0
    own: bool = True
    name: str = ""
    part: str = ""


@dataclass(frozen=True)
class LayerLine:
    """What a layer contributed: ms with its variance, share of ΔP99, and how probable it is as a cause.

    `share_low` is the lower end of the 95 % interval of the share; `p` is calibrated. `parts` splits the
    ms of `gpu` into `gpu.compute` and `gpu.memory`; empty for the other layers.
    """

    estimate: Estimate
    share: float
    share_low: float
    p: float
    parts: dict[str, float] = field(default_factory=dict)

    @property
    def ms(self) -> float:
        """Return the ms."""
        return self.estimate.value

    @property
    def ci(self) -> tuple[float, float]:
        """Return the 95 % interval in ms."""
        return self.estimate.interval()


@dataclass(frozen=True)
class Layers:
    """ΔP99 by layer: Σ lines + workload + load + unexplained = delta exactly.

    `lines` has every layer in the registry's order. `pi[stage]` says how a stage's change was divided over
    layers and `unexplained`; each row sums to 1. `missing_sensors` maps a layer to the counters it lacked.
    `coverage` is the share of the stages' change that lies on layers whose sensors were read.
    `workload_low` and `load_low` are the lower ends of the 95 % intervals of these lines' shares.
    `claims[layer]` is the smallest stage that a layer is blamed for, in ms. `clock_uncertainty_us` is None
    where no sample tells of it. `slower` is by how much engine steps of the hit engines are longer at equal
    work (0.2: a fifth), None where no step was recorded.
    """

    lines: dict[str, LayerLine]
    workload: Estimate
    load: Estimate
    unexplained: Estimate
    unexplained_share: float
    evidence: tuple[Evidence, ...]
    pi: dict[str, dict[str, float]]
    missing_sensors: dict[str, tuple[str, ...]]
    deciding: tuple[str, ...]
    coverage: float
    replay_valid: bool | None
    workload_low: float = 0.0
    load_low: float = 0.0
    refused: dict[str, int] = field(default_factory=dict)
    clock_uncertainty_us: float | None = None
    claims: dict[str, float] = field(default_factory=dict)
    slower: float | None = None

    @property
    def delta(self) -> float:
        """Return the change that all lines add up to."""
        rest = self.workload.value + self.load.value + self.unexplained.value
        return sum(line.ms for line in self.lines.values()) + rest

    @property
    def ranked(self) -> tuple[str, ...]:
        """Return the layers, the largest contribution first; ties in the registry's order."""
        return tuple(sorted(self.lines, key=lambda layer: -self.lines[layer].ms))

    def speaking(self, layer: str, speaks_for: bool) -> tuple[Evidence, ...]:
        """Return the evidence for or against one layer, the strongest first."""
        return tuple(e for e in self.evidence if e.layer == layer and e.speaks_for == speaks_for)
