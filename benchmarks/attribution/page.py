"""docs/proof.md from the figures: the tables, what was promised and what came of it, and the weak spots."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.attribution import metrics
from benchmarks.attribution.outcome import Outcome
from benchmarks.attribution.plan import Planned
from benchmarks.attribution.reasons import REASONS
from benchmarks.attribution.resampling import Figure
from benchmarks.attribution.sections import other_sections
from benchmarks.attribution.standings import Standing, Target, percent, targets

__all__ = ["Made", "comparison", "proof_page"]


@dataclass(frozen=True)
class Made:
    """What was run: all planned runs, those judged, requests in a window, and how the weights were fitted."""

    planned: Sequence[Planned]
    judged: Sequence[Planned]
    seeds: int
    requests: int
    weights: str
    command: str


def proof_page(made: Made, found: Sequence[Standing], others: Mapping[str, Any]) -> str:
    """Return the whole page."""
    parts = [
        _opening(made),
        _targets(targets(found)),
        _by_replay(found[0]),
        _peers(found),
        _rises(found),
        _families(found[0]),
        _clean(found[0]),
        _weak(found[0]),
        other_sections(others),
        _again(made),
    ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _opening(made: Made) -> str:
    clean = sum(run.kind != "fault" for run in made.judged)
    sizes, share = f"{made.requests:,}", percent(clean / max(1, len(made.judged)))
    return f"""
# The proof

How often `why` names the right layer, how often a wrong one, and how peers fare on the same tables.
This page is written by `{made.command}`; nothing in it is typed by hand but the reasons.

