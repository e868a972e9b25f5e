"""What became of a request under limits, as SQL over one row of `requests`.

- bad: it failed (error or timeout), or a latency was above its limit. A request that its client gave up
  before the first token is bad when it had already waited longer than the TTFT or E2E limit: its latency is
  not known, but that it is above the limit is.
- unmeasured: not known to be bad, and a latency that it should carry is missing.
- no matter: no limit applies to it, such as a TPOT limit to a request of one token, or any limit to one
  that its client gave up in time.
- good: all others; every limit that applies was measured and met, and one did apply.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.objectives.objective import Limit

__all__ = ["FAILED", "Outcome", "outcome"]

FAILED = "status IN ('error', 'timeout')"
# The longest gap; the stored series where a span brought no maximum.
VALUES = {
    "ttft": "ttft_us",
    "tpot": "tpot_us",
    "tbt": "coalesce(gap_max_us, if(notEmpty(gaps_us), toFloat64(arrayMax(gaps_us)), NULL))",
    "e2e": "e2e_us",
}
# A latency that never came to be, and how long the request had lasted by then.
WAITED = {"ttft": "status != 'ok' AND isNull(ttft_us)", "e2e": "status != 'ok'"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Conditions of which at most one is true of a row; `bound` are the values they bind."""

    good: str
    bad: str
    unmeasured: str
    bound: dict[str, float]


def outcome(limits: Sequence[Limit], prefix: str) -> Outcome:
    """Return what became of a row under `limits` at once; bound names begin with `prefix`."""
    each = [_under(limit, f"{prefix}_{limit.metric}") for limit in limits]
    bad = " OR ".join((FAILED, *(over for over, _, _ in each)))
    missing = " OR ".join(gone for _, gone, _ in each)
    met = " OR ".join(here for _, _, here in each)
    return Outcome(
        good=f"NOT ({bad}) AND NOT ({missing}) AND ({met})",
        bad=f"({bad})",
        unmeasured=f"NOT ({bad}) AND ({missing})",
        bound={f"{prefix}_{limit.metric}": 1000 * limit.ms for limit in limits},
    )


def _under(limit: Limit, name: str) -> tuple[str, str, str]:
    """Return SQL for: above the limit; missing though expected; measured."""
    value, bound = VALUES[limit.metric], f"{{{name}:Float64}}"
    over = f"ifNull({value} > {bound}, 0)"
    if limit.metric in WAITED:
        over = f"({over} OR ({WAITED[limit.metric]} AND ifNull(e2e_us > {bound}, 0)))"
    expected = METRICS[limit.metric].expected
    judged = f"isNotNull({value})"
    if limit.metric == "e2e":  # the time until a client gave up is no E2E
        judged = f"({judged} AND status = 'ok')"
    return over, f"({expected} AND isNull({value}))", judged
