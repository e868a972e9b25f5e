"""What the stamps of one request say, subtracting inside one clock only.

ingress = queued − arrival (all before the queue: a table has no stamp after tokenising),
queue = scheduled − queued, prefill = first token − scheduled (KV set-up and sampling in it),
outside = TTFT − those. TTFT and E2E start at the arrival; where that is on another clock, or not
in the table, they start at `queued` and say so. What would cross two clocks is None.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from otel_attrib.collector.imports.clocks import Clock, clock_of
from otel_attrib.collector.imports.mapping import STAMPS

__all__ = ["Durations", "Origin", "durations", "misordered", "origin_of"]

Origin = Literal["arrival", "queued", ""]

_STAGES: Final = {
    "ingress": ("arrival", "queued"),
    "queue": ("queued", "scheduled"),
    "prefill": ("scheduled", "first_token"),
}


@dataclass(frozen=True, slots=True)
class Durations:
    """µs, None where not observed; `stages` holds only observed ones, `last_stage` is empty if unknown.

    `decode` is per output token after the first, and only where a table says it itself.
    """

    ttft_us: float | None
    e2e_us: float | None
    tpot_us: float | None
    stages: Mapping[str, float]
    last_stage: str
    decode: Mapping[str, float] = field(default_factory=dict)


def origin_of(stamps: Sequence[str], clocks: Sequence[Clock], wanted: str = "auto") -> Origin:
    """Where TTFT starts in this table; empty when it cannot be measured inside one clock."""
    ends = {clock_of(stamp, clocks) for stamp in ("first_token", "last_token") if stamp in stamps}
    starts: tuple[Origin, ...] = ("arrival", "queued")
    fitting = (start for start in starts if start in stamps and clock_of(start, clocks) in ends)
    return next((start for start in fitting if wanted in ("auto", start)), "")


def durations(
    at: Mapping[str, int], clocks: Sequence[Clock], origin: Origin, output_tokens: int | None
) -> Durations:
    """Measure one request; `at` holds its stamps in ns, each of its own clock."""

    def between(start: str, end: str) -> int | None:
        same = clock_of(start, clocks) == clock_of(end, clocks)
        return at[end] - at[start] if same and start in at and end in at else None

    ttft = between(origin, "first_token")
    spans = {name: between(*ends) for name, ends in _STAGES.items()}
    stages = {name: ns for name, ns in spans.items() if ns is not None}
    if origin == "queued":
        stages.pop("ingress", None)
    if ttft is not None:
        stages["outside"] = ttft - sum(stages.values())  # in whole ns, so 0 is 0
    tokens = output_tokens or 0
    decode = between("first_token", "last_token")
    return Durations(
        ttft_us=_us(ttft),
        e2e_us=_us(between(origin, "last_token")),
        tpot_us=None if decode is None or tokens < 2 else decode / 1e3 / (tokens - 1),
        stages={name: ns / 1e3 for name, ns in stages.items()},
        last_stage=_last_stage(at, clocks),
    )


def _us(ns: int | None) -> float | None:
    return None if ns is None else ns / 1e3


def _last_stage(at: Mapping[str, int], clocks: Sequence[Clock]) -> str:
    """The last stage reached; empty where the table does not tell the end of a request."""
    if "first_token" in at or "last_token" in at:
        return "egress"
    if clock_of("first_token", clocks) is None and clock_of("last_token", clocks) is None:
        return ""
    return "prefill" if "scheduled" in at else "queue" if "queued" in at else "ingress"


def misordered(at: Mapping[str, int], clocks: Sequence[Clock]) -> str | None:
    """Say which two stamps of one clock stand in the wrong order; None when none do."""
    for clock in clocks:
        present = [stamp for stamp in STAMPS if stamp in clock.stamps and stamp in at]
        for earlier, later in zip(present, present[1:], strict=False):
            if at[later] < at[earlier]:
                return f"{later} is {(at[earlier] - at[later]) / 1e6:,.3f} ms before {earlier}"
    return None
