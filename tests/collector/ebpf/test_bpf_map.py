"""A map of the kernel's, read in one go and entry by entry."""

import ctypes
import os
import platform
import struct
from collections.abc import Iterator

import pytest

from otel_attrib.collector.sources.ebpf.bpf_map import BpfMap

HASH = 1


def make(entries: int) -> int:
    """Make a hash of 4-byte keys and 12-byte values by bpf(2)."""
    number = {"x86_64": 321, "aarch64": 280}.get(platform.machine())
    if number is None:
        pytest.skip("no bpf(2) known here")
    attributes = ctypes.create_string_buffer(struct.pack("=IIIII", HASH, 4, 12, entries, 0), 128)
    fd: int = ctypes.CDLL(None, use_errno=True).syscall(number, 0, attributes, 128)
    if fd < 0:
        pytest.skip(f"no map can be made: {os.strerror(ctypes.get_errno())}")
    return fd


@pytest.fixture(params=[True, False], ids=["batches", "one by one"])
def table(request: pytest.FixtureRequest) -> Iterator[BpfMap]:
    """An empty map of 1009 entries at most, read in either way."""
    found = BpfMap(make(1009), "I", "IQ", 1009)
    found._batches = request.param
    yield found
    found.close()


def test_what_was_written_is_read(table: BpfMap) -> None:
    """All 997 entries come back, each once, in the tuples they were given in."""
    expected = {(key,): (key % 7, key << 33) for key in range(997)}
    for key, value in expected.items():
        table.put(key, value)

    items = table.items()

    assert len(expected) == len(items)
    assert expected == dict(items)
    assert (3, 3 << 33) == table.get(3)


def test_a_new_entry_does_not_replace_one(table: BpfMap) -> None:
    """`put_new` leaves what is there and says so; `drop` takes it out, once or twice."""
    assert table.put_new((5,), (1, 2))
    assert not table.put_new((5,), (3, 4))
    assert (1, 2) == table.get(5)

    table.drop(5)
    table.drop(5)

    assert table.get(5) is None
    assert [] == table.items()


def test_a_full_map_is_an_error_of_the_system(table: BpfMap) -> None:
    """The entry beyond the last is refused, not lost."""
    with pytest.raises(OSError, match="Argument list too long"):
        for key in range(1010):
            table.put((key,), (0, 0))


def test_raw_bytes_are_keys_and_values_in_the_same_order(table: BpfMap) -> None:
    """What numpy reads is what the tuples say."""
    for key in range(13):
        table.put((key,), (key, key * key))

    keys, values = table.raw()

    unpacked = zip(struct.iter_unpack("=I", keys), struct.iter_unpack("=IQ", values), strict=True)
    assert sorted(table.items()) == sorted(unpacked)


def test_a_closed_map_may_be_closed_again(table: BpfMap) -> None:
    """Closing twice closes no file of somebody else."""
    table.close()
    other = os.open("/dev/null", os.O_RDONLY)
    table.close()

    os.fstat(other)
    os.close(other)
