"""Readers of one service, in a process of their own: each asks, waits for the answer, pauses, asks again.

    python benchmarks/readers.py api ADDRESS READERS SECONDS PAUSE
    python benchmarks/readers.py sql ADDRESS READERS SECONDS PAUSE

`api` is GET /api/v1/quantiles over connections that stay open; `sql` the same statements sent to the
ClickHouse port by the library that the command line uses. All readers go round the same ten questions, as
dashboards do, each beginning at another. Prints one JSON object with the times of the answers.
"""

import asyncio
import json
import sys
import threading
import time
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

if TYPE_CHECKING:
    from otel_attrib.analytics.quantiles_object import Words

QUESTIONS: list[dict[str, str]] = [
    *({"metric": metric, "last": "15m", "step": "30s"} for metric in ("ttft", "tpot", "tbt", "e2e")),
    *({"metric": metric, "last": "15m", "step": "30s", "by": "model"} for metric in ("ttft", "tpot")),
    {"metric": "ttft", "quantile": "0.95", "last": "15m", "step": "30s"},
    {"metric": "ttft", "last": "1h", "step": "1m"},
    {"metric": "ttft", "last": "5m", "step": "10s", "window": "1m"},
    {"metric": "ttft", "last": "15m", "step": "30s", "by": "node"},
]


def main() -> int:
    kind, address = sys.argv[1:3]
    readers, seconds, pause = int(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5])
    if kind == "api":
        times, faults, size = asyncio.run(_api(address, readers, seconds, pause))
    else:
        times, faults, size = _sql(address, readers, seconds, pause)
    times.sort()
    at = {f"p{level}_ms": times[int(level / 100 * (len(times) - 1))] * 1e3 for level in (50, 90, 99)}
    print(
        json.dumps(
            {"answers": len(times), "faults": faults, "per_second": len(times) / seconds, "bytes": size, **at}
        )
    )
    return 0


async def _api(address: str, readers: int, seconds: float, pause: float) -> tuple[list[float], int, int]:
    host, end = urlsplit(address).netloc, time.perf_counter() + seconds
    times: list[float] = []
    told = {"faults": 0, "bytes": 0}

    async def read(number: int) -> None:
        name, _, port = host.partition(":")
        reader, writer = await asyncio.open_connection(name, int(port))
        await asyncio.sleep(pause * number / readers)
        turn = number
        while time.perf_counter() < end:
            path = f"/api/v1/quantiles?{urlencode(QUESTIONS[turn % len(QUESTIONS)])}"
            began = time.perf_counter()
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: gzip\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            times.append(time.perf_counter() - began)
            told["bytes"] += length
            told["faults"] += not head.startswith(b"HTTP/1.1 200")
            turn += 1
            await asyncio.sleep(pause)
        writer.close()

    await asyncio.gather(*(read(number) for number in range(readers)))
    return times, told["faults"], told["bytes"]


def _words(asked: dict[str, str]) -> "Words":
    from otel_attrib.analytics.quantiles_object import Words

    window, by = asked.get("window", "5m"), asked.get("by", "")
    return Words(
        asked["metric"], float(asked.get("quantile", "0.99")), window, asked["step"], asked["last"], by
    )


def _sql(address: str, readers: int, seconds: float, pause: float) -> tuple[list[float], int, int]:
    from otel_attrib.analytics.quantiles_object import ask_quantiles
    from otel_attrib.errors import StoreError
    from otel_attrib.schema.store import open_store

    end = time.perf_counter() + seconds
    times: list[float] = []
    faults: list[str] = []
    asked = [_words(each) for each in QUESTIONS]
    with open_store(f"clickhouse://{urlsplit(address).netloc}/otel_attrib") as store:

        def read(number: int) -> None:
            time.sleep(pause * number / readers)
            turn = number
            while time.perf_counter() < end:
                began = time.perf_counter()
                try:
                    ask_quantiles(store, asked[turn % len(asked)])
                except StoreError as fault:
                    faults.append(str(fault))
                times.append(time.perf_counter() - began)
                turn += 1
                time.sleep(pause)

        threads = [threading.Thread(target=read, args=(number,)) for number in range(readers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return times, len(faults), 0


if __name__ == "__main__":
    sys.exit(main())
