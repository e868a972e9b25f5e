"""Decompression never gives more than the limit, and sniffing never takes a request for compressed bytes."""

import gzip
import random
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_attrib import testing_otlp as bodies
from otel_attrib.collector.inflate import inflate, sniff
from otel_attrib.collector.refusal import Refusal


@given(st.binary(max_size=5000), st.sampled_from(["gzip", "deflate"]))
def test_round_trip(data: bytes, encoding: str) -> None:
    """What was compressed comes back, up to exactly the limit."""
    packed = gzip.compress(data) if encoding == "gzip" else zlib.compress(data)

    assert data == inflate(packed, encoding, len(data))
    assert encoding == sniff(packed)


@pytest.mark.parametrize("size", [1001, 50 << 20])
def test_limit(size: int) -> None:
    """One byte too many is refused, and so is a bomb; neither is expanded much beyond the limit."""
    packed = gzip.compress(bytes(size))
    tracemalloc.start()
    with pytest.raises(Refusal, match="larger than 1000 bytes"):
        inflate(packed, "gzip", 1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 100_000


def test_members() -> None:
    """Members follow one another, within one reading step and across several; thousands are refused."""
    large = random.Random(1).randbytes(200_000)

    assert large + b"a" + large == inflate(
        b"".join(map(gzip.compress, (large, b"a", large))), "gzip", 400_001
    )
    assert b"" == inflate(gzip.compress(b"") * 2000, "gzip", 0)
    with pytest.raises(Refusal, match="more than 2000") as caught:
        inflate(gzip.compress(b"") * 500_000, "gzip", 1000)
    assert "malformed" == caught.value.name


@given(st.binary(max_size=2000), st.integers(1, 17))
def test_truncated(data: bytes, lost: int) -> None:
    """A stream without its end is refused."""
    with pytest.raises(Refusal) as caught:
        inflate(gzip.compress(data)[:-lost], "gzip", 10_000)

    assert "malformed" == caught.value.name


def test_requests_are_not_compressed() -> None:
    """No signal's request begins like gzip or zlib."""
    for make in (bodies.traces, bodies.metrics, bodies.logs):
        assert "" == sniff(make(1).SerializeToString())
    assert "" == sniff(b"")
