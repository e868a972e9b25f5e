"""Answers of the product and the peers to runs, asked in their own processes and kept.

An answer is kept beside the runs in answers/METHOD-HASH-RUN.jsonl, the hash being of the source that made
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
from typing import Any

from benchmarks.attribution.corpus import Corpus
from benchmarks.attribution.peers.answer import Answer
from benchmarks.attribution.peers.install import REQUIREMENTS, python_of
from benchmarks.attribution.peers.roster import PEERS, PRODUCT, Peer

__all__ = ["ask_all", "kept_answers"]

ROOT = Path(__file__).parents[2]
CHUNK = 8
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")} | {"POLARS_MAX_THREADS": "1"}


def ask_all(peers: Sequence[Peer], runs: Sequence[Path], corpus: Corpus, processes: int = 2) -> None:
    """Ask every peer for every run that it has not answered yet; progress goes to standard error."""
    tasks = []
    for peer in peers:
        answered = kept_answers(peer, corpus)
        missing = [folder for folder in runs if folder.name not in answered]
        tasks += [(peer, missing[k : k + CHUNK]) for k in range(0, len(missing), CHUNK)]
    with ThreadPoolExecutor(processes) as pool:
        for nth, peer in enumerate(pool.map(lambda task: _ask(task[0], task[1], corpus.folder), tasks), 1):
            print(
                f"\r  answers: {nth}/{len(tasks)} ({peer.title})\x1b[K", end="", file=sys.stderr, flush=True
            )
    if tasks:
        print(file=sys.stderr)


def kept_answers(peer: Peer, corpus: Corpus) -> dict[str, Answer]:
    """Return what a peer, as it is now, has answered, by the runs' names."""
    found: dict[str, Answer] = {}
    for path in sorted((corpus.folder / "answers").glob(f"{peer.module}-{_source_hash(peer)}-*.jsonl")):
        for line in path.read_text().splitlines():
            said: dict[str, Any] = json.loads(line)
            run = said.pop("run")
            found[run] = Answer(**said)
    return found


def _ask(peer: Peer, folders: Sequence[Path], kept: Path) -> Peer:
    """Ask in one process; the chunk's file is named after its first run and put in place when whole."""
    place = kept / "answers"
    place.mkdir(parents=True, exist_ok=True)
    out = place / f"{peer.module}-{_source_hash(peer)}-{folders[0].name}.jsonl"
    part = out.with_suffix(".part")
    part.unlink(missing_ok=True)
    module = "benchmarks.attribution.peers.answering"
    command = [str(python_of(peer.environment)), "-m", module, peer.module, str(part), *map(str, folders)]
    path = os.pathsep.join((str(ROOT), str(ROOT / "src")))
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **ONE_THREAD, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{peer.title}: {done.stderr.strip().splitlines()[-1:]}")
    part.rename(out)
    return peer


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
