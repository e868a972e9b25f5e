"""The reference page of scenarios: every field with its default, every fault, shift and decoy.

Run as a module it prints the page, which is how `docs/reference/scenarios.md` is made.
"""

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from typing import Any, Final

from otel_attrib.fleet.cards import card_named
from otel_attrib.fleet.decoys import DECOYS
from otel_attrib.fleet.faults import FAMILIES
from otel_attrib.fleet.scenario import Decoy, Fault, Fleet, Sensors, Shift, Windows, Workload
from otel_attrib.fleet.shifts import SHIFTS
from otel_attrib.fleet.shipped import shipped
from otel_attrib.fleet.terms import TERMS

__all__ = ["MEANINGS", "page"]

_SECTIONS: Final[dict[str, type]] = {
    "[fleet]": Fleet,
    "[workload]": Workload,
    "[windows]": Windows,
    "[[fault]]": Fault,
    "[shift]": Shift,
    "[[decoy]]": Decoy,
    "[sensors]": Sensors,
}

MEANINGS: Final = {
    "Fleet": {
        "nodes": "machines, called `node-0`, `node-1`, …",
        "gpus_per_node": "cards of each, called `GPU-0`, `GPU-1`, …",
        "card": "a name in `fleet/data/cards.toml`",
        "model": "a model, or a list of them that the engines serve in turn",
        "tp": "cards of one engine (tensor parallelism)",
        "max_num_seqs": "requests that an engine runs at once",
        "token_budget": "tokens that one step computes at most",
        "kv_blocks": "KV blocks of an engine; 0: what the memory leaves",
        "block_size": "tokens of one KV block",
        "hit_rate": "share of requests whose known prefix is still cached",
        "host_cache_share": "share of cached prefixes that lie in host memory and are copied over PCIe",
        "cores": "CPU cores of a node",
        "compute_efficiency": "share of the peak FLOP/s that is reached; 0: the card's",
        "memory_efficiency": "share of the memory bandwidth that is reached; 0: the card's",
        "service": "`service` of the requests",
        "engine": "`engine` of the requests",
        "version": "`version` before a deploy",
        "next_version": "`version` after it",
    },
    "Workload": {
        "source": "lengths: `mooncake`, `azure_code`, `servegen` (recorded), or `lognormal`",
        "arrivals": "`poisson`, `gamma` (of variation `cv`), or `trace` (the source's own gaps)",
        "cv": "coefficient of variation of the gaps under `gamma`",
        "rate": "requests per second; 0: from `load`",
        "load": "share of the requests per second that the fleet can serve",
        "prompt_mean": "mean prompt tokens, to which the source is scaled",
        "prompt_most": "longer prompts are cut",
        "output_mean": "mean output tokens, to which the source is scaled",
        "output_most": "longer outputs are cut",
        "tenants": "tenants and their shares",
        "reuse": "scales how much of a prompt the prefix cache may hold",
    },
    "Windows": {
        "start": "when the baseline starts",
        "warmup": "seconds before it, in neither window",
        "baseline": "seconds",
        "current": "seconds, right after the baseline",
        "requests": "above 0: both windows are as long as this many requests take",
    },
    "Fault": {
        "kind": "one of the kinds below",
        "severity": "1, 2, 3 or between",
        "where": "`fleet`, `node:node-0`, `gpu:node-0/GPU-1`, `replica:0` or `tenant:chat`; empty: what the"
        " kind hits",
        "start": "share of the current window after which it begins",
        "end": "share of the current window after which it is over; 0: it stays",
    },
    "Shift": {
        "kind": "one of the kinds below",
        "amount": "how strong",
        "where": "the node or tenant, where the kind has one",
        "start": "share of the current window after which it begins",
        "end": "share of the current window after which it is over; 0: it stays",
    },
    "Decoy": {"kind": "one of the kinds below", "where": "as for a fault"},
    "Sensors": {
        "interval": "seconds between two readings",
        "noise": "relative noise of a gauge",
        "missing": "counters that are not read, by key, or layers for all of theirs",
        "skew": "seconds by which the readings' clock is ahead on the nodes in `skewed`",
        "skewed": "those nodes",
        "timeline": "keep every gap between tokens, not a sketch of them",
    },
}
"""Class → field → what it holds."""


def page() -> str:
    """Return the page as Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield from ("# Scenarios", "", "<!-- Generated from fleet/page.py by `make docs`; do not edit. -->", "")
    yield "What `otel-attrib simulate` reads: TOML, nearly every field with a default."
    yield "How to use it and what the model is: [simulating a fleet](../simulate.md)."
    for section, kind in _SECTIONS.items():
        yield from ("", f"## `{section}`", "", "| field | default | what it holds |", "| --- | --- | --- |")
        for entry in fields(kind):
            yield f"| `{entry.name}` | {_default(entry)} | {MEANINGS[kind.__name__][entry.name]} |"
        yield from _KINDS.get(section, lambda: iter(()))()
    yield from ("", "## Scenarios that come with it", "", "| name | what happens |", "| --- | --- |")
    for name, title in shipped().items():
        yield f"| `{name}` | {title} |"


def _default(entry: "Field[Any]") -> str:
    if entry.default is not MISSING:
        return "" if entry.default == "" else f"`{_toml(entry.default)}`"
    return f"`{_toml(entry.default_factory())}`" if entry.default_factory is not MISSING else "needed"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_toml(share)}" for name, share in value.items()) + " }"
    return (
        f'"{value}"' if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)
    )


def _faults() -> Iterator[str]:
    yield from ("", "| kind | layer | hits | what happens | at severity 1, 2, 3 on an H100 |")
    yield "| --- | --- | --- | --- | --- |"
    for family in FAMILIES:
        cells = (f"`{family.name}`", family.layer, family.unit, family.meaning, _effects(family.effects))
        yield f"| {' | '.join(cells)} |"


def _effects(effects: Any) -> str:
    """Say what becomes of each term at the three severities."""
    card = card_named("h100_sxm")
    mild, middle, severe = (effects(severity, card) for severity in (1.0, 2.0, 3.0))
    said = []
    for name in mild:
        values = [f"{found[name]:.3g}" for found in (mild, middle, severe)]
        said.append(f"{name} {values[0] if len(set(values)) == 1 else ', '.join(values)}")
    return "; ".join(said)


def _shifts() -> Iterator[str]:
    yield from ("", "| kind | line | what happens |", "| --- | --- | --- |")
    for name, kind in SHIFTS.items():
        yield f"| `{name}` | {kind.line} | {kind.meaning} |"


def _decoys() -> Iterator[str]:
    yield from ("", "| kind | on | what the counters show |", "| --- | --- | --- |")
    for kind in DECOYS:
        yield f"| `{kind.name}` | {kind.unit} | {kind.meaning} |"


def _terms() -> Iterator[str]:
    yield from _faults()
    yield from ("", "The terms:", "", "| term | as it should be | what it is |", "| --- | --- | --- |")
    for term in TERMS:
        yield f"| `{term.name}` | {term.neutral:g} | {term.meaning} |"
    yield "| `slow` | 0 | mean seconds that a tenant's reader holds back each token |"


_KINDS: Final = {"[[fault]]": _terms, "[shift]": _shifts, "[[decoy]]": _decoys}


if __name__ == "__main__":
    print(page(), end="")
