"""The corpus as a list: which faults, nulls and decoys, on which fleets, how strong, at which load and seed.

Every run is a scenario that `otel-attrib simulate` ships, on one of a few cards. Each seed has every fault
family once, severity and load going round so that nine seeds hold every pair; two faults at once, one that
ends by itself, faults beside a decoy and under worse sensors. Nearly half of the runs (40 % at least) have
nothing broken: shifts of the workload, decoys, worse sensors. `cross` takes all nine pairs of every family at
every seed. The frozen half is chosen by a hash of family and seed, so a run stays in its half whatever is
added.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from otel_attrib.fleet.decoys import DECOYS, decoy_named
from otel_attrib.fleet.faults import FAMILIES, Unit, family_named
from otel_attrib.fleet.scenario import Decoy, Fault, Scenario, Sensors, Windows
from otel_attrib.fleet.shipped import load_scenario

__all__ = ["FULL_REQUESTS", "LOADS", "QUICK_REQUESTS", "SEVERITIES", "Planned", "folds", "plan"]

SEVERITIES = (1.0, 2.0, 3.0)
LOADS = (0.5, 0.75, 0.9)
QUICK_REQUESTS, FULL_REQUESTS = 7_000, 20_000

SITES: dict[str, dict[str, Any]] = {
    "h100": {"card": "h100_sxm", "nodes": 3, "gpus_per_node": 2},
    "a100": {"card": "a100_sxm", "nodes": 2, "gpus_per_node": 2},
    "l40s": {"card": "l40s", "nodes": 2, "gpus_per_node": 4},
}
LINKED_SITES: dict[str, dict[str, Any]] = {
    "h100-tp4": {"card": "h100_sxm", "tp": 4, "gpus_per_node": 8},
    "h200-tp2": {"card": "h200_sxm", "tp": 2, "gpus_per_node": 4},
    "a100-tp8": {"card": "a100_sxm", "tp": 8, "gpus_per_node": 8, "nodes": 3},
}
TRAFFIC = (("mooncake", "gamma"), ("servegen", "gamma"), ("azure_code", "gamma"), ("mooncake", "trace"))
"""Where lengths are drawn from, and whether the gaps are drawn too or as recorded."""
PAIRS = (
    ("clock_throttle", "packet_loss"),
    ("pcie_width", "cpu_steal"),
    ("nvlink_inactive", "token_budget"),
    ("power_cap", "tokenizer"),
    ("rtt", "scheduler_policy"),
    ("pcie_replay_storm", "gc_pause"),
)
NULLS = (
    "null-stationary",
    "null-diurnal",
    "null-prompt-mix",
    "null-tenant-burst",
    "null-arrival-burst",
    "null-routing",
    "null-model-mix",
)
HANDICAPS = ("missing_sensors", "skewed_clock", "coarse_counters")


@dataclass(frozen=True)
class Planned:
    """One run to make; `kind` is fault, null or decoy, the last two with nothing broken."""

    family: str
    kind: str
    seed: int
    severity: float
    load: float
    site: str
    scenario: Scenario

    @property
    def name(self) -> str:
        """Return what its folder is called."""
        return f"{self.family}-s{self.seed:02d}-v{self.severity:g}-l{self.load:g}-{self.site}"

    @property
    def chance(self) -> int:
        """Return the seed of its simulation: no two runs share their requests."""
        return int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:4], "big")

    @property
    def frozen(self) -> bool:
        """Return whether it is in the test half, which nothing is ever fitted on."""
        return hashlib.sha256(f"{self.family}|{self.seed}".encode()).digest()[0] % 2 == 1


def plan(seeds: int, requests: int = FULL_REQUESTS, cross: bool = False) -> list[Planned]:
    """Return the runs of seeds 1 to `seeds`, with about `requests` in each window, in a fixed order."""
    return [run for seed in range(1, seeds + 1) for run in _Seed(seed, requests, cross).runs()]


def folds(runs: Sequence[Planned]) -> dict[str, list[Planned]]:
    """Return the calibration half by family: leave one out to fit on the rest."""
    found: dict[str, list[Planned]] = {}
    for run in runs:
        if not run.frozen:
            found.setdefault(run.family, []).append(run)
    return found


@dataclass
class _Seed:
    """The runs of one seed; `nth` counts them, so that site, severity and load go round."""

    seed: int
    requests: int
    cross: bool
    nth: int = 0

    def runs(self) -> Iterator[Planned]:
        for family in FAMILIES:
            yield from self._faults(family.name, (family.name,))
        yield from self._faults("two_faults", PAIRS[self.seed % len(PAIRS)])
        yield from self._faults("transient", (self._any(),), span=(0.2, 0.5))
        for name in HANDICAPS:
            kind = self._any()
            yield from self._faults(name, (kind,), sensors=_handicap(name, kind, self.seed))
        for decoy in (self.seed, self.seed + 5):
            yield from self._faults("beside_decoy", (self._any(),), decoy=DECOYS[decoy % len(DECOYS)].name)
        yield from self._clean()

    def _any(self) -> str:
        """Return one family after the other, another each time it is asked."""
        return FAMILIES[(7 * self.nth + 3 * self.seed) % len(FAMILIES)].name

    def _clean(self) -> Iterator[Planned]:
        for name in NULLS:
            for _ in range(2):
                yield self._run(name.removeprefix("null-").replace("-", "_"), "null", load_scenario(name))
        for decoy in DECOYS:
            base = load_scenario("nvlink-degraded" if decoy.name.startswith("nvlink") else "null-stationary")
            base = replace(base, faults=(), decoys=(Decoy(decoy.name),))
            yield self._run(f"decoy_{decoy.name}", "decoy", base)
        for name in HANDICAPS:
            base = replace(load_scenario("null-stationary"), sensors=_handicap(name, "cpu_hog", self.seed))
            yield self._run(f"{name}_only", "decoy", base)

    def _faults(
        self,
        family: str,
        kinds: tuple[str, ...],
        span: tuple[float, float] = (0.0, 0.0),
        sensors: Sensors | None = None,
        decoy: str = "",
    ) -> Iterator[Planned]:
        base = load_scenario(kinds[0].replace("_", "-"))
        faults = tuple(Fault(kind, 1.0, "", *span) for kind in kinds)
        decoys = (Decoy(decoy),) if decoy else ()
        base = replace(base, faults=faults, decoys=decoys, sensors=sensors or Sensors())
        pairs: list[tuple[float, float] | None] = [None]
        if self.cross:
            pairs = [(severity, load) for severity in SEVERITIES for load in LOADS]
        for pair in pairs:
            yield self._run(family, "fault", base, pair)

    def _run(
        self, family: str, kind: str, base: Scenario, pair: tuple[float, float] | None = None
    ) -> Planned:
        turn = self.nth + self.seed
        self.nth += 1
        severity, load = pair or (SEVERITIES[turn % 3], LOADS[(turn // 3) % 3])
        sites = LINKED_SITES if base.fleet.tp > 1 else SITES
        site = list(sites)[(turn + turn // 3) % len(sites)]
        source, arrivals = TRAFFIC[turn % len(TRAFFIC)]
        scenario = replace(
            base,
            name=family,
            fleet=replace(base.fleet, **sites[site]),
            workload=replace(base.workload, load=load, source=source, arrivals=arrivals),
            windows=Windows(requests=self.requests),
            shift=replace(base.shift, amount=base.shift.amount * severity / 2),
        )
        placed = self._placed(scenario, severity)
        return Planned(family, kind, self.seed, severity, load, site, placed)

    def _placed(self, scenario: Scenario, severity: float) -> Scenario:
        """Say where each fault and decoy acts."""
        faults = [
            replace(one, severity=severity, where=self._where(family_named(one.kind).unit, scenario))
            for one in scenario.faults
        ]
        decoys = [
            replace(one, where=self._where(decoy_named(one.kind).unit, scenario, 1))
            for one in scenario.decoys
        ]
        return replace(scenario, faults=tuple(faults), decoys=tuple(decoys))

    def _where(self, unit: Unit, scenario: Scenario, aside: int = 0) -> str:
        """Return which card, node or tenant this run breaks, or another `aside` from it."""
        turn, fleet = self.seed + self.nth + aside, scenario.fleet
        node, card = f"node-{turn % fleet.nodes}", f"GPU-{turn % fleet.gpus_per_node}"
        tenant = sorted(scenario.workload.tenants)[turn % len(scenario.workload.tenants)]
        named = {"gpu": f"gpu:{node}/{card}", "node": f"node:{node}", "tenant": f"tenant:{tenant}"}
        return named.get(unit, "fleet")


def _handicap(name: str, kind: str, seed: int) -> Sensors:
    """Return worse sensors; what is missing is the fault's own layer at every other seed."""
    if name == "missing_sensors":
        layer = family_named(kind).layer
        return Sensors(missing=[layer] if seed % 2 else ["network" if layer != "network" else "cpu"])
    return Sensors(interval=10.0) if name == "coarse_counters" else Sensors(skew=5.0, skewed=["node-0"])
