"""What speaks against reading a change of the tail as a change of the system."""

from collections.abc import Iterator

from otel_attrib.analytics.blocks import Counts
from otel_attrib.analytics.windows import Window
from otel_attrib.analytics.wording import digits

__all__ = ["changed_coverage", "means_of", "never_observed", "note_all", "note_new_work"]

COVERAGE_CHANGE = 0.10  # share of requests; past it the two windows do not measure the same thing
NEW_WORK = 0.05  # share of the requests
WORTH_SAYING = 0.10  # relative change of the mix or the load


def changed_coverage(baseline: Counts, current: Counts) -> tuple[str, ...]:
    """Return the stages observed on clearly more requests of one window than of the other."""
    if not (baseline.measured and current.measured):
        return ()
    return tuple(
        stage
        for stage, share in baseline.missing.items()
        if abs(share - current.missing[stage]) > COVERAGE_CHANGE
    )


def never_observed(baseline: Counts, current: Counts) -> tuple[str, ...]:
    """Return the stages that no request of either window carries."""
    return tuple(
        stage for stage, share in baseline.missing.items() if share == 1 and current.missing[stage] == 1
    )


def means_of(
    baseline: Counts, current: Counts, baseline_window: Window, current_window: Window
) -> dict[str, tuple[float, float]]:
    """Return prompt_tokens and output_tokens of a request, and requests_per_s: before and after."""
    before, after = _means(baseline, baseline_window), _means(current, current_window)
    return {name: (before[name], after[name]) for name in before}


def _means(counts: Counts, window: Window) -> dict[str, float]:
    return {
        "prompt_tokens": counts.prompt_tokens / max(1, counts.requests),
        "output_tokens": counts.output_tokens / max(1, counts.requests),
        "requests_per_s": counts.requests / window.length.total_seconds(),
    }


def note_all(
    baseline: Counts, current: Counts, baseline_window: Window, current_window: Window
) -> tuple[str, ...]:
    """Return one sentence for each thing a reader should hold against the numbers."""
    means = means_of(baseline, current, baseline_window, current_window)
    return (
        *_sampled(baseline, current),
        *_coverage(baseline, current),
        *_mix(means),
        *_load(means),
        *_failures(baseline, current),
    )


def note_new_work(share: float) -> tuple[str, ...]:
    """Say it where many current requests have no like in the baseline, by model and size."""
    if share <= NEW_WORK:
        return ()
    return (
        f"{_percent(share)} of the requests are of a model or size that the baseline hardly holds: what they"
        " added is unexplained",
    )


def _sampled(baseline: Counts, current: Counts) -> Iterator[str]:
    old, new = 1 - baseline.kept, 1 - current.kept
    if old or new:
        yield (
            f"{_percent(old)} of the baseline's and {_percent(new)} of the current requests were sampled"
            " away: those kept count for them"
        )


def _coverage(baseline: Counts, current: Counts) -> Iterator[str]:
    if not (baseline.measured and current.measured):
        return
    changed, never = changed_coverage(baseline, current), never_observed(baseline, current)
    for stage in changed:
        yield (
            f"{stage} is observed on {_percent(1 - baseline.missing[stage])} of the baseline and"
            f" {_percent(1 - current.missing[stage])} of the current requests: counted as outside in both"
        )
    if never:
        yield f"not observed here: {', '.join(never)}; their time stands in outside"
    for stage, share in current.missing.items():
        if share > 0 and stage not in (*changed, *never):
            yield f"{stage} is missing on {_percent(share)} of the requests; its time stands in outside"


def _mix(means: dict[str, tuple[float, float]]) -> Iterator[str]:
    for name, words in (
        ("prompt_tokens", "prompt tokens a request"),
        ("output_tokens", "output tokens a request"),
    ):
        old, new = means[name]
        if old and new and abs(new / old - 1) > WORTH_SAYING:
            yield f"{words} went {old:.0f} → {new:.0f}"


def _load(means: dict[str, tuple[float, float]]) -> Iterator[str]:
    old, new = means["requests_per_s"]
    if old and new and abs(new / old - 1) > WORTH_SAYING:
        yield f"requests/s went {digits(old)} → {digits(new)}"


def _failures(baseline: Counts, current: Counts) -> Iterator[str]:
    old, new = (counts.failed / max(1, counts.requests) for counts in (baseline, current))
    if abs(new - old) > 0.01:
        yield f"failed requests went {_percent(old)} → {_percent(new)}; without a first token, no TTFT"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
