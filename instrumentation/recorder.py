"""Stamps of one request while it is served: CLOCK_MONOTONIC nanoseconds, one store per token.

Nothing is computed here. A `Timeline` is one request of a caller (one HTTP request, one SERVER
span); a `Sequence` is one list of output tokens in it (several with n > 1 or several prompts).

When a token counts as delivered: for a streamed request, when the chunk that carries it is handed
to the socket; for any other, when the engine's output with it has been processed.
"""

from array import array
from collections.abc import Sequence as Row
from contextvars import ContextVar
from time import monotonic_ns, time_ns
from typing import Any

from otel_attrib.instrumentation.facts import First, Last

__all__ = ["CURRENT", "Sequence", "Timeline"]

MOST_SEQUENCES = 1024
"""Sequences kept of one request; a beam search makes them without end."""

CURRENT: ContextVar["Timeline | None"] = ContextVar("otel_attrib_timeline", default=None)
"""The request that the running task serves."""


class Sequence:
    """One list of output tokens: when each was delivered, and what the engine told about it."""

    __slots__ = (
        "cached",
        "finish_reason",
        "finished",
        "first",
        "identity",
        "last",
        "pending",
        "prompt_tokens",
        "stamps",
        "streamed",
        "timeline",
        "tokens",
        "unwritten",
    )

    def __init__(self, timeline: "Timeline", identity: str, prompt_tokens: int, streamed: bool) -> None:
        """Belong to `timeline`; `identity` is the engine's id."""
        self.timeline = timeline
        self.identity = identity
        self.prompt_tokens = prompt_tokens
        self.streamed = streamed
        self.unwritten = timeline.unwritten if streamed else None
        self.stamps = array("q")
        self.pending = 0
        self.tokens = 0
        self.cached = -1
        self.finished = 0
        self.finish_reason = ""
        self.first: First | None = None
        self.last: Last | None = None

    def took(self, now: int, count: int) -> None:
        """Take `count` new tokens from the engine at `now`."""
        self.tokens += count
        unwritten = self.unwritten
        if unwritten is not None:
            if not self.pending:
                unwritten.append(self)
            self.pending += count
        elif count == 1:
            self.stamps.append(now)
        else:
            self.stamps.extend([now] * count)

    def finish(self, now: int, reason: str) -> None:
        """The engine has ended this sequence."""
        self.finished = now
        self.finish_reason = reason


class Timeline:
    """One request of a caller, from its arrival to its last byte."""

    __slots__ = (
        "arrived",
        "disconnected",
        "ended",
        "error",
        "external_id",
        "headers",
        "ids",
        "max_tokens",
        "model",
        "operation",
        "path",
        "scope",
        "sequences",
        "status_code",
        "stream",
        "submitted",
        "tokenize_end",
        "tokenize_start",
        "unwritten",
        "wall",
    )

    def __init__(self, operation: str = "", path: str = "", headers: Row[tuple[bytes, bytes]] = ()) -> None:
        """Start now; `headers` are kept as they came and read after the request."""
        self.arrived = monotonic_ns()
        self.wall = time_ns()
        self.operation = operation
        self.path = path
        self.headers = headers
        self.scope: Any = None
        self.ids: tuple[int, int] | None = None
        self.tokenize_start = 0
        self.tokenize_end = 0
        self.submitted = 0
        self.ended = 0
        self.status_code = 0
        self.disconnected = False
        self.error = ""
        self.external_id = ""
        self.model = ""
        self.max_tokens = 0
        self.stream = False
        self.sequences: list[Sequence] = []
        self.unwritten: list[Sequence] = []

    def add(self, identity: str, prompt_tokens: int, streamed: bool) -> Sequence | None:
        """Begin one more sequence, given to the engine now."""
        if len(self.sequences) >= MOST_SEQUENCES:
            return None
        self.submitted = self.submitted or monotonic_ns()
        sequence = Sequence(self, identity, prompt_tokens, streamed)
        self.sequences.append(sequence)
        return sequence

    def tokenizing(self) -> None:
        """The template and the tokenizer start (a second prompt of the request keeps the first start)."""
        self.tokenize_start = self.tokenize_start or monotonic_ns()

    def tokenized(self) -> None:
        """The tokenizer is through."""
        self.tokenize_end = monotonic_ns()

    def wrote(self) -> None:
        """A chunk goes to the socket: every token taken and not yet delivered is delivered with it."""
        now = monotonic_ns()
        for sequence in self.unwritten:
            if sequence.pending == 1:
                sequence.stamps.append(now)
            else:
                sequence.stamps.extend([now] * sequence.pending)
            sequence.pending = 0
        self.unwritten.clear()

    def end(self) -> None:
        """The last byte is out, or the request has failed; the first call counts."""
        self.ended = self.ended or monotonic_ns()

    def leader(self) -> Sequence | None:
        """The sequence whose first token was delivered first."""
        begun = [sequence for sequence in self.sequences if sequence.stamps]
        return min(begun, key=lambda sequence: sequence.stamps[0], default=None)
