"""What became of a request under a limit, as SQL over one row of `requests`: a code from 0 to 3.

- 3 bad: it failed (error or timeout), or a latency was above its limit. A request that its client gave up
  before the first token is bad when it had already waited longer than the TTFT or E2E limit: its latency is
  not known, but that it is above the limit is.
- 2 unmeasured: not known to be bad, and the latency that it should carry is missing.
- 1 good: measured, and at most the limit.
- 0 no matter: the limit does not apply to it, such as a TPOT limit to a request of one token, or any limit to
  one that its client gave up in time; or it is none of the requests that the objective is about.

Under several limits at once the greatest of their codes holds: one limit broken makes a request bad, one not
measured leaves it open, and those that do not apply do not count.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.objectives.objective import Limit

__all__ = ["BAD", "FAILED", "GOOD", "UNMEASURED", "Conditions", "conditions", "outcome"]

GOOD, UNMEASURED, BAD = 1, 2, 3

FAILED = "status IN ('error', 'timeout')"
# The longest gap; the stored series where a span brought no maximum.
VALUES = {
    "ttft": "ttft_us",
    "tpot": "tpot_us",
    "tbt": "coalesce(gap_max_us, if(notEmpty(gaps_us), toFloat64(arrayMax(gaps_us)), NULL))",
    "e2e": "e2e_us",
}
# A latency that never came to be; how long the request had lasted by then is its e2e_us.
GIVEN_UP = {"ttft": "status != 'ok' AND isNull(ttft_us)", "e2e": "status != 'ok'"}


def outcome(metric: str, bound: str, where: str) -> str:
    """Return SQL for the code of a row of `where` under a limit in µs, whose bound name is given."""
    value, limit = VALUES[metric], f"{{{bound}:Float64}}"
    over = f"ifNull({value}, 0) > {limit}"
    if metric in GIVEN_UP:
        over += f" OR ({GIVEN_UP[metric]} AND ifNull(e2e_us, 0) > {limit})"
    judged = f"isNotNull({value})"
    if metric == "e2e":  # the time until a client gave up is no E2E
        judged = f"status = 'ok' AND {judged}"
    chosen = "" if where == "1" else f"NOT ({where}), 0, "
    return (
        f"multiIf({chosen}{FAILED} OR {over}, {BAD}, {judged}, {GOOD},"
        f" {METRICS[metric].expected}, {UNMEASURED}, 0)"
    )


@dataclass(frozen=True, slots=True)
class Conditions:
    """SQL conditions of which at most one is true of a row; `bound` are the values they bind, in µs."""

    good: str
    bad: str
    unmeasured: str
    bound: dict[str, float]


def conditions(limits: Sequence[Limit], prefix: str) -> Conditions:
    """Return what is true of a row under `limits` at once, for statements that are written elsewhere."""
    codes = [outcome(limit.metric, f"{prefix}_{limit.metric}", "1") for limit in limits]
    code = codes[0] if len(codes) == 1 else f"greatest({', '.join(codes)})"
    bound = {f"{prefix}_{limit.metric}": 1000 * limit.ms for limit in limits}
    return Conditions(f"{code} = {GOOD}", f"{code} = {BAD}", f"{code} = {UNMEASURED}", bound)
