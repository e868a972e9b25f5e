"""What a peer, or the product, says of one run."""

from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Answer"]


@dataclass(frozen=True)
class Answer:
    """`layer` is what is named, None where nothing is; `score` orders answers, the surest highest.

    `guess` is the best candidate even where nothing is named. `layers_ms` and `stages_ms` are parts of the
    change where the method gives any; `workload_ms`, `load_ms` likewise. `where` is the slice named.
    `detected` says whether a rise was found at all, None where the method does not judge it.
    """

    layer: str | None
    score: float = 0.0
    guess: str | None = None
    verdict: str = ""
    layers_ms: dict[str, float] | None = None
    stages_ms: dict[str, float] | None = None
    workload_ms: float | None = None
    load_ms: float | None = None
    delta_ms: float | None = None
    sum_error_ms: float | None = None
    where: dict[str, str] | None = None
    detected: bool | None = None
    note: str = ""
    seconds: float = 0.0
    error: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self)
