"""The account of a run: what each phase looked like, what `why` said of each fault, and whether it fits."""

import textwrap
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from otel_attrib.demo.checks import ROWS, Checks, check, quantile
from otel_attrib.demo.replay import Outcome
from otel_attrib.demo.service import Answer, Service
from otel_attrib.demo.story import BASELINE, FAULTS, Phase, Story

__all__ = ["Account", "make_account"]

# `why` ends with 0, 3 or 4 when it could judge; anything else is a fault of its own.
JUDGED = (0, 3, 4)
ATTRIBUTED = 3
# Naming a cause takes 50 requests above the quantile, and a phase has 7 above its P99.
LOWER = "0.9"
NOT_FOUND = ("NO_REGRESSION", "INSUFFICIENT")
PHASE = """
SELECT count() AS requests, countIf(status != 'ok') AS not_ok, sum(preemptions) AS preemptions,
       quantileExact(0.5)(ttft_us) / 1000 AS p50, quantileExact(0.99)(ttft_us) / 1000 AS p99
FROM requests
WHERE time >= fromUnixTimestamp64Nano({from:Int64}) AND time < fromUnixTimestamp64Nano({to:Int64})
"""


@dataclass(frozen=True, slots=True)
class Account:
    """Everything that is printed at the end."""

    story: Story
    phases: tuple[tuple[Phase, dict[str, Any]], ...]
    answers: tuple[tuple[Phase, Answer], ...]
    lower: tuple[tuple[Phase, Answer], ...]
    checks: Checks

    @property
    def complaints(self) -> list[str]:
        """Say what a good run would not show."""
        missed = [
            f"`why` did not see {phase.name}: {answer.body['verdict']}"
            for phase, answer in self.answers
            if answer.body["verdict"] in NOT_FOUND
        ]
        return [*missed, *self.checks.complaints]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "schema": "otel-attrib/demo/1",
            "story": self.story.as_dict(),
            "phases": {phase.name: figures for phase, figures in self.phases},
            "why": {phase.name: answer.body for phase, answer in self.answers},
            "why_p90": {phase.name: answer.body for phase, answer in self.lower},
            "checks": asdict(self.checks),
            "complaints": self.complaints,
        }

    def render(self) -> str:
        """Return the text, in 80 columns, the answers first."""
        sections = (self._headline(), self._answers(), self._table(), self._checks())
        return "\n\n".join("\n".join(section) for section in sections) + "\n"

    def _headline(self) -> Iterator[str]:
        for phase, answer in self._told():
            yield from _headline(phase, answer)

    def _told(self) -> list[tuple[Phase, Answer]]:
        """Return each fault's answer at P99, and after it the one at P90 where that names a cause."""
        named = {phase: answer for phase, answer in self.lower if answer.code == ATTRIBUTED}
        return [
            (phase, answer)
            for phase, first in self.answers
            for answer in (first, named.get(phase))
            if answer is not None
        ]

    def _answers(self) -> Iterator[str]:
        said: set[str] = set()
        for position, (phase, answer) in enumerate(self._told()):
            yield from [""] * (position > 0)
            yield _title(f"── {phase.name}: {FAULTS[phase.name]}")
            yield f"$ {_folded(answer.command)}"
            # What each answer ends with, the definitions, is read once.
            paragraphs = [part for part in answer.text.rstrip().split("\n\n") if part not in said]
            said.update(paragraphs)
            yield from ("", "\n\n".join(paragraphs))

    def _table(self) -> Iterator[str]:
        yield _title("── What was run")
        yield f"{'':14}{'':>9}{'':>8}{'':>11}{'TTFT at the server':>22}{'client':>12}"
        yield f"{'phase':14}{'requests':>9}{'not ok':>8}{'preempted':>11}{'P50':>11}{'P99':>11}{'P99':>12}"
        for phase, seen in self.phases:
            yield (
                f"{phase.name:14}{seen['requests']:>9}{seen['not_ok']:>8}{seen['preemptions'] or 0:>11}"
                f"{_ms(seen['p50']):>11}{_ms(seen['p99']):>11}{_ms(seen['client_p99']):>12}"
            )

    def _checks(self) -> Iterator[str]:
        seen = self.checks
        yield _title("── Held against the clients' own clocks and counts")
        yield f"{seen.sent} requests sent, {seen.rows} recorded, {seen.matched} under the caller's trace id"
        if seen.worst_sum_error is not None:
            yield f"stages add up to TTFT: the worst request is off by {seen.worst_sum_error:.2%}"
        if seen.outside_p50_ms is not None and seen.outside_p99_ms is not None:
            yield (
                "client's TTFT minus the server's, never negative: "
                f"P50 {seen.outside_p50_ms:.1f}, P99 {seen.outside_p99_ms:.0f} ms"
            )
        yield from (f"NOT AS IT SHOULD BE: {complaint}" for complaint in self.complaints)


def _title(words: str) -> str:
    return f"{words} ".ljust(80, "─")


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.{1 if value < 100 else 0}f} ms"


def _headline(phase: Phase, answer: Answer) -> list[str]:
    """Return the first line of the answer, which may itself be two."""
    said = answer.text.partition(f"\n{answer.body['verdict']}: ")[0]
    return textwrap.wrap(f"{phase.name}: {' '.join(said.split())}", 80, subsequent_indent="  ")


def _folded(command: str) -> str:
    """Break a long command the way a shell takes it."""
    return command.replace(" --", " \\\n    --")


def make_account(service: Service, story: Story, outcomes: Sequence[Outcome]) -> Account:
    """Ask the service about every phase and fault of the story."""
    phases = tuple((phase, _figures(service, phase, outcomes)) for phase in story.phases)
    with ThreadPoolExecutor() as asking:
        answers, lower = (
            tuple(
                zip(story.faults, asking.map(partial(_why, service, story, more), story.faults), strict=True)
            )
            for more in ((), ("--quantile", LOWER))
        )
    return Account(story, phases, answers, lower, check(outcomes, service.rows(ROWS)))


def _figures(service: Service, phase: Phase, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    # "from" is a word of Python's, so the two parameters go in as a mapping.
    seen = service.rows(PHASE, **{"from": phase.start_ns, "to": phase.end_ns})[0]
    waited = [o.ttft_us for o in outcomes if (o.phase, o.kind) == (phase.name, "stream") and o.ttft_us]
    return {**seen, "client_p99": quantile(waited, 0.99)}


def _why(service: Service, story: Story, more: Sequence[str], phase: Phase) -> Answer:
    words = ["why", *more, "--window", _window(phase), "--baseline", _window(story.phase(BASELINE))]
    return service.ask(words, lambda code: code in JUDGED)


def _window(phase: Phase) -> str:
    ends = (datetime.fromtimestamp(ns / 1e9, UTC) for ns in (phase.start_ns, phase.end_ns))
    return "..".join(f"{end:%Y-%m-%dT%H:%M:%S}.{end.microsecond // 1000:03}Z" for end in ends)
