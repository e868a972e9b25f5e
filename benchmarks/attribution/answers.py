"""Answers of the product and the peers to runs, asked in their own processes and kept.

An answer is kept beside the runs in answers/METHOD-HASH/RUN.json, the hash being of the source that made
it (the product: all of analytics and schema), so that `make prove` asks again only what has changed.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from benchmarks.attribution.corpus import Corpus
from benchmarks.attribution.peers.answer import Answer
from benchmarks.attribution.peers.install import REQUIREMENTS, python_of
from benchmarks.attribution.peers.roster import PEERS, PRODUCT, Peer

__all__ = ["ask_all", "kept_answers"]

ROOT = Path(__file__).parents[2]
CHUNK = 8
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")} | {"POLARS_MAX_THREADS": "1"}


def ask_all(peers: Sequence[Peer], runs: Sequence[Path], corpus: Corpus, processes: int = 2) -> None:
    """Ask every peer for every run that it has not answered yet; progress goes to standard error.

    Peers of one environment share processes, so that a run is read once for all of them.
    """
    tasks: list[tuple[list[Peer], Sequence[Path]]] = []
    for environment in dict.fromkeys(peer.environment for peer in peers):
        group = [peer for peer in peers if peer.environment == environment]
        missing = [run for run in runs if not all(_place(peer, corpus, run).exists() for peer in group)]
        tasks += [(group, missing[k : k + CHUNK]) for k in range(0, len(missing), CHUNK)]
    with ThreadPoolExecutor(processes) as pool:
        for nth, name in enumerate(pool.map(lambda task: _ask(task[0], task[1], corpus), tasks), 1):
            text = f"\r  answers: {nth}/{len(tasks)} ({name})\x1b[K"
            print(text, end="", file=sys.stderr, flush=True)
    if tasks:
        print(file=sys.stderr)


def kept_answers(peer: Peer, runs: Sequence[Path], corpus: Corpus) -> dict[str, Answer]:
    """Return what a peer, as it is now, has answered of these runs, by their names."""
    places = {run.name: _place(peer, corpus, run) for run in runs}
    return {name: Answer(**json.loads(place.read_text())) for name, place in places.items() if place.exists()}


def _place(peer: Peer, corpus: Corpus, run: Path) -> Path:
    return _folder(peer, corpus) / f"{run.name}.json"


def _folder(peer: Peer, corpus: Corpus) -> Path:
    return corpus.folder / "answers" / f"{peer.module}-{_source_hash(peer)}"


def _ask(group: Sequence[Peer], folders: Sequence[Path], corpus: Corpus) -> str:
    """Ask in one process; return what to call the group."""
    python = str(python_of(group[0].environment))
    places = ",".join(str(_folder(peer, corpus)) for peer in group)
    command = [python, "-m", "benchmarks.attribution.peers.answering", places, *map(str, folders)]
    path = os.pathsep.join((str(ROOT), str(ROOT / "src")))
    surroundings = {**os.environ, **ONE_THREAD, "PYTHONPATH": path}
    done = subprocess.run(command, cwd=ROOT, env=surroundings, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{group[0].title}: {done.stderr.strip().splitlines()[-1:]}")
    return group[0].environment or PRODUCT.title


@cache
def _source_hash(peer: Peer) -> str:
    """Return a hash of what decides a peer's answers, as it was when the proof began."""
    here = Path(__file__).parent
    asked = {f"{other.module}.py" for other in (PRODUCT, *PEERS)}
    shared = [path for path in sorted((here / "peers").glob("*.py")) if path.name not in asked]
    files = [*shared, here / f"peers/{peer.module}.py", here / "case.py"]
    if peer is PRODUCT:
        files += [*_tree("analytics"), *_tree("schema")]
    if peer.environment:
        files.append(REQUIREMENTS / f"{peer.environment}.txt")
    return _hash_of(files)


def _tree(area: str) -> list[Path]:
    return sorted(p for p in (ROOT / area).rglob("*") if p.suffix in (".py", ".json"))


def _hash_of(files: Iterable[Path]) -> str:
    body = hashlib.sha256()
    for path in files:
        body.update(path.read_bytes())
    return body.hexdigest()[:10]
