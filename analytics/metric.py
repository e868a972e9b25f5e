"""The four latencies: where each stands in the tables, what it is, and which stages it is made of.

Definitions differ between tools, so ours is printed with every number.
"""

from dataclasses import dataclass

from otel_attrib.errors import UsageError
from otel_attrib.schema.attributes import DECODE_STAGES, STAGES

__all__ = ["METRICS", "OUTSIDE", "Metric", "metric_named"]

OUTSIDE = "outside"
"""The part of a request's time that no stage accounts for."""

TTFT_PARTS = tuple((stage, f"{stage}_us") for stage in STAGES if stage != OUTSIDE)
TPOT_PARTS = tuple((stage, f"decode_{stage}_us") for stage in DECODE_STAGES)
E2E_PARTS = TTFT_PARTS + tuple(
    (f"decode_{stage}", f"if(output_tokens > 1, decode_{stage}_us * (output_tokens - 1), 0)")
    for stage in DECODE_STAGES
)


@dataclass(frozen=True, slots=True)
class Metric:
    """One latency: `value` and `parts` are SQL over `requests` in µs, `state` a column of `requests_10s`.

    `expected` is SQL that is true for a request which should have been measured; a change of `least_ms`
    is too small to matter (a token's time is a tenth of a first token's).
    """

    name: str
    title: str
    definition: str
    value: str
    state: str
    parts: tuple[tuple[str, str], ...]
    expected: str
    least_ms: float

    @property
    def values(self) -> str:
        """Return SQL for how many values of it a request gives."""
        return "length(gaps_us)" if self.name == "tbt" else f"toUInt64(isNotNull({self.value}))"

    @property
    def stages(self) -> tuple[str, ...]:
        """Return the names of its stages in order; `outside` is what they leave over."""
        return tuple(name for name, _ in self.parts)


METRICS = {
    metric.name: metric
    for metric in (
        Metric(
            "ttft",
            "TTFT",
            "arrival at the server to first token written",
            "ttft_us",
            "ttft",
            TTFT_PARTS,
            "status = 'ok' AND output_tokens > 0",
            5.0,
        ),
        Metric(
            "tpot",
            "TPOT",
            "(last token - first token) / (output tokens - 1), one value a request",
            "tpot_us",
            "tpot",
            TPOT_PARTS,
            "status = 'ok' AND output_tokens > 1",
            0.5,
        ),
        Metric(
            "tbt",
            "TBT",
            "gap between two successive tokens of a request, one value a gap",
            "arrayJoin(gaps_us)",
            "tbt",
            (),
            "status = 'ok' AND output_tokens > 1",
            0.5,
        ),
        Metric(
            "e2e",
            "E2E",
            "arrival at the server to last byte written",
            "e2e_us",
            "e2e",
            E2E_PARTS,
            "status = 'ok'",
            5.0,
        ),
    )
}


def metric_named(name: str) -> Metric:
    """Return the metric a user named."""
    try:
        return METRICS[name]
    except KeyError:
        raise UsageError(f"no metric {name!r}; choose one of {', '.join(METRICS)}") from None
