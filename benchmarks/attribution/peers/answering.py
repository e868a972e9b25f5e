"""Answer a list of runs with the peers of one environment: a file a peer and a run.

    python -m benchmarks.attribution.peers.answering KEPT/PEER-HASH,KEPT/PEER-HASH FOLDER...

Only `corpus/` folders are given; the truth lies elsewhere. An error is an answer that names nothing, with
its text.
"""

import importlib
import json
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.attribution.case import Case, read_case
from benchmarks.attribution.peers.answer import Answer
from otel_attrib.analytics.period import Period

__all__ = ["answer_all", "answer_case", "main"]

LIMIT_S = 180
LEVEL = 0.99

Method = Callable[[Period, Period, float], Answer]


class _TooLong(Exception):
    pass


def _stop(*_: object) -> None:
    raise _TooLong(f"no answer within {LIMIT_S} s")


def answer_case(method: Method, case: Case, level: float = LEVEL) -> Answer:
    """Time the method on one run; reading the run is not timed."""
    began = time.perf_counter()
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(LIMIT_S)
    try:
        found = method(case.baseline, case.current, level)
    except Exception as error:  # whatever a peer's library raises is its answer
        found = Answer(None, error=f"{type(error).__name__}: {error}"[:300])
    finally:
        signal.alarm(0)
    return replace(found, seconds=time.perf_counter() - began)


def answer_all(places: Sequence[Path], folders: Sequence[Path]) -> None:
    """Ask each peer for each run that it has no file for; a run is read once."""
    for folder in folders:
        missing = [place for place in places if not (place / f"{folder.name}.json").exists()]
        case = read_case(folder) if missing else None
        for place in missing:
            assert case
            module = importlib.import_module(f"benchmarks.attribution.peers.{place.name.rpartition('-')[0]}")
            _keep(place / f"{folder.name}.json", answer_case(module.answer, case))


def _keep(path: Path, found: Answer) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".part-{os.getpid()}")
    part.write_text(json.dumps(found.as_dict()) + "\n")
    part.replace(path)


def main() -> int:
    places, *folders = sys.argv[1:]
    warnings.simplefilter("ignore")
    answer_all([Path(place) for place in places.split(",")], [Path(folder) for folder in folders])
    return 0


if __name__ == "__main__":
    sys.exit(main())
