"""Messages are found in every layout that exporters write, and a cut file loses only its end."""

from pathlib import Path

import pytest

from otel_attrib.collector.imports.framing import Frame, Torn, elements, frames

FIXTURES = Path(__file__).parents[2] / "fixtures/engine_captures"
BODIES = [(FIXTURES / f"sglang_otlp_00{n}.pb").read_bytes() for n in (1, 2)]


def varint(number: int) -> bytes:
    """A length as protobuf writes it."""
    head = b""
    while number > 0x7F:
        head += bytes([number & 0x7F | 0x80])
        number >>= 7
    return head + bytes([number])


def test_single() -> None:
    """A message alone is one frame."""
    assert [Frame(0, BODIES[0])] == list(frames(BODIES[0]))


def test_varint_delimited() -> None:
    """Messages behind varint lengths."""
    data = b"".join(varint(len(body)) + body for body in BODIES)

    assert BODIES == [frame.body for frame in frames(data) if isinstance(frame, Frame)]


def test_four_byte_delimited() -> None:
    """Messages behind four bytes, as the Collector's file exporter writes them."""
    data = b"".join(len(body).to_bytes(4, "big") + body for body in BODIES)

    assert BODIES == [frame.body for frame in frames(data) if isinstance(frame, Frame)]


@pytest.mark.parametrize("lost", [1, 500])
def test_cut_file_keeps_what_is_whole(lost: int) -> None:
    """The last message of a file that was cut is told as torn, with the byte it starts at."""
    data = b"".join(varint(len(body)) + body for body in BODIES)
    first, torn = frames(data[:-lost])

    assert Frame(0, BODIES[0]) == first
    assert isinstance(torn, Torn)
    assert 2 + len(BODIES[0]) == torn.at


@pytest.mark.parametrize("data", [b"hello", b"\x00\x00", bytes(range(256)), BODIES[0][:-1]])
def test_other_bytes(data: bytes) -> None:
    """What is no export request is torn from its first byte."""
    (torn,) = frames(data)

    assert isinstance(torn, Torn)
    assert 0 == torn.at


def test_elements_put_together_are_the_message() -> None:
    """A message is cut between its resources without a byte changed."""
    both = BODIES[0] + BODIES[1]
    cut = elements(both)

    assert cut is not None
    assert both == b"".join(cut)
    assert 2 == len(cut)
