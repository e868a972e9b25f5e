"""One decision of the threshold loop: what, from which numbers, and the sentence that says so."""

from dataclasses import dataclass
from typing import Literal

from otel_attrib.analytics.control.observed import Day, Observed

__all__ = ["Decision", "Word"]

Word = Literal["raise", "lower", "held", "rejected", "no change", "settling", "not enough data"]
"""raise, lower: the threshold moves. held: it would, and the band forbids it. rejected: the candidate is not
what the long look back says. settling: too few periods since the last move. The others say it themselves."""


@dataclass(frozen=True, slots=True)
class Decision:
    """`before_ms` → `after_ms`, equal unless `word` is raise or lower.

    `periods` are those it rests on, oldest first; `candidate_ms` and `day` are there once they were asked.
    """

    word: Word
    before_ms: float
    after_ms: float
    sentence: str
    periods: tuple[Observed, ...] = ()
    candidate_ms: float | None = None
    day: Day | None = None

    @property
    def moves(self) -> bool:
        """Return whether the threshold moves."""
        return self.word in ("raise", "lower")
