"""A sender at a steady rate, in a process of its own: ready-made OTLP bytes over gRPC, each at its time.

    python benchmarks/paced.py ADDRESS FOLDER PER_SECOND

FOLDER holds one file an export request. Prints one JSON object: how many were acknowledged, over what time,
and how long the acknowledgements took.
"""

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import grpc

_METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_CONNECTIONS = 8


def main() -> int:
    address, folder, per_second = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
    bodies = [path.read_bytes() for path in sorted(folder.iterdir())]
    with grpc.insecure_channel(urlsplit(address).netloc) as channel:
        export: Callable[..., bytes] = channel.unary_unary(_METHOD)
        began = time.perf_counter()

        def send(number: int) -> float:
            at = began + number / per_second
            time.sleep(max(0.0, at - time.perf_counter()))
            export(bodies[number], timeout=60)
            return time.perf_counter() - at  # from when it was due: a sender that lags says so

        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            took = sorted(pool.map(send, range(len(bodies))))
        lasted = time.perf_counter() - began
    told = {"sent": len(bodies), "seconds": lasted, "p50_ms": took[len(took) // 2] * 1e3}
    print(json.dumps({**told, "p99_ms": took[int(0.99 * (len(took) - 1))] * 1e3}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
