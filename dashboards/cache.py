"""KV cache and queue: does work wait for the scheduler, for blocks, or for the engine's own steps."""

from typing import Final

from grafana_foundation_sdk.builders import dashboard, timeseries

from otel_attrib.dashboards import bounds
from otel_attrib.dashboards.config import KV_FULL, PAGE_URL
from otel_attrib.dashboards.frame import Part, framed
from otel_attrib.dashboards.palette import BAD, COLORS, QUANTILE_COLORS, WARN
from otel_attrib.dashboards.panels import AnyPanel, Said, bounded, colored, lines, stacked
from otel_attrib.dashboards.target import Target

__all__ = ["cache"]

_PARTS: Final = {
    "schedule": COLORS["orange"],
    "forward": COLORS["vermilion"],
    "sample": COLORS["yellow"],
    "collective": COLORS["purple"],
    "copy": COLORS["sky"],
    "output": COLORS["green"],
}
_STEPS: Final = "from every step that the engines report; an engine without step telemetry has no line"


def cache(page: str = PAGE_URL) -> dashboard.Dashboard:
    """The dashboard as a builder."""
    parts: list[Part] = [
        ("Queue", [_stage("queue", "Waiting for the scheduler"), _waiting(), _running(), _batch()]),
        (
            "KV cache",
            [_usage(), _hits(), _stage("kv_init", "Finding and allocating KV blocks"), _preempted()],
        ),
        ("Steps", [_step_time(), _step_parts(), _step_tokens(), _stage("prefill", "Computing the prompt")]),
    ]
    about = "Does work wait for the scheduler, for KV blocks, or for the engine's own steps."
    return framed("cache", "LLM serving: KV cache and queue", about, parts, page)


def _stage(name: str, title: str) -> AnyPanel:
    said = Said(
        f"Time that requests spent in the stage `{name}`, by when they arrived; those that report it",
        "milliseconds",
        bounds.MEASURED,
    )
    query = Target("stage_quantiles", stage=name)
    return colored(lines(f"{title} (`{name}`)", said, [query], "ms"), QUANTILE_COLORS)


def _engines(title: str, meaning: str, amount: str, unit: str, measure: str) -> timeseries.Panel:
    said = Said(f"{meaning}, a line for each engine (node and replica)", measure, _STEPS)
    query = Target("engine_steps", amount=amount)
    return lines(title, said, [query], unit, display="${__field.labels.name}")


def _waiting() -> AnyPanel:
    return _engines("Requests waiting", "Most requests waiting at once", "max(waiting)", "short", "requests")


def _running() -> AnyPanel:
    return _engines(
        "Requests running", "Mean number of requests running", "avg(running)", "short", "requests"
    )


def _batch() -> AnyPanel:
    return _engines("Batch size", "Mean number of requests in a step", "avg(batch_size)", "short", "requests")


def _usage() -> AnyPanel:
    meaning = "Highest share of KV blocks in use; dashed: from here on requests are preempted"
    panel = _engines("KV cache in use", meaning, "max(kv_usage)", "percentunit", "share of blocks")
    return bounded(panel.max(1), (KV_FULL, WARN))


def _hits() -> AnyPanel:
    said = Said(
        "Share of prompt tokens found in the prefix cache, of requests that say how many were",
        "share of tokens",
        bounds.COUNTED,
    )
    panel = lines("Prefix cache hits", said, [Target("cache_hits")], "percentunit")
    return colored(panel.max(1), {"found": COLORS["green"]})


def _preempted() -> AnyPanel:
    said = Said(
        "Requests thrown out of the batch for want of KV blocks, and how often it happened; their "
        "work is done again",
        "requests, preemptions a second",
        bounds.COUNTED,
    )
    panel = lines("Preemptions", said, [Target("preempted")], "short")
    return colored(panel, {"requests": COLORS["orange"], "preemptions_per_s": BAD})


def _step_time() -> AnyPanel:
    said = Said("Time of one step of an engine, whatever it computes", "milliseconds", bounds.MEASURED)
    return colored(lines("Step time", said, [Target("step_figures")], "ms"), QUANTILE_COLORS)


def _step_parts() -> AnyPanel:
    said = Said(
        "Mean time of a step by what it went to: scheduler, forward pass, sampling, collectives "
        "between ranks, "
        "copies, handling the output",
        "milliseconds",
        "exact means; a part that an engine does not report is absent, so the parts may add up to "
        "less than a step",
    )
    return colored(stacked(lines("Parts of a step", said, [Target("step_parts")], "ms")), _PARTS)


def _step_tokens() -> AnyPanel:
    said = Said("Tokens that engines computed", "tokens a second", _STEPS)
    panel = lines("Tokens computed", said, [Target("step_tokens")], "short")
    return colored(panel, {"prefill": COLORS["vermilion"], "decode": COLORS["blue"]})
