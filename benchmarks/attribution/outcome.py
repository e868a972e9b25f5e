"""One run judged: what is true of it beside what was answered, and what counts as right.

An answer names a layer or it does not. Named, it is right where the layer is one of the broken ones
(either of two), and wrong everywhere else: for a null, a decoy, or another layer. A fault that makes no rise
(`faint`) asks for nothing: silence is right there, and so is its own name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from benchmarks.attribution.case import Truth
from benchmarks.attribution.peers.answer import Answer
from otel_attrib.analytics.columns import Flags

__all__ = ["Outcome", "only_where", "overlap", "requests_in"]


@dataclass(frozen=True)
class Outcome:
    """A run's name, family and kind (fault, null or decoy), its truth, and one answer.

    `overlap` is F1 of the requests in the slice named and in the broken one; None where one of them is
    not a slice.
    """

    run: str
    family: str
    kind: str
    truth: Truth
    answer: Answer
    overlap: float | None = None

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


def only_where(outcome: Outcome, rose: bool) -> Outcome:
    """Return the outcome as if the method had been asked only after a rise was found."""
    if rose:
        return outcome
    return replace(outcome, answer=replace(outcome.answer, layer=None, guess=None))


def requests_in(requests: pa.Table, where: Mapping[str, str]) -> Flags:
    """Return which requests are in a slice; a card is in every set of cards that holds it.

    `gpu` is a card with its node, such as node-1:GPU-0; the other names are columns of the table.
    """
    inside: Flags = np.ones(len(requests), dtype=np.bool_)
    node, _, card = where.get("gpu", "").partition(":")
    parts = {name: value for name, value in where.items() if name != "gpu"}
    for name, value in (parts | ({"node": node, "gpu_set": card} if card else {})).items():
        words = requests[name].to_pylist() if name in requests.column_names else []
        held = [value == word or value in str(word).split(",") for word in words]
        inside &= np.array(held, dtype=np.bool_) if held else False
    return inside


def overlap(requests: pa.Table, named: Mapping[str, str], true: Mapping[str, str]) -> float:
    """Return F1 of two slices over the requests at hand."""
    a, b = requests_in(requests, named), requests_in(requests, true)
    return float(2 * (a & b).sum() / max(1, a.sum() + b.sum()))
