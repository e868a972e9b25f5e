"""The labelled corpus: planned runs made once by the model fleet and kept as Parquet, their truth apart.

    python -m benchmarks.attribution.corpus --seeds 2 --requests 7000 [--runs N] [--build DIR]

Two processes make them; what is there already is kept, so a stopped run goes on. The folder's name holds a
hash of the fleet, of the plan and of this file: a changed fleet makes a new corpus beside the old one.
"""

import argparse
import hashlib
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.attribution.case import Truth, read_truth, write_case, write_truth
from benchmarks.attribution.plan import FULL_REQUESTS, Planned, plan
from otel_attrib.fleet import faults
from otel_attrib.fleet.simulation import Simulation, simulate

__all__ = ["BUILD", "Corpus", "truth_of"]

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build/attribution"
FAINT_RELATIVE, FAINT_MS = 0.05, 5.0
BESIDE = 0.2  # a second fault with less than this share of the first one's ms is not asked for


@dataclass(frozen=True)
class Corpus:
    """The runs of a plan on disk, under a folder of their own for each size and version of the fleet."""

    build: Path
    requests: int

    @cached_property
    def folder(self) -> Path:
        """Return where the runs of this fleet and size lie."""
        return self.build / f"runs-{self.requests}-{_fleet_hash()}"

    def case(self, run: Planned) -> Path:
        """Return the folder of a run, which holds no truth."""
        return self.folder / "corpus" / run.name

    def truth(self, run: Planned) -> Truth:
        """Return what is true of a run."""
        return read_truth(self._truth_path(run))

    def _truth_path(self, run: Planned) -> Path:
        return self.folder / "truth" / f"{run.name}.json"

    def there(self, run: Planned) -> bool:
        """Return whether a run is whole on disk."""
        return (self.case(run) / "run.json").exists() and self._truth_path(run).exists()

    def make(self, runs: Sequence[Planned], processes: int = 2) -> None:
        """Make the runs that are not there; progress goes to standard error."""
        missing = [run for run in runs if not self.there(run)]
        if not missing:
            return
        began = time.perf_counter()
        with ProcessPoolExecutor(processes) as pool:
            for nth, _ in enumerate(pool.map(self.make_one, missing, chunksize=4), 1):
                pace = (time.perf_counter() - began) / nth
                left = pace * (len(missing) - nth)
                text = f"\r  runs: {nth}/{len(missing)}, {pace:.1f} s each, {left / 60:.0f} min left\x1b[K"
                print(text, end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)

    def make_one(self, run: Planned) -> str:
        """Simulate one run and write it; the truth first, so that a whole case has one."""
        made = simulate(run.scenario, run.chance)
        write_truth(self._truth_path(run), truth_of(made, run))
        tables = {
            "requests": made.requests,
            "steps": made.steps,
            "samples": made.samples,
            "marks": made.marks,
        }
        write_case(self.case(run), tables, made.windows)
        return run.name


def truth_of(made: Simulation, run: Planned) -> Truth:
    """Return the truth in the proof's words: which layers were broken, and by how much the quantile rose."""
    found = made.truth
    largest = max(found.layers.values(), default=0.0)
    least = max(FAINT_RELATIVE * found.before_ms, FAINT_MS)
    layers = sorted(found.layers, key=lambda layer: (-found.layers[layer], layer))
    faint = bool(layers) and (found.fault_ms < least or "NO_REGRESSION" in found.verdicts)
    return Truth(
        verdicts=_verdicts(found.verdicts, layers, found.shift),
        culprits=tuple(layer for layer in layers if faint or found.layers[layer] >= BESIDE * largest),
        faint=faint,
        layers_ms=found.layers,
        stages_ms=found.stages,
        rest_ms=found.workload_ms,
        delta_ms=found.delta_ms,
        rise_ms=least,
        where=_slice(found.where),
        about={
            "kind": run.kind,
            "faults": list(found.families),
            "severity": run.severity,
            "load": run.load,
            "site": run.site,
            "shift": found.shift,
            "decoys": list(found.decoys),
            "missing": list(found.missing),
            "before_ms": found.before_ms,
            "fault_ms": found.fault_ms,
            "requests_hit": int(found.hit.sum()),
        },
    )


def _verdicts(words: tuple[str, ...], layers: list[str], shift: str) -> tuple[str, ...]:
    """Return the right words, in more cases than the fleet says.

    Where nothing at all was done, that nothing rose is always right. Waiting behind longer prompts is load,
    as the replay of the queue has it, so LOAD is right of a changed mix as well.
    """
    if not layers and shift == "none" and "NO_REGRESSION" not in words:
        return ("NO_REGRESSION", *words)
    return (*words, "LOAD") if "MIX" in words and "LOAD" not in words else words


def _slice(where: tuple[str, ...]) -> dict[str, str]:
    """Return the broken slice as attributes; empty for the whole fleet, and for two places at once."""
    if len(set(where)) != 1:
        return {}
    kind, _, name = where[0].partition(":")
    if kind == "gpu":
        node, _, card = name.partition("/")
        return {"node": node, "gpu_set": card}
    return {kind: name} if kind in ("node", "tenant", "replica") else {}


def _fleet_hash() -> str:
    folder = Path(faults.__file__).parent
    body = hashlib.sha256()
    kinds = ("*.py", "data/*", "scenarios/*.toml")
    fleet = [path for kind in kinds for path in sorted(folder.glob(kind))]
    for path in (*fleet, Path(__file__).with_name("plan.py"), Path(__file__)):
        body.update(path.read_bytes())
    return body.hexdigest()[:8]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--requests", type=int, default=FULL_REQUESTS, help="in each window")
    parser.add_argument("--runs", type=int, help="only the first so many")
    parser.add_argument("--build", type=Path, default=BUILD)
    args = parser.parse_args()
    runs = plan(args.seeds, args.requests)[: args.runs]
    corpus = Corpus(args.build, args.requests)
    corpus.make(runs)
    clean = sum(run.kind != "fault" for run in runs)
    frozen = sum(run.frozen for run in runs)
    print(f"{len(runs)} runs in {corpus.folder}: {clean} with nothing broken, {frozen} frozen")
    return 0


if __name__ == "__main__":
    sys.exit(main())
