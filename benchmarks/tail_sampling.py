"""What tail sampling and log correlation cost, in µs, beside the same without them.

Background thread: a finished request with 64 tokens is turned into spans (exported nowhere) without tail
sampling, with it at shares of 1/2, 1/10 and 1/100, and the choice alone. Log lines: a record made by the
factory of the host, by ours outside of any request (with 4096 remembered ids), and in a request. Medians.

    python benchmarks/tail_sampling.py --json build/bench/tail_sampling.json
"""

import argparse
import json
import logging
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanContext, TraceFlags

from otel_attrib.instrumentation import background
from otel_attrib.instrumentation.logs import correlate
from otel_attrib.instrumentation.recorder import CURRENT, Timeline
from otel_attrib.instrumentation.sampling.rules import TailRules
from otel_attrib.instrumentation.sampling.tail import TailSampler
from otel_attrib.instrumentation.spans import SpanWriter

MS = 1_000_000


class Nowhere(SpanExporter):
    """Takes batches and forgets them."""

    def export(self, spans: Any) -> SpanExportResult:
        """Succeed."""
        return SpanExportResult.SUCCESS


def request(chance: random.Random) -> Timeline:
    """A finished request of one of four models."""
    trace = f"00-{chance.getrandbits(128):032x}-{1:016x}-01"
    made = Timeline("chat", "/v1/chat/completions", [(b"host", b"a"), (b"traceparent", trace.encode())])
    made.arrived, made.wall, made.status_code = 0, time.time_ns(), 200
    made.model, made.submitted = f"model-{chance.randrange(4)}", 5 * MS
    sequence = made.add("a", chance.randrange(512, 1024), False)
    assert sequence is not None
    ttft = chance.lognormvariate(4, 0.5)
    for number in range(64):
        sequence.took(round((ttft + 12 * number) * MS), 1)
    made.ended = sequence.stamps[-1] + MS
    return made


def writing(share: float | None, count: int) -> float:
    """Seconds to write `count` requests."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(Nowhere(), max_queue_size=1 << 16))
    tail = None if share is None else TailSampler(TailRules(share, {}))
    tracer = provider.get_tracer("bench")
    writer = SpanWriter(requests=tracer, steps=tracer, tail=tail)
    background.BUDGET = background.Budget(0.0)
    chance = random.Random(1)
    timelines = [request(chance) for _ in range(count)]
    for timeline in timelines:
        writer.queue.append((timeline, "vllm"))
    before = time.thread_time()
    writer.drain()
    spent = time.thread_time() - before
    provider.shutdown()
    return spent


def choosing(count: int) -> float:
    """Seconds to choose `count` times."""
    chance, sampler = random.Random(1), TailSampler(TailRules(0.1, {}))
    asked = [
        (request(chance), SpanContext(chance.getrandbits(128), 1, False, TraceFlags(1))) for _ in range(count)
    ]
    before = time.thread_time()
    for timeline, context in asked:
        sampler.choose(timeline, context)
    return time.thread_time() - before


def logging_lines(where: str, count: int) -> float:
    """Seconds to make `count` log records."""
    logging.setLogRecordFactory(logging.LogRecord)
    token = None
    if where != "host":
        correlate.correlate_logs()
        for number in range(correlate.MOST_REQUESTS):
            correlate.remember(Timeline("chat"), f"chatcmpl-{number:032x}")
    if where == "request":
        token = CURRENT.set(Timeline("chat"))
    make, args = logging.getLogRecordFactory(), ("chatcmpl-x", 17)
    before = time.thread_time()
    for _ in range(count):
        make("vllm.engine", 20, "engine.py", 1, "Received request %s: %d tokens in the prompt", args, None)
    spent = time.thread_time() - before
    if token is not None:
        CURRENT.reset(token)
    correlate.REQUESTS.clear()
    logging.setLogRecordFactory(logging.LogRecord)
    return spent


CASES: dict[str, Callable[[int], float]] = {
    "request, no tail sampling": lambda count: writing(None, count),
    "request, share 1/2": lambda count: writing(0.5, count),
    "request, share 1/10": lambda count: writing(0.1, count),
    "request, share 1/100": lambda count: writing(0.01, count),
    "the choice alone": choosing,
    "log record, host's": lambda count: logging_lines("host", 10 * count),
    "log record, ours, no request": lambda count: logging_lines("none", 10 * count),
    "log record, ours, in a request": lambda count: logging_lines("request", 10 * count),
}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=6000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    figures = {}
    for name, measure in CASES.items():
        count = args.requests * (10 if name.startswith("log") else 1)
        figures[name] = 1e6 * statistics.median(measure(args.requests) for _ in range(args.repeats)) / count
        print(f"{name:<32}{figures[name]:>9.2f} µs")
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
