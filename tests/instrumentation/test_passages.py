"""The engine's accounts of a request, step by step, with one and with two batches in flight."""

import pytest

from otel_attrib.instrumentation.vllm.passages import Batch, Passages, Times

CLOCK = 1


class Engine:
    """Drives `Passages` with times that a test writes down."""

    def __init__(self) -> None:
        """No request yet."""
        self.passages = Passages(CLOCK)
        self.done = 0

    def schedule(self, start: int, end: int, prompts: dict[str, tuple[int, bool]], size: int = 1) -> Batch:
        """Put a batch together: request → (tokens of its prompt, whether more follow)."""
        self.passages.step += 1
        batch = Batch(object(), self.passages.step, start, end, size, (0, 0, 0, 0))
        for request, (tokens, more) in prompts.items():
            self.passages.schedule(batch, request, tokens, more=more)
        return batch

    def compute(self, batch: Batch, ready: int, done: int, finished: int | None = None) -> Times:
        """The batch is through: logits at `ready`, token ids at `done`."""
        times = Times(max(batch.end, self.done), ready, done, done if finished is None else finished)
        self.passages.compute(batch, times, ready - times.begun, done - ready)
        self.done = done
        return times


@pytest.fixture
def engine() -> Engine:
    """An idle engine."""
    return Engine()


def test_one_step(engine: Engine) -> None:
    """Received at 100, scheduled 200–210, logits at 500, token at 520: all of it is accounted for."""
    engine.passages.receive("a", 100)
    batch = engine.schedule(200, 210, {"a": (50, False)})
    times = engine.compute(batch, 500, 520)

    first = engine.passages.first_token("a", batch, times, 20)

    assert first is not None
    assert (100, 520) == (first.received, first.done)
    assert (290, 20, 0) == (first.prefill, first.sample, first.kv)
    assert (1, 1) == (first.chunks, first.step)


def test_chunks_are_summed_and_what_is_between_is_queue(engine: Engine) -> None:
    """Two chunks of 100 and 150 with 70 between them: prefill 250 − 20 of sampling, two chunks."""
    engine.passages.receive("a", 0)
    one = engine.schedule(0, 10, {"a": (256, True)})
    engine.compute(one, 105, 110)
    two = engine.schedule(170, 180, {"a": (44, False)})
    times = engine.compute(two, 310, 330)

    first = engine.passages.first_token("a", two, times, 20)

    assert first is not None
    assert (100 + 150 - 20, 2) == (first.prefill, first.chunks)
    assert 70 + 10 == (first.done - first.received) - first.prefill - first.sample


def test_two_batches_in_flight(engine: Engine) -> None:
    """A batch scheduled while another computes starts when that one is done: until then it queues."""
    engine.passages.receive("a", 0)
    engine.passages.receive("b", 0)
    one = engine.schedule(0, 10, {"a": (50, False)})
    two = engine.schedule(20, 30, {"b": (50, False)})
    times_one = engine.compute(one, 190, 200)
    engine.passages.first_token("a", one, times_one, 10)
    times_two = engine.compute(two, 390, 400)

    first = engine.passages.first_token("b", two, times_two, 10)

    assert first is not None
    assert 190 == first.prefill  # 200 → 390, not 30 → 390
    assert 200 == (first.done - first.received) - first.prefill - first.sample


def test_chunks_in_flight_do_not_count_twice(engine: Engine) -> None:
    """Two chunks of one request in flight at once add up to the time that was really computed."""
    engine.passages.receive("a", 0)
    one = engine.schedule(0, 10, {"a": (256, True)})
    two = engine.schedule(20, 30, {"a": (44, False)})
    engine.compute(one, 205, 210)
    times = engine.compute(two, 400, 410)

    first = engine.passages.first_token("a", two, times, 10)

    assert first is not None
    assert (210 - 10) + (410 - 210) - 10 == first.prefill


def test_kv_loading_waits_are_kv_init(engine: Engine) -> None:
    """Blocks on their way from another machine hold a request up: that is kv_init, up to its schedule."""
    engine.passages.receive("a", 0)
    engine.passages.opening["a"].loading = 50
    batch = engine.schedule(300, 310, {"a": (5, False)})
    times = engine.compute(batch, 400, 410)

    first = engine.passages.first_token("a", batch, times, 10)

    assert first is not None
    assert 250 == first.kv


