"""What one scrape of an engine's page costs, beside prometheus_client's parser on the same page.

CPU time of this thread alone, the best of many rounds, ours and theirs in turn: the page turned into
readings, and the whole read with HTTP from a server in another process.

    python benchmarks/scrape.py --json build/bench/scrape.json
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from benchmarks.process import version_line
from otel_attrib.collector.sources.scrape.endpoint import Endpoint
from otel_attrib.collector.sources.scrape.mapping import mapping
from otel_attrib.collector.sources.scrape.page import Page
from otel_attrib.collector.sources.scrape.target import target

PAGES = Path(__file__).parents[1] / "tests/fixtures/scrape"
SERVER = """
import functools, http.server, sys
class Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
handler = functools.partial(Quiet, directory=sys.argv[1])
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


def cpu_ms(call: Callable[[], object]) -> float:
    """CPU time of one call on this thread."""
    began = time.thread_time()
    call()
    return (time.thread_time() - began) * 1000


def compared(name: str, kind: str, rounds: int) -> dict[str, float]:
    """One page, ours and theirs in turn."""
    text, ours = (PAGES / f"{name}.txt").read_text(), Page([mapping(kind)])

    def theirs() -> None:
        for family in text_string_to_metric_families(text):
            len(family.samples)

    pairs = [(cpu_ms(lambda: ours.readings(text, time.time())), cpu_ms(theirs)) for _ in range(rounds)]
    mine, other = (min(column) for column in zip(*pairs, strict=True))
    return {"kib": len(text) / 1024, "ours_ms": mine, "prometheus_client_ms": other, "ratio": mine / other}


def whole(name: str, rounds: int) -> float:
    """CPU ms of one read with HTTP."""
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(PAGES)], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        endpoint = Endpoint(target(f"127.0.0.1:{int(server.stdout.readline())}/{name}.txt"))
        taken = [cpu_ms(endpoint.read) for _ in range(rounds)]
        assert endpoint.page is not None
        endpoint.close()
        return min(taken)
    finally:
        server.kill()
        server.wait()


def main() -> None:
    """Print the figures, and write them where --json says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    figures: dict[str, object] = {"versions": version_line()}
    for name, kind in (("vllm", "vllm"), ("sglang", "sglang"), ("dcgm", "dcgm")):
        found = {**compared(name, kind, args.rounds), "with_http_ms": whole(name, args.rounds)}
        figures[name] = found
        print(f"{name}: " + ", ".join(f"{key} {value:.3g}" for key, value in found.items()))
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
