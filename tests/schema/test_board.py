"""The board: slots seen whole or not at all, whose file it is, and what lies between two slots."""

import os
import struct
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import pytest

from otel_attrib.schema.board import FIELDS, SLOTS, Reader, Writer, places, trusted

MS = 1_000_000
CLOCK, WAIT = FIELDS.index("gpu_clock"), FIELDS.index("run_queue_wait")


def integrals(**values: float) -> list[float]:
    """The integral of each field; those not named are nought."""
    return [values.get(name, 0.0) for name in FIELDS]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the board stands."""
    return tmp_path / "otel-attrib/board"


def filled(path: Path, slots: int, every: int = 100 * MS) -> Writer:
    """A card whose clock is 1000 MHz in even slots and 2000 in odd ones."""
    writer = Writer(path)
    ring = writer.ring("0", ["gpu_clock"])
    assert ring is not None
    total = 0.0
    for number in range(slots):
        total += (1000.0 + 1000.0 * (number % 2)) * every / 1e9 if number else 0.0
        writer.put(ring, 10**9 + number * every, number * every / 1e9, integrals(gpu_clock=total))
    return writer


@pytest.mark.parametrize("slots", [3, 50, SLOTS - 1, SLOTS, SLOTS + 1, 3 * SLOTS + 77])
def test_means_between_any_two_slots(path: Path, slots: int) -> None:
    """Whatever the lap of the ring, the mean is that of the readings between, and coverage is full."""
    filled(path, slots)
    reader = Reader(path)
    newest = reader.newest()
    assert 10**9 + (slots - 1) * 100 * MS == newest

    for back in {2, min(slots - 1, 40), min(slots - 1, SLOTS - 60)}:
        (found,) = reader.between("0", newest - back * 100 * MS, newest)

        numbers = range(slots - back, slots)
        expected = sum(1000 + 1000 * (number % 2) for number in numbers) / back
        assert pytest.approx(expected) == found.grown["gpu_clock"] / found.known
        assert pytest.approx(1.0) == found.coverage


def test_between_two_slots(path: Path) -> None:
    """A tenth of the time between two slots gets a tenth of what grew, and a tenth of coverage."""
    filled(path, 3)

    (found,) = Reader(path).between("0", 10**9 + 140 * MS, 10**9 + 150 * MS)

    assert pytest.approx((10.0, 0.01)) == (found.grown["gpu_clock"], found.known)
    assert pytest.approx(0.1) == found.coverage


def test_past_the_slots(path: Path) -> None:
    """Time after the last slot or before the ring's memory is not covered, and not guessed."""
    filled(path, SLOTS + 500)
    reader = Reader(path)
    newest = reader.newest()

    (half,) = reader.between("0", newest - 1000 * MS, newest + 1000 * MS)

    assert pytest.approx(0.5) == half.coverage
    assert [] == reader.between("0", newest + 1, newest + MS)
    assert [] == reader.between("0", 10**9, 10**9 + 300 * MS)
    assert [] == reader.between("1", newest - MS, newest)


def test_a_torn_slot_is_not_seen(path: Path) -> None:
    """A slot half of which is another's, as a reader may find it while it is written, counts as none."""
    filled(path, 20)
    reader = Reader(path)
    newest = reader.newest()
    ring = reader._seen()[0]
    with path.open("r+b") as file:
        file.seek(ring.at + 19 * 88 + 24 + 8 * CLOCK)
        file.write(struct.pack("<d", 1e9))

    assert [] == reader.between("0", newest - 500 * MS, newest)
    assert [] != reader.between("0", newest - 900 * MS, newest - 200 * MS)


def test_no_torn_slot_while_it_is_written(path: Path) -> None:
    """Read as fast as can be beside a writer that laps it: every answer is that of whole slots."""
    writer = Writer(path)
    ring = writer.ring("", ["run_queue_wait"])
    assert ring is not None
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            writer.put(ring, number * MS, number / 1e3, integrals(run_queue_wait=number / 1e3))
            number += 1

    thread = threading.Thread(target=write)
    thread.start()
    reader = Reader(path)
    seen = 0
    try:
        while seen < 2000:
            newest = reader.newest()
            for found in reader.between("", newest - 200 * MS, newest - 50 * MS):
                assert pytest.approx(found.known) == found.grown["run_queue_wait"]
                seen += 1
    finally:
        stop.set()
        thread.join()


