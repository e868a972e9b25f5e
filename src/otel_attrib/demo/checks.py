"""What the server said of itself, held against what its clients saw.

Both sides know a request by its trace id: the client made it up, the server continued it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from otel_attrib.demo.replay import Outcome
from otel_attrib.schema.attributes import STAGES

__all__ = ["ROWS", "Checks", "check", "quantile"]

# One row for each request that was sent, found by the client's own trace id.
ROWS = f"""
SELECT trace_id, status, stream, ttft_us, e2e_us, {", ".join(f"{stage}_us" for stage in STAGES)}
FROM requests
"""


@dataclass(frozen=True, slots=True)
class Checks:
    """The figures of a comparison; times in ms, `None` where nothing could be compared.

    `outside` is what the client waited beyond the server's own TTFT, over streamed requests.
    """

    sent: int
    rows: int
    matched: int
    worst_sum_error: float | None
    server_later_than_client: int
    outside_p50_ms: float | None
    outside_p99_ms: float | None

    @property
    def complaints(self) -> list[str]:
        """Say what does not hold."""
        found = []
        if not self.sent == self.rows == self.matched:
            found.append(f"{self.sent} requests were sent, {self.rows} recorded, {self.matched} matched")
        if self.worst_sum_error is None or self.worst_sum_error > 0.01:
            found.append(f"the stages of a request miss its TTFT by {self.worst_sum_error or 1:.1%}")
        if self.server_later_than_client:
            found.append(f"{self.server_later_than_client} requests have a server TTFT above the client's")
        return found


def check(outcomes: Sequence[Outcome], rows: Iterable[Mapping[str, Any]]) -> Checks:
    """Compare request by request."""
    rows = list(rows)
    by_trace = {row["trace_id"]: row for row in rows}
    errors = [_sum_error(row) for row in rows if row["ttft_us"]]
    outside = [
        outcome.ttft_us - by_trace[outcome.trace_id]["ttft_us"]
        for outcome in outcomes
        if outcome.kind == "stream"
        and outcome.ttft_us is not None
        and by_trace.get(outcome.trace_id, {}).get("ttft_us") is not None
    ]
    return Checks(
        sent=len(outcomes),
        rows=len(rows),
        matched=sum(outcome.trace_id in by_trace for outcome in outcomes),
        worst_sum_error=max(errors, default=None),
        server_later_than_client=sum(difference < 0 for difference in outside),
        outside_p50_ms=quantile(outside, 0.5),
        outside_p99_ms=quantile(outside, 0.99),
    )


def _sum_error(row: Mapping[str, Any]) -> float:
    """Return how far the stages of one request miss its TTFT, as a share of it."""
    total = sum(row[f"{stage}_us"] or 0.0 for stage in STAGES)
    return float(abs(total - row["ttft_us"]) / row["ttft_us"])


def quantile(values_us: Sequence[float], level: float) -> float | None:
    """Return an order statistic of values in µs, in ms."""
    if not values_us:
        return None
    ordered = sorted(values_us)
    return ordered[min(len(ordered) - 1, int(level * len(ordered)))] / 1000