The [model fleet](simulate.md) serves recorded arrivals and lengths with one term of its state
changed (a clock, a link, a scheduler's setting); times and counters follow from the same state.
Truth is the same run, with the same requests and the same chance, without the fault: what ΔP99 loses is the
fault's.

- {len(made.planned)} runs, {made.seeds} of every family, about {sizes} requests in each window, so about
  {made.requests // 100} rows above P99; severities 1, 2, 3 and loads 0.5, 0.75, 0.9 go round.
- {len(made.judged)} of them are the frozen half, chosen by a hash of family and seed; all figures below are
  of that half. In {clean} of these ({share}) nothing is broken: shifts of the workload, decoys,
  worse sensors.
- {made.weights}
- A layer named is right when it is broken (either of two), and wrong otherwise: in nulls and decoys every
  name is wrong. A fault that makes no rise (5 %, 5 ms; or the rest takes it back) asks for no answer.
- Intervals are 95 %, by bootstrap over runs; where all runs agree, the exact binomial one.
"""


def _targets(judged: Sequence[Target]) -> str:
    rows = [f"| {t.name} | {t.wanted} | {t.measured} | {_word(t.reached)} |" for t in judged]
    missed = [
        f"- **{t.name}**: {REASONS[t.name]}" for t in judged if t.reached is False and t.name in REASONS
    ]
    head = "## What was promised\n\n| target | promised | measured | |\n|---|---|---|---|\n"
    said = "\n\nWhy what is missed is missed:\n\n" + "\n".join(missed) if missed else ""
    return head + "\n".join(rows) + said


def _by_replay(ours: Standing) -> str:
    """Say how the layer error divides by whether the queue could be replayed."""
    parts = []
    for said, wanted in (("passes its gate or is not needed", True), ("misses its gate", False)):
        runs = [run for run in ours.runs if ("unresolved" not in str(run.answer.details)) == wanted]
        mean, median = metrics.layer_error(runs), metrics.median_layer_error(runs)
        if mean.n:
            cells = f"mean {mean.value:.2f}, median {median.value:.2f}, {mean.n} runs"
            parts.append(f"where the replay of the queue {said}: {cells}")
    return f"Layer L1 {'; '.join(parts)}." if parts else ""


def _word(reached: bool | None) -> str:
    return {True: "reached", False: "**missed**", None: "not measured"}[reached]


def comparison(found: Sequence[Standing]) -> list[list[str]]:
    """Return the table of the product and its peers, heads first."""
    heads = [
        "method",
        "faults answered",
        "right of these",
        "right, of all faults",
        "wrong, of all answers",
        "false in nulls, decoys",
        "… when always asked",
        "layer L1",
        "… median",
        "stage L1",
        "slice F1",
        "s a run",
    ]
    return [heads, *(_standing(s) for s in found)]


def _standing(standing: Standing) -> list[str]:
    title = standing.peer.title
    if not standing.runs:
        return [title, standing.missing or "no answers", *[""] * 10]
    f = standing.figures
    names = ("coverage", "top1", "found", "wrong", "false")
    cells = [_cell(f[name]) for name in names] + [_cell(standing.false_unasked)]
    rest = [_cell(f[name], plain=True) for name in ("layer_l1", "layer_l1_median", "stage_l1", "slice_f1")]
    return [title, *cells, *rest, f"{metrics.seconds(standing.asked):.2g}"]


def _cell(figure: Figure, plain: bool = False) -> str:
    if not figure.n:
        return "–"
    if plain:
        return f"{figure.value:.2f} [{figure.low:.2f}, {figure.high:.2f}]"
    return f"{100 * figure.value:.0f} % [{100 * figure.low:.0f}, {100 * figure.high:.0f}]"


def _peers(found: Sequence[Standing]) -> str:
    heads, *rows = comparison(found)
    table = "\n".join("| " + " | ".join(row) + " |" for row in [heads, ["---"] * len(heads), *rows])
    failed = [f"{s.peer.title}: {s.errors}" for s in found if s.errors]
    note = f"\n\nRuns on which a method failed: {'; '.join(failed)}." if failed else ""
    return f"""
## Beside its peers

Every method gets the same two windows and is asked only where our test finds a rise, so none is charged for
naming something when nothing happened; the column "when always asked" is without that help.
A method that names a stage, a counter or an attribute is given the layer that it usually stands for
(`benchmarks/attribution/peers/stage_layers.py`); one that gives no ms has no L1.
L1 is Σ |ms − true ms| over layers and the rest, divided by ΔP99; stage L1 is over faults with little waiting,
where the paired runs say which stage it was; slice F1 is over the requests in the slice.

{table}{note}

![Right, wrong and silent](proof/accuracy.svg)

![Risk and coverage](proof/risk_coverage.svg)

![Error of the shares](proof/share_error.svg)
"""


def _rises(found: Sequence[Standing]) -> str:
    """Say how often a rise is found at all, by the methods that judge it."""
    able = [s for s in found if any(run.answer.detected is not None for run in s.asked)]
    rows = [
        f"| {s.peer.title} | {_cell(metrics.detected(s.asked))} | {_cell(metrics.false_alarms(s.asked))} |"
        for s in able
    ]
    head = "| method | found, of faults that made a rise | found, where there was none |\n|---|---|---|\n"
    return (
        "## Finding the rise\n\nOurs is the jackknife's lower bound against what counts as a rise; the"
        " windows are given to it.\n\n" + head + "\n".join(rows)
    )


def _families(ours: Standing) -> str:
    faults = [run for run in ours.runs if not run.clean]
    rows = [_family(name, [r for r in faults if r.family == name]) for name in _names(faults)]
    head = (
        "| family | runs | faint | answered | right | wrong | candidate right | layer L1 | wrongly named |\n"
    )
    return f"## By fault family\n\n{head}|---|---|---|---|---|---|---|---|---|\n" + "\n".join(rows)


def _names(runs: Sequence[Outcome]) -> list[str]:
    return list(dict.fromkeys(run.family for run in runs))


def _family(name: str, runs: Sequence[Outcome]) -> str:
    asked = [run for run in runs if run.fault]
    answered = [run for run in runs if run.answered]
    wrong = [run for run in answered if not run.right]
    named = ", ".join(sorted({f"{run.answer.layer} for {'/'.join(run.truth.culprits)}" for run in wrong}))
    error = metrics.layer_error(asked)
    able = sum(run.guessed_right for run in asked)
    cells = [
        name,
        len(runs),
        len(runs) - len(asked),
        f"{sum(run.answered for run in asked)} of {len(asked)}",
        sum(run.right for run in asked),
        len(wrong),
        f"{able} of {len(asked)}",
        _cell(error, plain=True),
        named or "",
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def _clean(ours: Standing) -> str:
    clean = [run for run in ours.asked if run.clean]
    rows = [_null(name, [r for r in clean if r.family == name]) for name in _names(clean)]
    found = ours.figures["verdict"]
    return (
        "## Where nothing is broken\n\n"
        f"The word was a right one in {_cell(found)} of these runs.\n\n"
        "| family | runs | a layer named | right word | words |\n|---|---|---|---|---|\n" + "\n".join(rows)
    )


def _null(name: str, runs: Sequence[Outcome]) -> str:
    words = [run.answer.verdict for run in runs]
    counts = ", ".join(f"{word} {words.count(word)}" for word in sorted(set(words)))
    right = sum(run.answer.verdict in run.truth.verdicts for run in runs)
    return f"| {name} | {len(runs)} | {sum(run.answered for run in runs)} | {right} | {counts} |"


def _weak(ours: Standing) -> str:
    """Say which families are weak: less than half answered, or less than nine in ten right."""
    lines = []
    for name in _names([run for run in ours.runs if run.fault]):
        runs = [run for run in ours.runs if run.family == name and run.fault]
        said = [run for run in runs if run.answered]
        right = sum(run.right for run in said)
        if said and right < 0.9 * len(said):
            lines.append(f"- **{name}**: {len(said) - right} of {len(said)} answers are wrong.")
        if len(said) < 0.5 * len(runs):
            lines.append(f"- **{name}**: silent in {len(runs) - len(said)} of {len(runs)} runs.")
    ece = metrics.calibration_error(ours.runs)
    brier = _cell(ours.figures["brier"], plain=True)
    sure = f"p is off by {ece:.2f} on average (ECE); its Brier score is {brier}."
    fixed = "\n".join(f"- {reason}" for reason in REASONS["always"].split("\n"))
    return "## Weak spots\n\n" + sure + "\n\n" + "\n".join(lines + [fixed])


def _again(made: Made) -> str:
    return """
## Do it again

```sh
make prove-quick   # two seeds, minutes on two cores
make prove         # twenty seeds
```

Runs and answers are kept in build/attribution, about 20 MB a run at 20,000 requests; only what has changed is
made again.
The same code gives the same runs, answers and figures (times apart).
The corpus itself is described in [corpus.md](corpus.md).
"""