def test_decode_sums(engine: Engine) -> None:
    """The steps between the first and the last token are summed, the first token's own step is not."""
    engine.passages.receive("a", 0)
    one = engine.schedule(0, 10, {"a": (50, False)}, size=4)
    engine.passages.first_token("a", one, engine.compute(one, 90, 100), 10)
    two = engine.schedule(110, 120, {}, size=2)
    engine.compute(two, 200, 207, finished=210)
    three = engine.schedule(220, 230, {}, size=4)
    times = engine.compute(three, 320, 325, finished=330)

    last = engine.passages.finish("a", three, times)

    assert last is not None
    assert (80 + 90, 7 + 5, 3 + 5) == (last.forward, last.sample, last.output)
    assert (3, 6, 2) == (last.step, last.batch_sum, last.batch_steps)
    assert 325 == last.done


def test_one_token_has_no_decode_steps(engine: Engine) -> None:
    """A request of one token has its batch size and no decode time."""
    engine.passages.receive("a", 0)
    batch = engine.schedule(0, 10, {"a": (50, False)}, size=3)
    times = engine.compute(batch, 90, 100)
    engine.passages.first_token("a", batch, times, 10)

    last = engine.passages.finish("a", batch, times)

    assert last is not None
    assert (0, 0, 0) == (last.forward, last.sample, last.output)
    assert (3, 1) == (last.batch_sum, last.batch_steps)


def test_a_preempted_request_is_not_charged_with_the_others_steps(engine: Engine) -> None:
    """Steps between a preemption and the resumption served others; they are left out."""
    engine.passages.receive("a", 0)
    one = engine.schedule(0, 10, {"a": (50, False)})
    engine.passages.first_token("a", one, engine.compute(one, 90, 100), 10)
    engine.passages.preempt("a")
    other = engine.schedule(110, 120, {})
    engine.compute(other, 1000, 1010)
    back = engine.schedule(1020, 1030, {"a": (51, False)})
    times = engine.compute(back, 1130, 1140)

    last = engine.passages.finish("a", back, times)

    assert last is not None
    assert (100, 10, 1) == (last.forward, last.sample, last.preemptions)
    assert 51 == back.prefill_tokens


def test_preempted_before_its_first_token(engine: Engine) -> None:
    """A request preempted amid its prompt queues again; what was computed before stays prefill."""
    engine.passages.receive("a", 0)
    one = engine.schedule(0, 10, {"a": (256, True)})
    engine.compute(one, 100, 110)
    engine.passages.preempt("a")
    again = engine.schedule(500, 510, {"a": (300, False)})
    times = engine.compute(again, 700, 710)

    first = engine.passages.first_token("a", again, times, 10)

    assert first is not None
    assert (100 + 190, 2, 1) == (first.prefill, first.chunks, first.preemptions)


def test_a_silent_worker_leaves_decode_unknown(engine: Engine) -> None:
    """One step without its worker's numbers makes the sums unknown, not too small."""
    engine.passages.receive("a", 0)
    one = engine.schedule(0, 10, {"a": (50, False)})
    engine.passages.first_token("a", one, engine.compute(one, 90, 100), 10)
    two = engine.schedule(110, 120, {})
    times = Times(120, 200, 200, 200)
    engine.passages.compute(two, times, -1, -1)

    last = engine.passages.finish("a", two, times)

    assert last is not None
    assert (-1, -1) == (last.forward, last.sample)


def test_aborted_requests_are_forgotten(engine: Engine) -> None:
    """Nothing stays of a request that was aborted, wherever it was."""
    passages = engine.passages
    for request in ("waiting", "chunking", "running", "paused"):
        passages.receive(request, 0)
    batch = engine.schedule(0, 10, {"chunking": (9, True), "running": (9, False), "paused": (9, False)})
    times = engine.compute(batch, 90, 100)
    passages.first_token("running", batch, times, 10)
    passages.first_token("paused", batch, times, 10)
    passages.preempt("paused")

    passages.forget(["waiting", "chunking", "running", "paused", "never seen"])

    assert [{}, {}, {}, {}] == [passages.opening, passages.chunking, passages.running, passages.paused]


def test_maxima_since_it_came(engine: Engine) -> None:
    """The largest queue and cache use are those since the request came, not before."""
    passages = engine.passages
    passages.step = 1
    passages.waiting_max.add(1, 99)
    passages.receive("a", 0)
    batch = engine.schedule(0, 10, {"a": (50, False)})
    passages.waiting_max.add(batch.number, 4)
    passages.kv_usage_max.add(batch.number, 250_000)

    first = passages.first_token("a", batch, engine.compute(batch, 90, 100), 10)

    assert first is not None
    assert (4, 250_000) == (first.waiting_max, first.kv_usage_max_ppm)
