"""The proof: the product and every peer on the frozen half of the corpus, judged alike: docs/proof.md.

    python -m benchmarks.attribution.prove --seeds 20 --requests 20000
    python -m benchmarks.attribution.prove --export DIR [--seeds 1]

Everything is kept in build/attribution and made only where it is missing. A peer whose environment is not
there is installed first (`--no-install` leaves it out and says so).
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.attribution.answers import ask_all, kept_answers
from benchmarks.attribution.corpus import BUILD, ROOT, Corpus
from benchmarks.attribution.export import export
from benchmarks.attribution.judge import judge
from benchmarks.attribution.page import Made, comparison, proof_page
from benchmarks.attribution.peers.install import failure_of, install
from benchmarks.attribution.peers.roster import PEERS, PRODUCT, Peer
from benchmarks.attribution.plan import FULL_REQUESTS, QUICK_REQUESTS, Planned, plan
from benchmarks.attribution.sections import read_others
from benchmarks.attribution.standings import Standing, standings, targets
from benchmarks.attribution.weights_told import told_weights

DOCS = ROOT / "docs"
WEIGHTS = ROOT / "analytics/evidence/weights.json"
SLOW_RUNS = 60  # the most runs that a slow peer is asked for


def main() -> int:
    args = _parsed()
    quick = args.quick
    seeds = args.seeds or (2 if quick else 20)
    requests = args.requests or (QUICK_REQUESTS if quick else FULL_REQUESTS)
    planned = plan(seeds, requests, args.cross)
    corpus = Corpus(args.build, requests)
    if args.export:
        chosen = planned[: args.runs]
        corpus.make(chosen, args.processes)
        export(corpus, chosen, args.export)
        return 0
    judged = [run for run in planned if run.frozen][: args.runs]
    corpus.make(judged, args.processes)
    peers, missing = _peers(args.no_install, args.only, quick)
    _ask(peers, judged, corpus, args.processes)
    folders = [corpus.case(run) for run in judged]
    answers = {peer.module: kept_answers(peer, folders, corpus) for peer in (PRODUCT, *peers)}
    found = standings(judge(corpus, judged, answers), missing)
    made = Made(
        planned, judged, seeds, requests, told_weights(WEIGHTS), "make prove-quick" if quick else "make prove"
    )
    _write(made, found, args.docs, args.json)
    return 0


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="two seeds and 7,000 requests a window")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--requests", type=int, help="in each window")
    parser.add_argument("--cross", action="store_true", help="every severity at every load for each seed")
    parser.add_argument("--runs", type=int, help="judge only the first so many")
    parser.add_argument("--only", help="comma-separated modules of peers to ask")
    parser.add_argument("--no-install", action="store_true")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--build", type=Path, default=BUILD)
    parser.add_argument("--docs", type=Path, default=DOCS, help="where proof.md goes; - writes no page")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--export", type=Path, help="write the labelled corpus there instead")
    return parser.parse_args()


def _peers(no_install: bool, only: str | None, quick: bool) -> tuple[list[Peer], dict[str, str]]:
    """Return the peers that can be asked, and why the others cannot."""
    wanted = only.split(",") if only else [peer.module for peer in PEERS if not (quick and peer.slow)]
    chosen = [peer for peer in PEERS if peer.module in wanted]
    for environment in sorted({peer.environment for peer in chosen if peer.environment}):
        if not no_install and failure_of(environment) is not None:
            print(f"  installing {environment}", file=sys.stderr, flush=True)
            install(environment)
    failed = {peer.module: failure_of(peer.environment) for peer in chosen}
    missing = {module: f"did not install: {reason}" for module, reason in failed.items() if reason}
    left_out = {peer.module: "not asked here" for peer in PEERS if peer not in chosen}
    return [peer for peer in chosen if peer.module not in missing], left_out | missing


def _ask(peers: Sequence[Peer], judged: Sequence[Planned], corpus: Corpus, processes: int) -> None:
    folders = [corpus.case(run) for run in judged]
    ask_all((PRODUCT, *(peer for peer in peers if not peer.slow)), folders, corpus, processes)
    ask_all(
        [peer for peer in peers if peer.slow],
        folders[:: max(1, len(folders) // SLOW_RUNS)],
        corpus,
        processes,
    )


def _write(made: Made, found: Sequence[Standing], docs: Path, document: Path | None) -> None:
    table = comparison(found)
    widths = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    for target in targets(found):
        print(f"{target.name}: {target.measured} (promised {target.wanted}): {target.reached}")
    if document:
        document.parent.mkdir(parents=True, exist_ok=True)
        document.write_text(json.dumps(_document(made, found), indent=1) + "\n")
    if str(docs) != "-":
        from benchmarks.attribution.plots import plot_all

        others = read_others(ROOT / "build/bench")
        plot_all(found, others, docs / "proof")
        (docs / "proof.md").write_text(proof_page(made, found, others))


def _document(made: Made, found: Sequence[Standing]) -> dict[str, Any]:
    return {
        "benchmark": "attribution",
        "seeds": made.seeds,
        "requests": made.requests,
        "planned": len(made.planned),
        "judged": len(made.judged),
        "targets": [asdict(target) for target in targets(found)],
        "methods": {
            s.peer.module: {name: asdict(figure) for name, figure in s.figures.items()}
            for s in found
            if s.runs
        },
    }


if __name__ == "__main__":
    sys.exit(main())
