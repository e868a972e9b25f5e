"""One run judged: what is true of it beside what was answered, and what counts as right.

An answer names a layer or it does not. Named, it is right where the layer is one of the broken ones
(either of two), and wrong everywhere else: for a null, a decoy, or another layer. A fault whose paired effect
is below a rise (`faint`) asks for nothing: silence is right there, and so is its own name.
"""

from dataclasses import dataclass

from benchmarks.attribution.case import Truth
from benchmarks.attribution.peers.answer import Answer

__all__ = ["Outcome"]


@dataclass(frozen=True)
class Outcome:
    """A run's name, its family and kind (fault, null or decoy), its truth, and one answer."""

    run: str
    family: str
    kind: str
    truth: Truth
    answer: Answer

    @property
    def fault(self) -> bool:
        """Return whether a layer should be named."""
        return bool(self.truth.culprits) and not self.truth.faint

    @property
    def clean(self) -> bool:
        """Return whether nothing is broken, so that any layer named is a false attribution."""
        return not self.truth.culprits

    @property
    def answered(self) -> bool:
        """Return whether a layer was named."""
        return self.answer.layer is not None

    @property
    def right(self) -> bool:
        """Return whether the layer named is broken."""
        return self.answer.layer in self.truth.culprits

    @property
    def guessed_right(self) -> bool:
        """Return whether the best candidate, named or not, is broken."""
        return self.answer.guess in self.truth.culprits
