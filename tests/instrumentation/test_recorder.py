"""Stamps are taken when a token is delivered: with its chunk when streamed, else when handed over."""

from otel_attrib.instrumentation.recorder import MOST_SEQUENCES, Timeline


def test_not_streamed() -> None:
    """A token that no chunk carries is delivered when the engine hands it over."""
    sequence = Timeline().add("a", 10, False)
    assert sequence is not None

    sequence.took(100, 1)
    sequence.took(250, 2)

    assert [100, 250, 250] == list(sequence.stamps)
    assert 3 == sequence.tokens


def test_streamed_waits_for_the_chunk() -> None:
    """A streamed token is delivered with the next chunk; two in one chunk share its stamp."""
    timeline = Timeline()
    sequence = timeline.add("a", 10, True)
    assert sequence is not None

    sequence.took(100, 1)
    sequence.took(200, 1)
    assert [] == list(sequence.stamps)
    timeline.wrote()
    timeline.wrote()

    assert 2 == len(sequence.stamps)
    assert sequence.stamps[0] == sequence.stamps[1] > 200
    assert 2 == sequence.tokens


def test_a_token_never_written_is_counted_but_not_delivered() -> None:
    """When the client hangs up, tokens of the engine stay output tokens without a stamp."""
    timeline = Timeline()
    sequence = timeline.add("a", 10, True)
    assert sequence is not None

    sequence.took(100, 3)

    assert (3, 0) == (sequence.tokens, len(sequence.stamps))
    assert timeline.leader() is None


def test_the_leader_is_first() -> None:
    """With several sequences the one whose token came first gives the request's TTFT."""
    timeline = Timeline()
    slow, fast = timeline.add("slow", 10, False), timeline.add("fast", 10, False)
    assert slow is not None and fast is not None

    fast.took(100, 1)
    slow.took(200, 1)

    assert timeline.leader() is fast


def test_only_the_first_end_counts() -> None:
    """The last byte ends a request; the clean-up that follows does not move its end."""
    timeline = Timeline()
    timeline.end()
    ended = timeline.ended

    timeline.end()

    assert ended == timeline.ended >= timeline.arrived


def test_sequences_are_bounded() -> None:
    """A search that makes sequences without end does not fill the memory."""
    timeline = Timeline()

    added = [timeline.add(str(number), 1, True) for number in range(MOST_SEQUENCES + 5)]

    assert MOST_SEQUENCES == len(timeline.sequences)
    assert [None] * 5 == added[-5:]


def test_tokenizing_spans_all_prompts() -> None:
    """Two prompts rendered one after the other are tokenized from the first start to the last end."""
    timeline = Timeline()
    timeline.tokenizing()
    started = timeline.tokenize_start
    timeline.tokenized()
    timeline.tokenizing()
    timeline.tokenized()

    assert started == timeline.tokenize_start <= timeline.tokenize_end
