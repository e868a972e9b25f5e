"""What the fit sees of one run, kept on disk since looking takes seconds: its books, its view, the truth."""

import hashlib
import pickle
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import otel_attrib.analytics as analytics
from benchmarks.attribution.case import Truth, read_case
from benchmarks.attribution.corpus import Corpus
from benchmarks.attribution.plan import Planned
from otel_attrib.analytics.blocks import block_ids
from otel_attrib.analytics.books import Books
from otel_attrib.analytics.change.decompose import decompose
from otel_attrib.analytics.evidence.view import View, look, mirrored
from otel_attrib.analytics.metric import METRICS, Metric
from otel_attrib.analytics.replay import replay_queue
from otel_attrib.analytics.slices.find import find_slices

__all__ = ["Seen", "see"]

LEVEL = 0.99


@dataclass(frozen=True)
class Seen:
    """One run of one metric: what evidence is judged from, and what is true of the run's TTFT.

    `before_ms` is the baseline's quantile.
    """

    run: str
    family: str
    kind: str
    metric: Metric
    books: Books
    view: View
    before_ms: float
    tail_rows: float
    truth: Truth


def see(corpus: Corpus, runs: Sequence[Planned], metric: str = "ttft", processes: int = 2) -> list[Seen]:
    """Look at every run, or take what was seen of it by the same source text before."""
    folder = corpus.folder / f"seen-{metric}-{_source_hash()}"
    folder.mkdir(parents=True, exist_ok=True)
    missing = [run for run in runs if not (folder / f"{run.name}.pkl").exists()]
    with ProcessPoolExecutor(processes) as pool:
        jobs = ((corpus, run, metric, folder) for run in missing)
        for nth, _ in enumerate(pool.map(_look, jobs), 1):
            print(f"\r  looked at {nth}/{len(missing)}\x1b[K", end="", file=sys.stderr, flush=True)
    return list(_kept(folder, runs))


def _kept(folder: Path, runs: Sequence[Planned]) -> Iterator[Seen]:
    for run in runs:
        # Written by this program a moment ago, under a folder of its own.
        yield pickle.loads((folder / f"{run.name}.pkl").read_bytes())


def _look(job: tuple[Corpus, Planned, str, Path]) -> None:
    corpus, run, name, folder = job
    case, metric = read_case(corpus.case(run), name), METRICS[name]
    a, b = case.baseline, case.current
    blocks = block_ids(a.rows, a.window), block_ids(b.rows, b.window)
    change = decompose(a.rows, b.rows, LEVEL, *blocks)
    replay = replay_queue(a, b, change, LEVEL)
    valid = None if replay.valid and replay.r2 is None else replay.valid
    lines = replay.workload, replay.load, replay.unexplained
    books = Books(name, change.delta, replay.stages, *lines, valid)
    slices = find_slices(a.rows, b.rows, LEVEL)
    better = books.delta.value < 0
    view = look(mirrored(books), b, a, None, LEVEL) if better else look(books, a, b, slices.hit, LEVEL)
    seen = Seen(
        run=run.name,
        family=run.family,
        kind=run.kind,
        metric=metric,
        books=books,
        view=view,
        before_ms=change.before.value,
        tail_rows=min(a.rows.n, b.rows.n) * (1 - LEVEL),
        truth=corpus.truth(run),
    )
    part = folder / f"{run.name}.part"
    part.write_bytes(pickle.dumps(seen))
    part.rename(folder / f"{run.name}.pkl")


def _source_hash() -> str:
    """Return a hash of the calculation, without what may change while fitting: signals, weights, verdicts."""
    root = Path(analytics.__file__).parent
    body = hashlib.sha256()
    for part in ("change", "replay", "slices", "evidence"):
        for path in sorted((root / part).glob("*.py")):
            if path.name not in ("model.py", "judge.py", "weights.py", "sensors.py", "signal.py", "lines.py"):
                body.update(path.read_bytes())
    return body.hexdigest()[:8]
