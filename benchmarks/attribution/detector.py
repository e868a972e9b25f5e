"""The detector beside its peers: false alarms a day on quiet streams, delay at three times the exceedances.

Each stream is 100 requests a second, an hour to learn from and then --days without any change: every alarm
is false. The delay is measured on --repeats other streams of the same kind that get --ratio times the
exceedances after 65 minutes: seconds of data until the alarm (the watch adds up to its interval and the six
seconds that it waits for stragglers). `never` is not within ten minutes; `early` are repeats left out because
there was an alarm in the five minutes before the change. Deterministic.

    python benchmarks/attribution/detector.py --days 30 --json detector.json
"""

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.attribution.detector_streams import STREAMS, make
from benchmarks.attribution.detector_ways import LEARN_S, WAYS

DAY_S = 86_400
QUIET_S = 300
WATCHED_S = 600


@dataclass(frozen=True)
class Figure:
    """One way on one kind of stream; delays in seconds, None for never."""

    stream: str
    way: str
    alarms_per_day: float
    delay_median_s: float | None
    delay_p90_s: float | None
    early: int
    repeats: int


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--days", type=float, default=30.0)
    parser.add_argument("--repeats", type=int, default=60)
    parser.add_argument("--ratio", type=float, default=3.0)
    parser.add_argument("--streams", nargs="*", default=list(STREAMS), choices=list(STREAMS))
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    started = time.monotonic()
    figures = [
        figure(stream, way, args.days, args.repeats, args.ratio) for stream in args.streams for way in WAYS
    ]
    show(figures, args.ratio)
    print(f"\n{time.monotonic() - started:.0f} s")
    if args.json:
        Path(args.json).write_text(json.dumps([asdict(one) for one in figures], indent=1) + "\n")
    return 0


def figure(stream: str, way: str, days: float, repeats: int, ratio: float) -> Figure:
    """Measure one way on one kind of stream."""
    quiet = make(stream, LEARN_S + int(days * DAY_S), seed=0)
    alarms = sum(1 for _ in WAYS[way](quiet, np.random.default_rng(1)))
    found = [delay(stream, way, seed, ratio) for seed in range(1, repeats + 1)]
    delays = np.array([one for one in found if one is not None])
    middle, high = (
        float(np.quantile(delays, q, method="lower")) if delays.size else np.nan for q in (0.5, 0.9)
    )
    return Figure(
        stream,
        way,
        round(alarms / days, 3),
        middle if np.isfinite(middle) else None,
        high if np.isfinite(high) else None,
        repeats - delays.size,
        repeats,
    )


def delay(stream: str, way: str, seed: int, ratio: float) -> float | None:
    """Return the seconds from the change to the alarm; None when an alarm came before the change."""
    start = LEARN_S + QUIET_S
    rng = np.random.default_rng((seed, 7))
    worse = make(stream, start + WATCHED_S, seed=seed).worse(rng, start, ratio)
    first = next(iter(WAYS[way](worse, rng)), None)
    if first is None:
        return float("inf")
    return None if first < start else float(first + 1 - start)


def show(figures: list[Figure], ratio: float) -> None:
    """Print the table."""
    print(f"{'stream':14}{'way':24}{'alarms/day':>11}{f'delay at {ratio:g}×':>14}{'P90':>8}{'early':>7}")
    for one in figures:
        shown = [
            "never" if value is None else f"{value:.0f} s" for value in (one.delay_median_s, one.delay_p90_s)
        ]
        print(
            f"{one.stream:14}{one.way:24}{one.alarms_per_day:>11.2f}{shown[0]:>14}{shown[1]:>8}{one.early:>7}"
        )


if __name__ == "__main__":
    sys.exit(main())
