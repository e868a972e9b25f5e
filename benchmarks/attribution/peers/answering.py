"""Answer a list of runs with one peer, in that peer's environment: one JSON line a run.

    python -m benchmarks.attribution.peers.answering PEER OUT FOLDER...

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
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks.attribution.case import read_case
from benchmarks.attribution.peers.answer import Answer
from otel_attrib.analytics.period import Period

__all__ = ["answer_run", "main"]

LIMIT_S = 180
LEVEL = 0.99

Method = Callable[[Period, Period, float], Answer]


class _TooLong(Exception):
    pass


def _stop(*_: object) -> None:
    raise _TooLong(f"no answer within {LIMIT_S} s")


def answer_run(method: Method, folder: Path, level: float = LEVEL) -> Answer:
    """Read one run and time the method on it; reading is not timed."""
    case = read_case(folder)
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


def main() -> int:
    name, out, *folders = sys.argv[1:]
    warnings.simplefilter("ignore")
    method = importlib.import_module(f"benchmarks.attribution.peers.{name}").answer
    with Path(out).open("a") as file:
        for folder in folders:
            found = answer_run(method, Path(folder))
            file.write(json.dumps({"run": Path(folder).name, **found.as_dict()}) + "\n")
            file.flush()
    return 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
