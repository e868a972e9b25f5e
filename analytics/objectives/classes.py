"""What a class of requests was promised, and what may be done for it: annotations of an SLO.

otel-attrib.dev/class: gold
otel-attrib.dev/baseline-ms: "120"       the P99 that the class is promised
otel-attrib.dev/buffer-ms: "15"          how far it may move before anything is done
otel-attrib.dev/actions: guaranteed-bandwidth, pinned-cpus
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from otel_attrib.analytics.objectives.node import Node

__all__ = ["PREFIX", "Promise", "promise_of"]

PREFIX = "otel-attrib.dev/"
"""What our annotations begin with; others are left alone."""

KNOWN = ("class", "baseline-ms", "buffer-ms", "actions")
WORD = re.compile(r"[a-z0-9][a-z0-9-]*")


@dataclass(frozen=True, slots=True)
class Promise:
    """A class as its annotations say it; None where they do not."""

    sla_class: str
    baseline_ms: float | None
    buffer_ms: float | None
    actions: tuple[str, ...]


def promise_of(annotations: Mapping[str, Node]) -> Promise:
    """Read our annotations."""
    ours = {name.removeprefix(PREFIX): node for name, node in annotations.items() if name.startswith(PREFIX)}
    for name, node in ours.items():
        if name not in KNOWN:
            node.fail(f"no annotation {PREFIX}{name}; {PREFIX} is followed by {', '.join(KNOWN)}")
    return Promise(
        ours["class"].text() if "class" in ours else "",
        _ms(ours.get("baseline-ms")),
        _ms(ours.get("buffer-ms")),
        _actions(ours.get("actions")),
    )


def _ms(node: Node | None) -> float | None:
    if node is None:
        return None
    ms = node.number()
    if not 0 < ms < 1e9:
        node.fail(f"{node.text()} is no time; write milliseconds above 0, such as 120")
    return ms


def _actions(node: Node | None) -> tuple[str, ...]:
    if node is None:
        return ()
    words = tuple(word.strip() for word in node.text().split(","))
    for word in words:
        if WORD.fullmatch(word) is None:
            node.fail(f"{word!r} is no action; write words such as pinned-cpus, with commas between")
    return words
