"""The quantile over the threshold as PromQL, on the histograms that /metrics exports."""

from otel_attrib.analytics.exposition.bounds import HISTOGRAMS
from otel_attrib.analytics.exposition.latencies import LABELS, OPTIONAL
from otel_attrib.analytics.exposition.matcher import matcher
from otel_attrib.analytics.filters import Filter
from otel_attrib.errors import UsageError

__all__ = ["matchers", "pod_query", "quantile_query"]

# What vLLM's own /metrics calls the four latencies, by latency.
VLLM = {
    "ttft": "vllm:time_to_first_token_seconds",
    "tpot": "vllm:request_time_per_output_token_seconds",
    "tbt": "vllm:inter_token_latency_seconds",
    "e2e": "vllm:e2e_request_latency_seconds",
}


def matchers(where: Filter) -> str:
    """Return label matchers for a filter; UsageError for a dimension that /metrics does not carry.

    Tenant and class stand on /metrics only where the setting `metrics_labels` asks for them.
    """
    by_column = {column: label for label, column in (*LABELS.items(), *OPTIONAL.values())}
    out = []
    for dimension, values in where.allowed:
        if dimension not in by_column:
            raise UsageError(
                f"/metrics carries no {dimension}: --source api reads it from the store"
                f" (on /metrics are {', '.join(by_column)})"
            )
        out.append(matcher(by_column[dimension], values))
    return ",".join(out)


def quantile_query(metric: str, level: float, where: Filter, window: str, threshold_ms: float) -> str:
    """Return the quantile of the last `window` in thresholds: 1 is at it.

    Between two bounds of the histogram the quantile is interpolated. Without requests it is no number, which
    the comparison drops: no data is then an empty answer.
    """
    name = f"{HISTOGRAMS[metric].name}_bucket"
    rate = f"rate({name}{{{matchers(where)}}}[{window}])"
    return f"histogram_quantile({level:g}, sum by (le) ({rate})) / {threshold_ms / 1000:.9g} >= 0"


def pod_query(metric: str, level: float, window: str, threshold_ms: float) -> str:
    """Return the same for each pod, from vLLM's own histograms (0.19)."""
    rate = f"rate({VLLM[metric]}_bucket[{window}])"
    quantile = f"histogram_quantile({level:g}, sum by (le, namespace, pod) ({rate}))"
    return f"{quantile} / {threshold_ms / 1000:.9g} >= 0"
