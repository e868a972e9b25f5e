"""What a change of a quantile is made of before layers are named: the books that must balance.

Identity, asserted when books are made: Σ stages + workload + load + unexplained = delta (within 1e-6 ms).
Which calculation filled them (the repair path alone, or the replay of the queue on top) is said by
`replay_valid`.
"""

from dataclasses import dataclass

from otel_attrib.analytics.intervals import Estimate

__all__ = ["SUM_TOLERANCE_MS", "Books", "no_change"]

SUM_TOLERANCE_MS = 1e-6


def no_change() -> Estimate:
    """Return nought, known exactly: a line that a calculation does not have."""
    return Estimate(0.0, 0.0, float("inf"))


@dataclass(frozen=True)
class Books:
    """ΔP99 of one metric in ms, by line; each number with its variance.

    `stages` holds φ_k, the change caused by the stage's own times having changed (`outside` among them);
    with a valid replay, φ_k carries the waiting that the stage causes and `queue` is the scheduler's own.
    `replay_valid` is None where no replay was needed, False where it was and missed its gate: the `queue`
    line is then waiting of unknown cause.
    """

    metric_name: str
    delta: Estimate
    stages: dict[str, Estimate]
    workload: Estimate
    load: Estimate
    unexplained: Estimate
    replay_valid: bool | None = None

    def __post_init__(self) -> None:
        """Refuse books that do not balance."""
        error = self.sum_error_ms
        if not error <= SUM_TOLERANCE_MS * max(1.0, abs(self.delta.value) * 1e-3):
            raise AssertionError(f"the lines miss the change by {error} ms")

    @property
    def sum_error_ms(self) -> float:
        """Return how far the lines miss the change."""
        lines = (self.workload, self.load, self.unexplained, *self.stages.values())
        return abs(sum(line.value for line in lines) - self.delta.value)
