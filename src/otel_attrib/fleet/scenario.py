"""What to simulate: one TOML file, read strictly, every field with a default.

The sections are the classes here, field by field; an unknown name is refused with the file and the place.
A fault's `where` is `fleet`, `node:node-0`, `gpu:node-0/GPU-1`, `replica:3` or `tenant:chat`.
"""

from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

from otel_attrib.analytics.windows import parse_time
from otel_attrib.errors import UsageError
from otel_attrib.fleet.bounds import check_record, shown

__all__ = ["Decoy", "Fault", "Fleet", "Scenario", "Sensors", "Shift", "Windows", "Workload", "scenario_of"]


@dataclass(frozen=True, slots=True)
class Fleet:
    """The machines and the engine's settings; `kv_blocks = 0` means what the card's memory leaves."""

    nodes: int = 2
    gpus_per_node: int = 4
    card: str = "h100_sxm"
    model: str | list[str] = "llama-3.1-8b"
    tp: int = 1
    max_num_seqs: int = 128
    token_budget: int = 2048
    kv_blocks: int = 0
    block_size: int = 16
    hit_rate: float = 0.7
    host_cache_share: float = 0.0
    cores: int = 96
    compute_efficiency: float = 0.0
    memory_efficiency: float = 0.0
    service: str = "model-fleet"
    engine: str = "vllm"
    version: str = "v1"
    next_version: str = "v2"


@dataclass(frozen=True, slots=True)
class Workload:
    """Who asks for what: lengths from a recorded source, scaled to a mean; `rate = 0` means from `load`.

    `reuse` scales how much of a prompt the prefix cache may hold.
    """

    source: str = "mooncake"
    arrivals: str = "gamma"
    cv: float = 1.3
    rate: float = 0.0
    load: float = 0.6
    prompt_mean: float = 1200.0
    prompt_most: int = 6000
    output_mean: float = 60.0
    output_most: int = 400
    reuse: float = 1.0
    tenants: dict[str, float] = field(default_factory=lambda: {"chat": 0.5, "agent": 0.3, "batch": 0.2})


@dataclass(frozen=True, slots=True)
class Windows:
    """The two stretches, in seconds; `requests` above 0 sets both lengths by their number of requests."""

    start: str = "2026-05-01T12:00:00Z"
    warmup: float = 20.0
    baseline: float = 300.0
    current: float = 300.0
    requests: int = 0


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault; `start` and `end` are shares of the current window (`end = 0`: to its end)."""

    kind: str
    severity: float = 2.0
    where: str = ""
    start: float = 0.0
    end: float = 0.0


@dataclass(frozen=True, slots=True)
class Shift:
    """A change of the workload, which is no fault; `amount` is how strong."""

    kind: str = "none"
    amount: float = 1.0
    where: str = ""
    start: float = 0.0
    end: float = 0.0


@dataclass(frozen=True, slots=True)
class Decoy:
    """A counter that moves without any effect on latency, or a fault of the sensors."""

    kind: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Sensors:
    """How the counters are read: every `interval` seconds, with relative `noise`; some not at all.

    `missing` names counters, or layers for all of theirs; `skew` is the seconds by which the samples' clock
    is ahead on the nodes in `skewed`. With `timeline` every gap between tokens is kept.
    """

    interval: float = 1.0
    noise: float = 0.01
    missing: list[str] = field(default_factory=list)
    skew: float = 0.0
    skewed: list[str] = field(default_factory=list)
    timeline: bool = False


@dataclass(frozen=True, slots=True)
class Scenario:
    """All of it."""

    name: str
    title: str = ""
    fleet: Fleet = field(default_factory=Fleet)
    workload: Workload = field(default_factory=Workload)
    windows: Windows = field(default_factory=Windows)
    faults: tuple[Fault, ...] = ()
    shift: Shift = field(default_factory=Shift)
    decoys: tuple[Decoy, ...] = ()
    sensors: Sensors = field(default_factory=Sensors)

    @property
    def devices(self) -> int:
        """Return the number of cards."""
        return self.fleet.nodes * self.fleet.gpus_per_node

    @property
    def replicas(self) -> int:
        """Return the number of engines."""
        return self.devices // self.fleet.tp

    @property
    def models(self) -> list[str]:
        """Return the models; replica i serves the i-th, counted round."""
        return [self.fleet.model] if isinstance(self.fleet.model, str) else list(self.fleet.model)

    @property
    def starts(self) -> datetime:
        """Return when the baseline starts."""
        return parse_time(self.windows.start)

    def without_faults(self) -> "Scenario":
        """Return the same without its faults; decoys and shifts stay."""
        return replace(self, faults=())


_TABLES: dict[str, type] = {
    "fleet": Fleet,
    "workload": Workload,
    "windows": Windows,
    "shift": Shift,
    "sensors": Sensors,
}
_LISTS: dict[str, tuple[str, type]] = {"fault": ("faults", Fault), "decoy": ("decoys", Decoy)}


def scenario_of(name: str, said: dict[str, Any], place: str) -> Scenario:
    """Build a scenario from parsed TOML; UsageError names `place` and what is wrong there."""
    parts: dict[str, Any] = {"name": name}
    for key, value in said.items():
        if key == "title":
            parts[key] = str(value)
        elif key in _TABLES:
            parts[key] = _record(_TABLES[key], value, f"{place}: [{key}]")
        elif key in _LISTS:
            target, kind = _LISTS[key]
            if not isinstance(value, list):
                raise UsageError(f"{place}: write [[{key}]], there may be several")
            parts[target] = tuple(
                _record(kind, entry, f"{place}: [[{key}]] {number}") for number, entry in enumerate(value, 1)
            )
        else:
            known = ", ".join(("title", *_TABLES, *_LISTS))
            raise UsageError(f"{place}: unknown section {key!r}; there are {known}")
    return Scenario(**parts)


def _record(kind: type, said: object, place: str) -> Any:
    """Fill one class from one table; every name and type is checked."""
    if not isinstance(said, dict):
        raise UsageError(f"{place} must be a table")
    known = {entry.name: entry for entry in fields(kind)}
    for name, value in said.items():
        if name not in known:
            raise UsageError(f"{place}: unknown field {name!r}; there are {', '.join(known)}")
        if not _fits(str(known[name].type), value):
            raise UsageError(f"{place}: {name} = {shown(value)} must be {_said(str(known[name].type))}")
    check_record(kind.__name__, said, place)
    try:
        return kind(
            **{name: float(value) if _is_float(known[name], value) else value for name, value in said.items()}
        )
    except TypeError as fault:
        raise UsageError(f"{place}: {fault}".replace(f"{kind.__name__}.__init__() ", "")) from None


def _type(kind: str) -> str:
    return kind.removeprefix("<class '").removesuffix("'>")


def _is_float(entry: Any, value: object) -> bool:
    return _type(str(entry.type)) == "float" and isinstance(value, int)


def _fits(kind: str, value: object) -> bool:
    kind = _type(kind)
    if kind == "float":
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "int":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "str":
        return isinstance(value, str)
    if kind.startswith("dict"):
        return isinstance(value, dict) and all(isinstance(share, int | float) for share in value.values())
    words = isinstance(value, list) and all(isinstance(word, str) for word in value)
    return words or (kind.startswith("str |") and isinstance(value, str))


def _said(kind: str) -> str:
    kind = _type(kind)
    return {
        "float": "a number",
        "int": "a whole number",
        "bool": "true or false",
        "str": "a text",
        "list[str]": "a list of texts",
        "str | list[str]": "a text or a list of texts",
    }.get(kind, "a table of numbers")
