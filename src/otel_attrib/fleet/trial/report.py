"""A trial as text and JSON: every arm beside the two it is compared with, what it helped and whom it harmed.

A change is told as help or harm where its 95 % interval over seeds leaves out nothing at all, and is at least
2 % of what it is compared with (attainment: one point); the rest is told as no difference shown.
"""

from collections.abc import Iterator
from dataclasses import asdict
from math import isfinite
from typing import Any, Literal

from otel_attrib.analytics.intervals import Estimate
from otel_attrib.analytics.wording import milliseconds, wrapped
from otel_attrib.fleet.trial.outcome import ARMS, WHOLE, Trial, estimate, measures_of
from otel_attrib.fleet.trial.trial import Asked

__all__ = ["HEADS", "Effect", "effect", "headline", "trial_lines", "trial_object", "trial_rows"]

Effect = Literal["helps", "harms", "no difference shown"]
HEADS = ("arm", "tenant", "P95 ms", "P99 ms", "attained", "tokens/s", "held ms")
LEAST_RELATIVE, LEAST_SHARE = 0.02, 0.01
GATES = {
    "limit": "a budget is a limit, also while others leave theirs",
    "share": "what a tenant leaves of its budget goes to the others",
}
AGAINST = {"fixed": ("open",), "boost": ("open", "fixed"), "throttle": ("open", "fixed")}
TITLES = {
    "open": "no gate",
    "fixed": "fixed budgets",
    "boost": "budgets, breach gets more",
    "throttle": "budgets, breach gets less",
}


def effect(trial: Trial, arm: str, against: str, tenant: str, name: str) -> Effect:
    """Say what an arm does to one measure of a tenant."""
    change = trial.change(arm, against, tenant, name)
    low, high = change.interval()
    more = name in ("attained", "tokens_s")
    before = float(trial.of(against, tenant, name).mean())
    least = LEAST_SHARE if name == "attained" else LEAST_RELATIVE * abs(before)
    if not (low > 0 or high < 0) or abs(change.value) < least:
        return "no difference shown"
    return "helps" if (change.value > 0) == more else "harms"


def headline(trial: Trial) -> Iterator[str]:
    """Yield the answer: whom each policy helps and harms, in attainment, beside fixed budgets and no gate."""
    for arm in ("boost", "throttle"):
        parts = []
        for against in AGAINST[arm]:
            said = {
                kind: [t for t in trial.tenants if effect(trial, arm, against, t, "attained") == kind]
                for kind in ("helps", "harms")
            }
            words = [f"{kind} {', '.join(names)}" for kind, names in said.items() if names]
            parts.append(f"against {TITLES[against]} it {' and '.join(words) or 'shows no difference'}")
        yield from wrapped(f"{arm} ({TITLES[arm]}): {'; '.join(parts)}.", "", "  ")


def trial_rows(trial: Trial) -> list[tuple[str, ...]]:
    """Return the table: means over seeds ± half of the 95 % interval; P99 without, for want of room."""
    rows: list[tuple[str, ...]] = []
    for arm in ARMS:
        for tenant in (*trial.tenants, WHOLE):
            found = {name: estimate(trial.of(arm, tenant, name)) for name in measures_of()}
            rows.append(
                (
                    arm,
                    tenant,
                    _ms(found["ttft_p95_ms"]),
                    milliseconds(found["ttft_p99_ms"].value),
                    f"{100 * found['attained'].value:.1f} ± {100 * _half(found['attained']):.1f} %",
                    f"{found['tokens_s'].value:,.0f}",
                    milliseconds(found["held_ms"].value),
                )
            )
    return rows


def trial_lines(trial: Trial) -> Iterator[str]:
    """Yield what stands below the table: fairness, harm one by one, and what was assumed."""
    fair = ", ".join(f"{arm} {estimate_of(trial, arm).value:.3f}" for arm in ARMS)
    yield ""
    yield from wrapped(f"Jain's index of attainment over the tenants: {fair}.")
    for arm, tenant, text in harms(trial):
        yield from wrapped(f"harm: {arm}, {tenant}: {text}", "", "  ")
    if not any(trial.of(arm, WHOLE, "held_ms").any() for arm in AGAINST):
        yield from wrapped(
            "No gate held anything back: all budgets were above what was asked for, so they change nothing."
        )
    yield from wrapped(
        f"P95 and P99 of TTFT, means ± 95 %. {len(trial.seeds)} seeds, each the same arrivals and chance in"
        f" every arm; requests of the current window; {GATES[trial.gate]}; asked for"
        f" {trial.demand:,.0f} tokens/s of {trial.total:,.0f} divided; thresholds "
        + ", ".join(f"{name} {milliseconds(ms)} ms" for name, ms in trial.thresholds_ms.items())
        + ". A model fleet: try a change on your own traffic before you trust it."
    )


def harms(trial: Trial) -> Iterator[tuple[str, str, str]]:
    """Yield every harm to a tenant: arm, tenant, and the change with its interval."""
    for arm, others in AGAINST.items():
        for tenant in trial.tenants:
            said = []
            for against in others:
                if effect(trial, arm, against, tenant, "attained") == "harms":
                    change = trial.change(arm, against, tenant, "attained")
                    low, high = change.interval()
                    said.append(
                        f"attainment {100 * change.value:+.1f} points against {TITLES[against]}"
                        f" ({100 * low:+.1f} to {100 * high:+.1f})"
                    )
            if said:
                yield arm, tenant, "; ".join(said)


def estimate_of(trial: Trial, arm: str) -> Estimate:
    """Return Jain's index of an arm over seeds."""
    import numpy as np

    return estimate(np.array(trial.fairness[arm]))


def trial_object(trial: Trial, asked: Asked) -> dict[str, Any]:
    """Return the trial for `--json`."""
    return {
        "schema": "otel-attrib/trial/1",
        "scenario": asdict(asked.scenario),
        "seeds": list(trial.seeds),
        "policy": {k: v for k, v in asdict(asked.policy).items() if k != "direction"},
        "total_tokens_s": trial.total,
        "asked_tokens_s": trial.demand,
        "gate": trial.gate,
        "shares": dict(trial.shares),
        "thresholds_ms": dict(trial.thresholds_ms),
        "arms": [_arm(trial, arm) for arm in ARMS],
        "harms": [{"arm": arm, "tenant": t, "sentence": text} for arm, t, text in harms(trial)],
    }


def _arm(trial: Trial, arm: str) -> dict[str, Any]:
    return {
        "arm": arm,
        "title": TITLES[arm],
        "jain_attained": _estimated(estimate_of(trial, arm)),
        "tenants": [
            {
                "tenant": tenant,
                **{name: _estimated(estimate(trial.of(arm, tenant, name))) for name in measures_of()},
                "against": {
                    against: {
                        name: {
                            **_estimated(trial.change(arm, against, tenant, name)),
                            "effect": effect(trial, arm, against, tenant, name),
                        }
                        for name in measures_of()
                    }
                    for against in AGAINST.get(arm, ())
                },
            }
            for tenant in (*trial.tenants, WHOLE)
        ],
    }


def _estimated(found: Estimate) -> dict[str, float | None]:
    low, high = found.interval()
    numbers = {"mean": found.value, "low": low, "high": high}
    return {name: value if isfinite(value) else None for name, value in numbers.items()}


def _half(found: Estimate) -> float:
    low, high = found.interval()
    return (high - low) / 2


def _ms(found: Estimate) -> str:
    return f"{milliseconds(found.value)} ± {milliseconds(_half(found))}"
