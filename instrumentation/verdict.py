"""Whether spans arrive, from what a server's processes have told so far: pure, one line at a time."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["PATIENCE", "Watch", "explain", "read_facts"]

Fact = Mapping[str, Any]

PATIENCE = 10.0
"""Seconds after the first request by which the verdict is given."""

LOADING = 300.0
"""Seconds after which a server without a single loaded plugin is worth a line."""


def read_facts(folder: Path) -> list[Fact]:
    """Every fact told in `folder`, by time; a line that is being written is left for later."""
    facts: list[Fact] = []
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            try:
                facts.append(json.loads(line))
            except ValueError:
                continue
    return sorted(facts, key=lambda fact: float(fact["time"]))


@dataclass(slots=True)
class Watch:
    """Says each thing once; `lines(facts, now)` yields what is new."""

    started: float
    endpoint: str
    said: set[str] = field(default_factory=set)

    def lines(self, facts: Sequence[Fact], now: float) -> Iterator[str]:
        """Yield the new lines for the user."""
        for fact in facts:
            if fact["event"] == "plugin" and not fact["enabled"]:
                yield from self._once(f"not instrumented: {fact['reason']}")
            elif fact["event"] == "hook off":
                yield from self._once(f"one hook is off: {fact['reason']}")
        yield from self._arrival(facts, now)
        if not any(fact["event"] == "plugin" for fact in facts) and now - self.started > LOADING:
            yield from self._once(
                f"no process has loaded the plugin in {LOADING:.0f} s: is the command a vLLM server,"
                " and does VLLM_PLUGINS allow otel_attrib?"
            )

    def _arrival(self, facts: Sequence[Fact], now: float) -> Iterator[str]:
        requests = [fact for fact in facts if fact["event"] == "request"]
        if not requests:
            yield from self._unfinished(facts, now)
            return
        first = float(requests[0]["time"])
        pids = {fact["pid"] for fact in requests}
        sent = [fact for fact in facts if fact["event"] == "exported" and fact["pid"] in pids]
        if sent:
            delay = float(sent[0]["time"]) - first
            line = f"spans arrive at {sent[0]['endpoint']}, {delay:.1f} s after the first request ended"
            yield from self._once(line, "arrive")
        elif now - first >= PATIENCE or _failed(facts):
            yield from self._once(f"spans do NOT arrive: {self._why(facts)}", "no")

    def _unfinished(self, facts: Sequence[Fact], now: float) -> Iterator[str]:
        """The engine computes, but no request has ended yet."""
        begun = [float(fact["time"]) for fact in facts if fact["event"] == "engine"]
        if not begun or now - begun[0] < PATIENCE:
            return
        if any(fact["event"] == "server" for fact in facts):
            yield from self._once("the first request still runs; its span is sent when it ends")
        else:
            yield from self._once(
                "spans do NOT arrive: the engine serves requests, but no API server process has loaded"
                " the plugin (a front end that is not Python?)",
                "no",
            )

    def _why(self, facts: Sequence[Fact]) -> str:
        complaints = [fact for fact in facts if fact["event"] in ("failed", "trouble") and fact["reason"]]
        if complaints:
            return explain(str(complaints[-1]["reason"]), self.endpoint)
        if any(fact["event"] == "provider" for fact in facts):
            return "they are handed to a TracerProvider that the server set up itself; look at its exporter"
        return f"nothing was exported to {self.endpoint} yet; does OTEL_TRACES_SAMPLER forbid it?"

    def _once(self, line: str, key: str | None = None) -> Iterator[str]:
        if (key or line) not in self.said:
            self.said.add(key or line)
            yield line


def _failed(facts: Sequence[Fact]) -> bool:
    return any(fact["event"] == "failed" for fact in facts)


def explain(reason: str, endpoint: str) -> str:
    """Shorten an exporter's complaint to its cause."""
    known = {
        "Connection refused": f"nothing listens at {endpoint}; start it with: otel-attrib up",
        "UNAVAILABLE": f"{endpoint} cannot be reached; is `otel-attrib up` running?",
        "UNAUTHENTICATED": f"{endpoint} asks for a valid token; set OTEL_EXPORTER_OTLP_HEADERS",
        "Unauthorized": f"{endpoint} asks for a valid token; set OTEL_EXPORTER_OTLP_HEADERS",
        "PERMISSION_DENIED": f"{endpoint} refuses this token",
        "UNIMPLEMENTED": f"{endpoint} is no OTLP/gRPC receiver; is it the HTTP port?",
        "DEADLINE_EXCEEDED": f"{endpoint} did not answer in time",
    }
    return next((text for word, text in known.items() if word in reason), f"{endpoint}: {reason}")
