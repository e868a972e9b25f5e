"""From kept answers and the truth to judged runs."""

from collections.abc import Mapping, Sequence

from benchmarks.attribution.case import read_case
from benchmarks.attribution.corpus import Corpus
from benchmarks.attribution.outcome import Outcome, overlap
from benchmarks.attribution.peers.answer import Answer
from benchmarks.attribution.plan import Planned

__all__ = ["judge"]


def judge(
    corpus: Corpus, runs: Sequence[Planned], answers: Mapping[str, Mapping[str, Answer]]
) -> dict[str, list[Outcome]]:
    """Return each method's outcomes on the runs that it answered; `answers` is by method, then by run."""
    judged: dict[str, list[Outcome]] = {method: [] for method in answers}
    for run in runs:
        truth = corpus.truth(run)
        said = {method: kept[run.name] for method, kept in answers.items() if run.name in kept}
        shared = _overlaps(corpus, run, truth.where, said) if truth.where else {}
        for method, answer in said.items():
            outcome = Outcome(run.name, run.family, run.kind, truth, answer, shared.get(method))
            judged[method].append(outcome)
    return judged


def _overlaps(
    corpus: Corpus, run: Planned, true: Mapping[str, str], said: Mapping[str, Answer]
) -> dict[str, float | None]:
    """Return F1 of the slices named and the broken one, over the requests of the current window."""
    named = {method: answer.where for method, answer in said.items() if answer.where is not None}
    if not named:
        return {}
    requests = read_case(corpus.case(run)).current.requests
    return {method: overlap(requests, where, true) if where else 0.0 for method, where in named.items()}
