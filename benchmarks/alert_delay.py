"""How long from a fault to the page: seconds until Alertmanager notifies somebody of the right layer.

For each case a real `otel-attrib up` with an embedded store of its own and a real Alertmanager with a webhook
receiver; a model fleet streams its baseline at once and what happens second by second over OTLP. The fault
begins some seconds into the window. Measured is the time from the fault's beginning to the first alert that
reaches the receiver, whatever it says, and to the first that blames the layer at fault before any other;
where nothing of a layer broke (longer prompts, or nothing at all) no alert may blame one. All of it shares
the machine's cores.

    python benchmarks/alert_delay.py --json alert_delay.json
    python benchmarks/alert_delay.py --only cpu-hog
"""

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.alert_path import (
    ALERTMANAGER,
    Notice,
    Receiver,
    Stream,
    alertmanager,
    as_dict,
    receiving,
    streaming,
    up,
)
from benchmarks.process import version_line

LIMIT_S = 60.0
SETTLED_S = 20.0


@dataclass(frozen=True, slots=True)
class Case:
    """One scenario and what is right about it: a layer, or none."""

    scenario: str
    layer: str = ""
    section: str = "fault"
    words: tuple[str, ...] = ()


CASES = (
    Case("cpu-hog", "cpu", words=("fault.severity=3",)),
    Case("scheduler-policy", "scheduler", words=("fault.severity=3",)),
    Case("clock-throttle", "gpu", words=("fault.severity=3",)),
    Case("null-prompt-mix", section="shift"),
    Case("null-stationary", section=""),
)


def main() -> int:
    """Run the cases one after the other; 0 when every one was right in time."""
    args = _arguments()
    if not ALERTMANAGER.exists():
        print(f"{ALERTMANAGER} is missing: scripts/services.sh fetches it", file=sys.stderr)
        return 1
    cases = [case for case in CASES if not args.only or case.scenario in args.only.split(",")]
    found = [_measure(case, args) for case in cases]
    document = {"versions": version_line(), "normal_s": args.normal, "limit_s": LIMIT_S, "cases": found}
    print(_table(document))
    if args.json:
        args.json.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    return 0 if all(one["right"] for one in found) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="scenarios, comma-separated (all)")
    parser.add_argument("--normal", type=float, default=20, help="s in real time before the fault begins")
    parser.add_argument("--faulty", type=float, default=75, help="s of the fault")
    parser.add_argument("--baseline", type=float, default=120, help="s of what is normal, sent at once")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _measure(case: Case, args: argparse.Namespace) -> dict[str, Any]:
    """Run one case: the seconds that it took, and all that was said."""
    print(f"{case.scenario} …", file=sys.stderr, flush=True)
    length = args.normal + args.faulty
    share = args.normal / length
    with tempfile.TemporaryDirectory(prefix="otel-attrib-alert-") as made, receiving() as receiver:
        folder = Path(made)
        with (
            alertmanager(folder / "alertmanager", receiver.url) as told,
            up(folder / "up", alertmanager=told) as addresses,
            streaming(folder, addresses["http"], _words(case, share, length, args.baseline)) as stream,
        ):
            fault = stream.moment(share)
            if case.layer:
                receiver.wait_for(lambda notice: notice.names(case.layer), fault - time.time() + args.faulty)
            else:
                _to_the_end(stream, receiver)
            return _row(case, fault, list(receiver.notices))


def _words(case: Case, share: float, length: float, baseline: float) -> list[str]:
    """Return the arguments of `simulate`."""
    windows = (f"windows.baseline={baseline}", f"windows.current={length}")
    fleet = (f"fleet.service={case.scenario}", "fleet.nodes=1", "fleet.gpus_per_node=4")
    begins = (f"{case.section}.start={share}",) if case.section else ()
    return [case.scenario, *(f"--set={word}" for word in (*fleet, *windows, *begins, *case.words))]


def _to_the_end(stream: Stream, receiver: Receiver) -> None:
    """Let the whole window pass, and the looks that follow it."""
    stream.wait()
    receiver.wait_for(lambda _: False, SETTLED_S)


def _row(case: Case, fault: float, notices: list[Notice]) -> dict[str, Any]:
    right = next((notice for notice in notices if case.layer and notice.names(case.layer)), None)
    wrong = [
        notice for notice in notices if notice.names_any and not (case.layer and notice.names(case.layer))
    ]
    named_s = right.time - fault if right else None
    good = named_s is not None and 0 < named_s <= LIMIT_S if case.layer else True
    shown = right or (notices[-1] if notices else None)
    return {
        "scenario": case.scenario,
        "layer": case.layer,
        "first_s": notices[0].time - fault if notices else None,
        "named_s": named_s,
        "alerts": len(notices),
        "wrong": len(wrong),
        "right": good and not wrong,
        "verdict": shown.verdict if shown else "",
        "summary": shown.annotations.get("summary", "") if shown else "",
        "load": os.getloadavg()[0],
        "notices": [as_dict(notice) for notice in notices],
    }


def _table(document: dict[str, Any]) -> str:
    head = (
        f"{'case':18} {'layer':10} {'first, s':>9} {'layer, s':>9} {'told':>5} {'wrong':>6} {'load':>5}  said"
    )
    lines = [document["versions"], head]
    for row in document["cases"]:
        times = [
            f"{row[name]:9.1f}" if row[name] is not None else f"{'–':>9}" for name in ("first_s", "named_s")
        ]
        lines.append(
            f"{row['scenario']:18} {row['layer'] or 'none':10} {times[0]} {times[1]} "
            f"{row['alerts']:5} {row['wrong']:6} {row['load']:5.1f}  {row['verdict'] or 'nothing'}"
        )
        if row["summary"]:
            lines.append(f"    {row['summary']}")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
