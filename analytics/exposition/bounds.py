"""The histograms of latencies: their names, and the bounds of their buckets.

`semconv` bounds are those that OpenTelemetry advises for GenAI server metrics (semantic conventions 1.41);
gaps between tokens, which it does not know, have those of tokens and two finer ones. The store keeps counts
at more bounds (`stored_ms`, the same as in migration 0019): the limits that objectives usually have, so that
the share of requests within such a limit is exact. A page shows the advised bounds and those that an
objective of the site has.
"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["HISTOGRAMS", "Histogram"]


@dataclass(frozen=True, slots=True)
class Histogram:
    """One latency as Prometheus sees it; bounds are inclusive above."""

    metric: str
    name: str
    meaning: str
    semconv_s: tuple[float, ...]
    stored_ms: tuple[float, ...]

    def bounds_ms(self, limits_ms: Iterable[float] = ()) -> tuple[float, ...]:
        """Return what a page shows: the advised bounds, and those limits that the store keeps counts at."""
        wanted = {round(1000 * bound, 6) for bound in self.semconv_s}
        return tuple(sorted(wanted | (set(limits_ms) & set(self.stored_ms))))

    def is_exact(self, limit_ms: float) -> bool:
        """Whether the store knows exactly how many took up to `limit_ms`."""
        return limit_ms in self.stored_ms

    def above(self, limit_ms: float) -> float | None:
        """Return the smallest bound that is not below the limit, None above all of them."""
        at = bisect_left(self.stored_ms, limit_ms)
        return self.stored_ms[at] if at < len(self.stored_ms) else None


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(word) for word in text.split())


_TTFT = Histogram(
    "ttft",
    "gen_ai_server_time_to_first_token_seconds",
    "Time to generate first token for successful responses",
    _numbers("0.001 0.005 0.01 0.02 0.04 0.06 0.08 0.1 0.25 0.5 0.75 1 2.5 5 7.5 10"),
    _numbers(
        "1 5 10 20 40 60 80 100 120 135 150 200 250 300 340 400 450 500 600 750 800 920 1000 1500 2000 2500"
        " 3000 4000 4500 5000 6000 7500 10000 15000 20000 30000 60000"
    ),
)
_TPOT = Histogram(
    "tpot",
    "gen_ai_server_time_per_output_token_seconds",
    "Time per output token generated after the first token for successful responses",
    _numbers("0.01 0.025 0.05 0.075 0.1 0.15 0.2 0.3 0.4 0.5 0.75 1 2.5"),
    _numbers("5 10 15 20 25 30 40 50 60 75 80 100 120 150 175 200 250 300 400 500 750 1000 2500"),
)
_TBT = Histogram(
    "tbt",
    "llm_stream_token_latency_seconds",
    "Time between two successive tokens of a streamed response, one value a gap",
    _numbers("0.001 0.005 0.01 0.025 0.05 0.075 0.1 0.15 0.2 0.3 0.4 0.5 0.75 1 2.5"),
    _numbers("1 2.5 5 10 15 20 25 30 40 50 75 80 100 150 175 200 300 400 500 750 1000 2500"),
)
_E2E = Histogram(
    "e2e",
    "gen_ai_server_request_duration_seconds",
    "Generative AI server request duration such as time-to-last byte or last output token",
    _numbers("0.01 0.02 0.04 0.08 0.16 0.32 0.64 1.28 2.56 5.12 10.24 20.48 40.96 81.92"),
    _numbers(
        "10 20 40 80 100 120 135 160 200 300 320 340 500 640 800 920 1000 1280 2000 2560 3000 5000 5120 8000"
        " 10000 10240 15000 20000 20480 30000 40960 60000 81920 120000 300000 600000"
    ),
)

HISTOGRAMS = {one.metric: one for one in (_TTFT, _TPOT, _E2E, _TBT)}
"""By latency."""
