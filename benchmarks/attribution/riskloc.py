"""Localisation on the RS cases: which slices of a video service stalled, beside simple baselines.

72 real incidents of RobustSpot as published with RiskLoc (benchmarks/attribution/data/riskloc): the minute
of the alarm and the --minutes before it (four, as both papers take), with the slices that operators named.
`exact` is the share of cases in which the set named is the set labelled. `F1` counts slices over all
cases: right when all its attributes and values are the label's, else wrong, as RiskLoc's own evaluation
does; `case F1` is the mean over the cases. `nested` is the share of cases in which a slice named holds
or is held by a labelled one. Published figures for other methods are over more cases (135 are labelled), so
they are not set beside these. Adtributor, written anew from its paper, cannot name two attributes at once.

    python benchmarks/attribution/riskloc.py --json riskloc.json
"""

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.attribution.riskloc_cases import Causes, cases
from benchmarks.attribution.riskloc_ways import WAYS


@dataclass(frozen=True)
class Figure:
    """One way over all cases."""

    way: str
    cases: int
    exact: float
    f1: float
    precision: float
    recall: float
    case_f1: float
    nested: float
    ms_a_case: float


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=int, default=4)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--misses", action="store_true", help="print what each way got wrong")
    args = parser.parse_args()
    figures = [figure(way, args.minutes, args.misses) for way in WAYS]
    print(f"{'way':36}{'cases':>6}{'exact':>7}{'F1':>7}{'case F1':>9}{'nested':>8}{'ms':>7}")
    for one in figures:
        shown = f"{one.exact:>7.3f}{one.f1:>7.3f}{one.case_f1:>9.3f}{one.nested:>8.3f}{one.ms_a_case:>7.1f}"
        print(f"{one.way:36}{one.cases:>6}{shown}")
    if args.json:
        Path(args.json).write_text(json.dumps([asdict(one) for one in figures], indent=1) + "\n")
    return 0


def figure(way: str, minutes: int, misses: bool) -> Figure:
    """Run one way on every case."""
    right = named = wanted = exact = close = count = 0
    case_f1 = spent = 0.0
    for case in cases(minutes):
        started = time.perf_counter()
        found = WAYS[way](case)
        spent += time.perf_counter() - started
        hits = len(found & case.causes)
        right, named, wanted = right + hits, named + len(found), wanted + len(case.causes)
        case_f1 += 2 * hits / max(1, len(found) + len(case.causes))
        exact, close, count = exact + (found == case.causes), close + nested(found, case.causes), count + 1
        if misses and found != case.causes:
            print(f"{way}: {case.name}: named {text(found)}, labelled {text(case.causes)}")
    return Figure(
        way=way,
        cases=count,
        exact=round(exact / count, 4),
        f1=round(2 * right / max(1, named + wanted), 4),
        precision=round(right / max(1, named), 4),
        recall=round(right / max(1, wanted), 4),
        case_f1=round(case_f1 / count, 4),
        nested=round(close / count, 4),
        ms_a_case=round(1000 * spent / count, 2),
    )


def nested(found: Causes, causes: Causes) -> bool:
    """Whether any slice named holds or is held by a labelled one."""
    return any(one <= other or other <= one for one in found for other in causes)


def text(causes: Causes) -> str:
    """Write slices in a fixed order."""
    return "; ".join(sorted(" ".join(f"{k}={v}" for k, v in sorted(one)) for one in causes)) or "nothing"


if __name__ == "__main__":
    sys.exit(main())
