"""What is remembered of acknowledged requests, and for how long."""

import os
from pathlib import Path

from otel_attrib.collector.digests import Digests
from otel_attrib.collector.segment import digest

ONE, TWO, THREE = (digest(word.encode()) for word in ("one", "two", "three"))


class Clock:
    """Seconds that a test turns on; starts at the files' real time."""

    def __init__(self, now: float) -> None:
        """Start somewhere."""
        self.now = now

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


def test_remembered_and_forgotten(tmp_path: Path) -> None:
    """A digest is there at the promised age, and gone a quarter (and one step) later."""
    clock = Clock(1000.0)
    digests = Digests(tmp_path, 600, clock=clock)
    digests.add([ONE])
    for second in range(1001, 1601):
        clock.now = float(second)
        digests.add([digest(str(second).encode())])

    assert ONE in digests
    for second in range(1601, 1900):
        clock.now = float(second)
        digests.add([digest(str(second).encode())])
    assert ONE not in digests
    assert digest(b"1800") in digests


def test_bounded(tmp_path: Path) -> None:
    """However many requests arrive, no more than a quarter above the limit is held."""
    digests = Digests(tmp_path, 600, limit=400)
    for number in range(5000):
        digests.add([number.to_bytes(16, "big")])

    held = sum(number.to_bytes(16, "big") in digests for number in range(5000))
    assert 300 <= held <= 500
    assert (4999).to_bytes(16, "big") in digests


def test_kept_across_a_restart(tmp_path: Path) -> None:
    """Another process knows what was kept, and not what was only added."""
    first = Digests(tmp_path, 600)
    first.add([ONE, TWO])
    first.keep([ONE])
    second = Digests(tmp_path, 600)
    second.keep([THREE])
    third = Digests(tmp_path, 600)

    assert [True, False, True] == [each in third for each in (ONE, TWO, THREE)]


def test_old_files_are_dropped(tmp_path: Path) -> None:
    """A file older than the promise is neither read nor left lying."""
    Digests(tmp_path, 600).keep([ONE])
    (path,) = tmp_path.iterdir()
    os.utime(path, (0, 0))
    later = Digests(tmp_path, 600)
    later.keep([TWO])

    assert ONE not in later
    assert [False] == [path.exists()]


def test_torn_file(tmp_path: Path) -> None:
    """A file cut within a digest gives the whole ones."""
    Digests(tmp_path, 600).keep([ONE, TWO])
    (path,) = tmp_path.iterdir()
    os.truncate(path, 20)
    later = Digests(tmp_path, 600)

    assert [True, False] == [each in later for each in (ONE, TWO)]
