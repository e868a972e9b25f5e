"""Every method's judged runs, and what stands beside each other in the proof's tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from benchmarks.attribution import metrics
from benchmarks.attribution.outcome import Outcome, only_where
from benchmarks.attribution.peers.roster import PEERS, PRODUCT, Peer
from benchmarks.attribution.resampling import Figure

__all__ = ["Standing", "Target", "percent", "standings", "targets"]


@dataclass(frozen=True)
class Standing:
    """One method: `runs` behind the test of a rise, `asked` as it answers by itself."""

    peer: Peer
    runs: tuple[Outcome, ...]
    asked: tuple[Outcome, ...]
    missing: str = ""

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """Return its figures behind the test of a rise."""
        return metrics.figures(self.runs)

    @cached_property
    def false_unasked(self) -> Figure:
        """Return its false attributions when it is asked whether or not anything rose."""
        return metrics.false_attribution(self.asked)

    @property
    def errors(self) -> int:
        """Return how many runs it failed on."""
        return sum(bool(run.answer.error) for run in self.asked)


def standings(judged: Mapping[str, Sequence[Outcome]], missing: Mapping[str, str]) -> list[Standing]:
    """Return the product and the peers, in the roster's order, each behind the product's test of a rise."""
    rose = {run.run: bool(run.answer.detected) for run in judged[PRODUCT.module]}
    found = []
    for peer in (PRODUCT, *PEERS):
        asked = tuple(run for run in judged.get(peer.module, ()) if run.run in rose)
        runs = tuple(only_where(run, rose[run.run]) for run in asked)
        found.append(Standing(peer, runs, asked, missing.get(peer.module, "")))
    return found


@dataclass(frozen=True)
class Target:
    """One promise: what was measured against what was promised."""

    name: str
    wanted: str
    measured: str
    reached: bool | None


def targets(found: Sequence[Standing]) -> list[Target]:
    """Judge the promises on the attribution; those on detection and scale have their own measurements."""
    ours = found[0].figures
    rivals = [s for s in found[1:] if s.runs and s.figures["top1"].n]
    best = max(rivals, key=lambda s: s.figures["top1"].value, default=None)
    above = best is not None and ours["top1"].value > best.figures["top1"].value
    rival = f"{best.peer.title} {percent(best.figures['top1'].value)}" if best else "none answered"
    exact = metrics.exactness(found[0].asked)
    return [
        _at_least("top-1 layer among answered", 0.90, ours["top1"]),
        Target("… above every peer", "above the best", f"best peer: {rival}", above),
        _at_most("P(wrong given answered)", 0.05, ours["wrong"]),
        _at_most("false attribution under nulls and decoys", 0.02, ours["false"]),
        _at_most("layer L1 error / ΔP99, mean", 0.15, ours["layer_l1"]),
        _at_most("layer L1 error / ΔP99, median", 0.15, ours["layer_l1_median"]),
        Target("largest error of a sum", "≤ 1e-6 ms", f"{exact:.1e} ms", bool(exact <= 1e-6)),
    ]


def percent(value: float) -> str:
    """Write a share."""
    return "–" if value != value else f"{100 * value:.1f} %"


def _at_least(name: str, least: float, figure: Figure) -> Target:
    return Target(name, f"≥ {percent(least)}", _said(figure), figure.value >= least if figure.n else None)


def _at_most(name: str, most: float, figure: Figure) -> Target:
    return Target(name, f"≤ {percent(most)}", _said(figure), figure.value <= most if figure.n else None)


def _said(figure: Figure) -> str:
    return f"{percent(figure.value)} [{percent(figure.low)}, {percent(figure.high)}], {figure.n} runs"