def test_another_process_reads_it(path: Path) -> None:
    """What one process writes another one maps, with nothing but the standard library."""
    writer = filled(path, 5)
    writer.device("0", "GPU-5ab1")
    code = (
        "import sys; from pathlib import Path; from otel_attrib.schema.board import Reader\n"
        "reader = Reader(Path(sys.argv[1])); print(reader.newest(), reader.devices(), reader.cards())"
    )

    told = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)

    assert f"{10**9 + 400 * MS} {{'GPU-5ab1': '0'}} {{'0'}}" == told.stdout.strip()


def test_of_another_boot(path: Path) -> None:
    """Times of another boot or another time namespace mean nothing here."""
    Writer(path, boot="another")

    with pytest.raises(ValueError, match="another boot"):
        Reader(path)


def test_who_may_have_written_it(path: Path) -> None:
    """A file that others can write is not believed."""
    filled(path, 3)
    os.chmod(path, 0o666)

    with pytest.raises(ValueError, match="others may write"):
        Reader(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's file takes root to make")
def test_an_agent_with_a_user_of_its_own(path: Path, tmp_path: Path) -> None:
    """Another user's file is believed in a folder that root made for that user, and nowhere else."""
    filled(path, 3)
    os.chown(path, 65534, 65534)
    assert not trusted(path)

    os.chown(path.parent, 65534, 65534)
    assert trusted(path)
    tmp_path.chmod(0o777)
    assert not trusted(path)


def test_no_board_and_no_board_of_ours(tmp_path: Path) -> None:
    """A missing file is an OSError, a foreign one a ValueError; nothing else comes out."""
    foreign = tmp_path / "foreign"
    foreign.write_bytes(bytes(100))
    foreign.chmod(0o644)

    with pytest.raises(OSError, match="No such file"):
        Reader(tmp_path / "none")
    with pytest.raises(ValueError, match="no board"):
        Reader(foreign)


def test_a_new_writer_takes_the_place(path: Path) -> None:
    """A second agent's board replaces the first; what was mapped stays, and closing the first leaves it."""
    first = filled(path, 3)
    reader = Reader(path)
    filled(path, 6)
    first.close()

    assert 10**9 + 200 * MS == reader.newest()
    assert 10**9 + 500 * MS == Reader(path).newest()


def test_closing_takes_it_away(path: Path) -> None:
    """No file stays behind, nor the one that it was made aside as."""
    filled(path, 3).close()

    assert [] == list(path.parent.iterdir())


def test_room_is_bounded(path: Path) -> None:
    """The 257th ring and the 129th device are refused, and nothing breaks."""
    writer = Writer(path)

    rings = [writer.ring(str(number), ["gpu_clock"]) for number in range(257)]
    for number in range(130):
        writer.device(str(number), f"GPU-{number}")

    assert [*range(256), None] == rings
    assert 128 == len(Reader(path).devices())


def test_the_checksum_is_crc_32(path: Path) -> None:
    """The layout is fixed: number, time, seconds, one number a field, CRC-32 of all that, little-endian."""
    writer = Writer(path)
    ring = writer.ring("", ["run_queue_wait"])
    assert ring == 0
    writer.put(0, 5, 0.5, integrals(run_queue_wait=2.0))
    body = struct.pack(f"<Qqd{len(FIELDS)}d", 0, 5, 0.5, *integrals(run_queue_wait=2.0))

    assert body + struct.pack("<II", zlib.crc32(body), 0) in path.read_bytes()[: 64 * 1024]


def test_where_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable names it alone; else the machine's place, the user's, shared memory."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    usual = ["/run/otel-attrib/board", "/run/user/7/otel-attrib/board", "/dev/shm/otel-attrib-board"]
    assert usual == [str(path) for path in places()]

    monkeypatch.setenv("OTEL_ATTRIB_BOARD", "/x/board")
    assert [Path("/x/board")] == list(places())
