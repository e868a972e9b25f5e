"""The stages of a request telescope: their sum is the measured time, to the nanosecond."""

from hypothesis import given
from hypothesis import strategies as st

from otel_attrib.instrumentation.facts import First, Last
from otel_attrib.instrumentation.stages import decode_stages, ttft_stages

HERE, ELSEWHERE = 1, 2


def first(
    received: int, done: int, *, kv: int = 0, prefill: int = 0, sample: int = 0, clock: int = HERE
) -> First:
    """Facts of an engine; what the test does not vary is 0."""
    return First(clock, 0, received, done, kv, prefill, sample, 1, 1, 0, 0, 0)


def test_a_request_by_hand() -> None:
    """Each stamp lies where its stage ends, as one can count on paper."""
    engine = first(received=300, done=900, kv=10, prefill=400, sample=50)

    stages = ttft_stages(100, 1000, tokenize=120, submitted=280, engine=engine, clock=HERE)

    assert {
        "ingress": 80,  # 100 → 300, less 120 of tokenize
        "tokenize": 120,
        "queue": 140,  # 300 → 900, less 10 + 400 + 50
        "kv_init": 10,
        "prefill": 400,
        "sample": 50,
        "egress": 100,
        "outside": 0,
    } == stages


def test_no_engine_stamps() -> None:
    """Without the engine's stamps all after the hand-over is outside, and no stage is invented."""
    stages = ttft_stages(0, 1000, tokenize=100, submitted=300, engine=None, clock=HERE)

    assert {"tokenize": 100, "ingress": 200, "outside": 700} == stages


def test_engine_on_another_host() -> None:
    """Stamps of another clock are not subtracted from ours: its durations stay, the rest is outside."""
    engine = first(received=10**12, done=10**12 + 500, kv=20, prefill=300, sample=30, clock=ELSEWHERE)

    stages = ttft_stages(0, 1000, tokenize=100, submitted=300, engine=engine, clock=HERE)

    assert {
        "tokenize": 100,
        "ingress": 200,
        "sample": 30,
        "prefill": 300,
        "kv_init": 20,
        "queue": 150,
        "outside": 200,
    } == stages


def test_stamps_that_cannot_be() -> None:
    """An engine that says it was done after the token was delivered is treated as on another clock."""
    stages = ttft_stages(0, 1000, tokenize=None, submitted=100, engine=first(200, 1100), clock=HERE)

    assert "egress" not in stages
    assert 1000 == sum(stages.values())


@given(
    arrived=st.integers(0, 10**6),
    gaps=st.lists(st.integers(0, 10**9), min_size=5, max_size=5),
    parts=st.tuples(st.integers(-1, 10**9), st.integers(0, 10**9), st.integers(0, 10**9)),
    clock=st.sampled_from([HERE, ELSEWHERE]),
    tokenized=st.booleans(),
)
def test_the_sum_is_the_time(
    arrived: int, gaps: list[int], parts: tuple[int, int, int], clock: int, tokenized: bool
) -> None:
    """Whatever the stamps, the stages are ≥ 0 and add up to the time to the first token exactly."""
    submitted = arrived + gaps[0] + gaps[1]
    received = submitted + gaps[2]
    done = received + gaps[3]
    delivered = done + gaps[4]
    sample, kv, prefill = parts
    engine = first(received, done, kv=kv, prefill=prefill, sample=sample, clock=clock)

    stages = ttft_stages(
        arrived,
        delivered,
        tokenize=gaps[0] if tokenized else None,
        submitted=submitted,
        engine=engine,
        clock=HERE,
    )

    assert delivered - arrived == sum(stages.values())
    assert min(stages.values()) >= 0


def last(done: int, *, forward: int, sample: int = 0, output: int = 0) -> Last:
    """Facts after the first token."""
    return Last(done, forward, sample, output, 9, 0, 1, 0, 0, 0)


def test_decode_by_hand() -> None:
    """Between the first and the last delivery: forward, sample, egress with its drift, the rest waits."""
    stamps = [1000, 1400, 2000]

    stages = decode_stages(stamps, first(0, 950), last(1900, forward=600, sample=100, output=30), HERE)

    # delivered 50 after it was done at first, 100 at last: 50 later, and 30 in the engine
    assert {"forward": 600, "sample": 100, "egress": 80, "batch_wait": 220} == stages


def test_decode_is_unknown_without_a_worker() -> None:
    """A worker that told nothing leaves the decode stages unknown, not zero."""
    assert decode_stages([0, 10], first(0, 0), last(9, forward=-1), HERE) is None
    assert decode_stages([0, 10], None, None, HERE) is None
    assert decode_stages([0], first(0, 0), last(9, forward=5), HERE) is None


@given(
    stamps=st.lists(st.integers(0, 10**9), min_size=2, max_size=50).map(sorted),
    parts=st.tuples(*(st.integers(0, 10**9) for _ in range(4))),
)
def test_decode_adds_up(stamps: list[int], parts: tuple[int, int, int, int]) -> None:
    """The decode stages are ≥ 0 and add up to last − first delivery, overlapping work included."""
    forward, sample, output, done = parts

    stages = decode_stages(
        stamps, first(0, 0), last(done, forward=forward, sample=sample, output=output), HERE
    )

    assert stages is not None
    assert stamps[-1] - stamps[0] == sum(stages.values())
    assert min(stages.values()) >= 0
