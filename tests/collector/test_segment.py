"""One spool file: whole records survive whatever happened to the rest."""

import os
from pathlib import Path

import pytest

from otel_attrib.collector.segment import OpenSegment, Record, Segment, digest, read, recover


def record(text: str, items: int = 1) -> Record:
    """One record that carries `text`."""
    return Record(text.encode(), items, digest(text.encode()))


@pytest.fixture
def segment(tmp_path: Path) -> Segment:
    """A closed file with three records of 1, 2 and 3 items."""
    open_segment = OpenSegment(tmp_path, "traces")
    open_segment.append([record("first"), record("second" * 20_000, 2)])
    open_segment.append([record("third", 3)])
    return open_segment.close()


def test_what_is_written_is_read(segment: Segment) -> None:
    """Payloads, counts, size, signal and token come back."""
    records, damaged, whole = recover(segment.path)

    assert [record("first"), record("second" * 20_000, 2), record("third", 3)] == records
    assert (0, segment.path.stat().st_size) == (damaged, whole)
    assert (6, segment.size, "traces") == (segment.items, whole, segment.signal)
    assert records == read(segment.path)
    assert segment.path.name == f"{segment.token}.seg"
    assert tuple(r.digest for r in records) == segment.digests


@pytest.mark.parametrize("lost", [1, 5, 20, 32])
def test_torn_tail(segment: Segment, lost: int) -> None:
    """A file that ends within its last record gives the records before it."""
    os.truncate(segment.path, segment.size - lost)

    records, damaged, whole = recover(segment.path)

    assert [1, 2] == [r.items for r in records]
    assert (0, segment.size - record("third").size) == (damaged, whole)


def test_tail_of_zeros(segment: Segment) -> None:
    """Room that the file system gave but never filled is a torn tail."""
    os.truncate(segment.path, segment.size + 4096)

    records, damaged, whole = recover(segment.path)

    assert (3, 0, segment.size) == (len(records), damaged, whole)


def test_last_payload_not_on_disk(segment: Segment) -> None:
    """A last record whose header was synced and whose payload was not is a torn tail as well."""
    with segment.path.open("r+b") as file:
        file.seek(segment.size - 5)
        file.write(bytes(5))

    records, damaged, whole = recover(segment.path)

    assert (2, 0, segment.size - record("third", 3).size) == (len(records), damaged, whole)


def test_damage_in_the_middle(segment: Segment) -> None:
    """A flipped bit costs the record it is in, and no other."""
    with segment.path.open("r+b") as file:
        file.seek(8 + record("first").size + 100)
        file.write(b"\xff")

    records, damaged, whole = recover(segment.path)

    assert [1, 3] == [r.items for r in records]
    assert (1, segment.size) == (damaged, whole)


@pytest.mark.parametrize("data", [b"", b"OAS", b"something else"])
def test_foreign_file(tmp_path: Path, data: bytes) -> None:
    """A file without the magic word holds nothing of ours."""
    path = tmp_path / "traces-1.seg"
    path.write_bytes(data)

    assert ([], 0, 0) == recover(path)


def test_failed_write_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk fills within the second of three records, none of the three is there."""
    open_segment = OpenSegment(tmp_path, "logs")
    open_segment.append([record("before")])
    write, calls = os.write, []

    def full_later(fd: int, data: bytes) -> int:
        calls.append(fd)
        if len(calls) == 2:
            write(fd, data[:3])
            raise OSError(28, "No space left on device")
        return write(fd, data)

    monkeypatch.setattr(os, "write", full_later)
    with pytest.raises(OSError, match="No space"):
        open_segment.append([record("a"), record("b"), record("c")])
    monkeypatch.undo()
    open_segment.append([record("after")])

    assert [b"before", b"after"] == [r.payload for r in read(open_segment.close().path)]


def test_failed_creation_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk at the first byte leaves the directory empty."""

    def full(fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        OpenSegment(tmp_path, "logs")

    assert [] == list(tmp_path.iterdir())
