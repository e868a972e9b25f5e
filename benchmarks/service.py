"""The service under load: readers of /quantiles while spans come in, beside neither and beside plain SQL.

`otel-attrib up` runs in a process of its own with an embedded store; a sender gives it spans at a steady
rate, dated now; readers go round ten questions as dashboards do. Four rounds over one store: spans alone,
spans and readers of the API, spans and readers that send the same SQL to the ClickHouse port, spans alone
once more. Said is how long an answer took, and what became of the spans: acknowledged and stored of those
sent, and the time of an acknowledgement. All of it shares the machine's cores.

    python benchmarks/service.py --seconds 30 --readers 50 --rate 20000 --json service.json
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.process import cpu_s, peak_rss_mib, version_line
from benchmarks.served import served
from benchmarks.spans import SPANS_EACH, exports

HERE = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--readers", type=int, default=50)
    parser.add_argument("--pause", type=float, default=0.1, help="s between an answer and the next question")
    parser.add_argument("--rate", type=float, default=20_000, help="spans a second")
    parser.add_argument("--rounds", default="alone,api,sql,alone", help="comma-separated: %(default)s")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, served(folder) as (pid, ready):
        _round("alone", 3, args, pid, ready)  # what is compiled and cached once, is
        rounds = [_round(kind, args.seconds, args, pid, ready) for kind in args.rounds.split(",")]
        memory = peak_rss_mib(pid)
    document = {"versions": version_line(), **_asked(args), "peak_rss_mib": memory, "rounds": rounds}
    print(_table(document))
    if args.json:
        args.json.write_text(json.dumps(document, indent=1) + "\n")
    return 0


def _round(
    kind: str, seconds: float, args: argparse.Namespace, pid: int, ready: dict[str, Any]
) -> dict[str, Any]:
    before, stored = cpu_s(pid), _stored(ready)
    with tempfile.TemporaryDirectory() as folder:
        per_second = args.rate / SPANS_EACH
        count = int(seconds * per_second)
        every_ns = int(1e9 / per_second)
        for number, body in enumerate(exports(count, "shim", time.time_ns(), time.time_ns(), every_ns)):
            Path(folder, f"{number:06d}").write_bytes(body)
        sender = _begun("paced", ready["otlp_grpc"], folder, per_second)
        readers = None
        if kind != "alone":
            address = ready["http" if kind == "api" else "clickhouse"]
            readers = _begun("readers", kind, address, args.readers, seconds, args.pause)
        told = {"kind": kind, "spans": count * SPANS_EACH, "ingest": _told(sender)}
        if readers:
            told["readers"] = _told(readers)
    told["cpu_cores"] = (cpu_s(pid) - before) / seconds
    told["stored"] = _until_stored(ready, stored + count * SPANS_EACH) - stored
    return told


def _begun(module: str, *words: object) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, str(HERE / f"{module}.py"), *map(str, words)], stdout=subprocess.PIPE
    )


def _told(process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    out, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{process.args!r} ended with {process.returncode}")
    told: dict[str, Any] = json.loads(out)
    return told


def _until_stored(ready: dict[str, Any], spans: int) -> int:
    """What is stored, at once when it is all, else after 10 s without any more."""
    seen, since = _stored(ready), time.monotonic()
    while seen < spans and time.monotonic() - since < 10:
        time.sleep(0.2)
        now = _stored(ready)
        if now > seen:
            seen, since = now, time.monotonic()
    return seen


def _stored(ready: dict[str, Any]) -> int:
    with urlopen(f"{ready['clickhouse']}/", data=b"SELECT count() FROM otel_traces") as answer:
        return int(answer.read())


def _asked(args: argparse.Namespace) -> dict[str, Any]:
    return {name: getattr(args, name) for name in ("seconds", "readers", "pause", "rate")}


def _table(document: dict[str, Any]) -> str:
    lines = [
        f"{document['readers']} readers, {document['rate']:,.0f} spans/s, {document['seconds']:g} s a round;"
        f" {document['versions']}",
        "round   answers/s   P50 ms   P99 ms  faults  spans/s acked  ack P99 ms   stored  service's cores",
    ]
    for each in document["rounds"]:
        read, ingest = each.get("readers"), each["ingest"]
        answers = (
            f"{read['per_second']:9.0f} {read['p50_ms']:8.1f} {read['p99_ms']:8.1f} {read['faults']:7d}"
            if read
            else f"{'-':>9} {'-':>8} {'-':>8} {'-':>7}"
        )
        rate = ingest["sent"] * SPANS_EACH / ingest["seconds"]
        lines.append(
            f"{each['kind']:6} {answers} {rate:14,.0f} {ingest['p99_ms']:11.1f}"
            f" {each['stored'] / each['spans']:8.1%} {each['cpu_cores']:16.2f}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
