"""A simulated request as the recorder would have stamped it, and a step as its log would have kept it.

The shims' own code then takes them apart (`attributes_of`, `StepLog`), so that a simulated span carries what
a real engine's does, by the same arithmetic.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from otel_attrib.analytics.columns import Ints
from otel_attrib.fleet.engine import Run, kernel
from otel_attrib.fleet.scenario import Scenario
from otel_attrib.instrumentation.clock import clock_id
from otel_attrib.instrumentation.facts import First, Last
from otel_attrib.instrumentation.recorder import Sequence, Timeline
from otel_attrib.instrumentation.steps import Row, Slice, StepLog

__all__ = ["Replayed", "slices"]

_ORIGIN = 10**12  # monotonic ns at the run's start: any number above zero


def _ns(seconds: Any) -> Ints:
    found: Ints = _ORIGIN + np.rint(np.asarray(seconds) * 1e9).astype(np.int64)
    return found


def _length(seconds: Any) -> Ints:
    found: Ints = np.rint(np.asarray(seconds) * 1e9).astype(np.int64)
    return found


@dataclass(frozen=True)
class Replayed:
    """The stamps of a whole run in integer ns; `timeline` makes one request's of them."""

    scenario: Scenario
    arrived: Ints
    tokenize: Ints
    queued: Ints
    first: Ints
    last: Ints
    delivered: Ints
    offsets: Ints
    parts: dict[str, Ints]
    counts: dict[str, Ints]
    tenants: list[str]
    requests: Any

    @classmethod
    def of(cls, scenario: Scenario, run: Run) -> "Replayed":
        """Turn the run's seconds into stamps."""
        served = dict(zip(kernel().REQUEST, run.served.T, strict=True))
        lengths = ("kv", "prefill", "sample", "forward_sum", "sample_sum", "output_sum")
        whole = (
            "chunks",
            "first_step",
            "last_step",
            "preemptions",
            "batch_sum",
            "batch_steps",
            "waiting_max",
        )
        counts = {name: served[name].astype(np.int64) for name in whole}
        return cls(
            scenario,
            _ns(run.requests.arrival),
            _length(run.tokenize),
            _ns(run.queued),
            _ns(served["first"]),
            _ns(served["last"]),
            _ns(run.delivered),
            run.offsets,
            {name: _length(served[name]) for name in lengths},
            counts
            | {
                "kv_ppm": np.rint(served["kv_max"] * 1e6).astype(np.int64),
                "cached": served["cached"].astype(np.int64),
            },
            list(scenario.workload.tenants),
            run.requests,
        )

    def timeline(self, number: int, identity: str, wall: int) -> Timeline:
        """Return the request's timeline, placed at `wall` ns since 1970."""
        requests = self.requests
        tenant = self.tenants[int(requests.tenant[number])].encode()
        found = Timeline("chat", "/v1/chat/completions", ((b"x-slatag-tenant", tenant),))
        found.arrived, found.wall = int(self.arrived[number]), wall
        found.submitted = int(self.queued[number])
        found.tokenize_end = found.submitted
        found.tokenize_start = found.submitted - int(self.tokenize[number])
        found.status_code, found.stream, found.external_id = 200, True, identity
        found.model = self.scenario.models[int(requests.model[number])]
        found.max_tokens = int(requests.output[number])
        sequence = found.add(identity, int(requests.prompt[number]), streamed=True)
        assert sequence is not None
        self._tokens(sequence, number)
        found.ended = sequence.stamps[-1]
        return found

    def _tokens(self, sequence: Sequence, number: int) -> None:
        start, end = int(self.offsets[number]), int(self.offsets[number + 1])
        sequence.stamps = array("q", self.delivered[start:end].tolist())
        sequence.tokens = end - start
        sequence.cached = int(self.counts["cached"][number])
        sequence.finish(sequence.stamps[-1], "stop")
        sequence.first, sequence.last = self._first(number), self._last(number) if end - start > 1 else None

    def _first(self, number: int) -> First:
        part, count = self.parts, self.counts
        return First(
            clock=clock_id(),
            replica=int(self.requests.replica[number]),
            received=int(self.queued[number]),
            done=int(self.first[number]),
            kv=int(part["kv"][number]),
            prefill=int(part["prefill"][number]),
            sample=int(part["sample"][number]),
            chunks=int(count["chunks"][number]),
            step=int(count["first_step"][number]),
            preemptions=int(count["preemptions"][number]),
            waiting_max=int(count["waiting_max"][number]),
            kv_usage_max_ppm=int(count["kv_ppm"][number]),
        )

    def _last(self, number: int) -> Last:
        part, count = self.parts, self.counts
        return Last(
            done=int(self.last[number]),
            forward=int(part["forward_sum"][number]),
            sample=int(part["sample_sum"][number]),
            output=int(part["output_sum"][number]),
            step=int(count["last_step"][number]),
            batch_sum=int(count["batch_sum"][number]),
            batch_steps=int(count["batch_steps"][number]),
            preemptions=int(count["preemptions"][number]),
            waiting_max=int(count["waiting_max"][number]),
            kv_usage_max_ppm=int(count["kv_ppm"][number]),
        )


def slices(run: Run, replica: int) -> Iterator[Slice]:
    """Pack one replica's steps as its engine process would; stamps count from the run's start, in ns."""
    column = kernel().STEP.index
    steps = run.steps[run.replica == replica]
    whole = ("batch", "prefill_tokens", "decode_tokens", "waiting", "running", "preemptions")
    times = {name: steps[:, column(name)] for name in ("schedule", "forward", "sample")}
    times["collective"] = steps[:, column("collective")] + steps[:, column("rank_wait")]
    times |= {name: steps[:, column(name)] for name in ("copy", "output")}
    table = [
        np.arange(len(steps)),
        *(_length(steps[:, column(name)]) for name in ("start", "duration")),
        *(steps[:, column(name)].astype(np.int64) for name in whole),
        np.rint(steps[:, column("kv_usage")] * 1e6).astype(np.int64),
        *(_length(seconds) for seconds in times.values()),
    ]
    log = StepLog(most=len(steps))
    for row in np.column_stack(table).tolist():
        log.append(_row(row))
    yield from log.take()


def _row(values: list[int]) -> Row:
    return tuple(values)  # type: ignore[return-value] # sixteen whole numbers
