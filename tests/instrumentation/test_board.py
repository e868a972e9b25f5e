"""What a span says of cards and host, and that without an agent it says nothing."""

from collections.abc import Iterator
from pathlib import Path
from time import monotonic_ns

import pytest

from otel_attrib.instrumentation import board as board_module
from otel_attrib.instrumentation.board import cards_of, indices, seen
from otel_attrib.instrumentation.recorder import Timeline
from otel_attrib.instrumentation.request_span import attributes_of, gpu_set
from otel_attrib.instrumentation.shim import FAULTS
from otel_attrib.schema.board import FIELDS, Writer

MS = 1_000_000
CARD = {"sm_activity": 0.5, "sm_occupancy": 0.25, "dram_activity": 0.4, "gpu_utilization": 0.9}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the board would be; none was looked for yet."""
    monkeypatch.setenv("OTEL_ATTRIB_BOARD", str(tmp_path / "board"))
    monkeypatch.setattr(board_module, "_BOARD", board_module._Board())
    yield tmp_path / "board"


def written(path: Path, **cards: dict[str, float]) -> int:
    """A board of the last ten seconds: each card's means (`host` for the host); returns its end."""
    writer, now = Writer(path), monotonic_ns()
    for card, means in cards.items():
        ring = writer.ring("" if card == "host" else card.removeprefix("c"), means)
        assert ring is not None
        for number in range(101):
            known = number / 10
            values = [means.get(name, 0.0) * known for name in FIELDS]
            writer.put(ring, now - (100 - number) * 100 * MS, known, values)
    return now


def test_means_of_a_request(path: Path) -> None:
    """Means over its cards; the slowest clock, the most throttled card; waiting as µs of the whole."""
    other = {name: value / 2 for name, value in CARD.items()}
    now = written(
        path,
        c0=CARD | {"gpu_clock": 1980.0, "gpu_throttled": 0.0},
        c1=other | {"gpu_clock": 1410.0, "gpu_throttled": 0.6},
        host={"run_queue_wait": 0.02},
    )

    found = seen(now - 3000 * MS, now - 1000 * MS, "n1:0,1")

    assert {
        "slatag.sm_utilization": pytest.approx(0.375),
        "slatag.sm_occupancy": pytest.approx(0.1875),
        "slatag.dram_utilization": pytest.approx(0.3),
        "slatag.gpu_utilization": pytest.approx(0.675),
        "slatag.sm_clock_mhz": pytest.approx(1410.0),
        "slatag.gpu_throttled": pytest.approx(0.6),
        "slatag.run_queue_wait_us": pytest.approx(40_000.0),
        "slatag.evidence_coverage": pytest.approx(1.0),
    } == found


def test_on_the_span(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attributes stand on a request's span when it was served by the engine."""
    monkeypatch.setenv("OTEL_ATTRIB_GPU_SET", "n1:0")
    now = written(path, c0={"sm_activity": 0.5})
    made = Timeline("chat", "/v1/chat/completions", ())
    made.arrived, made.ended = now - 2000 * MS, now - 1000 * MS
    assert made.add("engine-id", 9, False) is not None

    found = attributes_of(made, "vllm", "1")

    assert (pytest.approx(0.5), "n1:0") == (found["slatag.sm_utilization"], found["slatag.gpu_set"])


def test_a_request_shorter_than_the_readings_are_apart(path: Path) -> None:
    """What 100 ms were like is not said of 40 ms of them."""
    now = written(path, c0={"sm_activity": 0.5})

    assert {} == seen(now - 1070 * MS, now - 1030 * MS, "n1:0")


def test_cards_that_are_not_known(path: Path) -> None:
    """Without a device set the only card of the node is meant; of several none, and the host alone counts."""
    now = written(path, c0={"sm_activity": 0.5})
    assert pytest.approx(0.5) == seen(now - 2000 * MS, now, "")["slatag.sm_utilization"]

    board_module._BOARD._looked = board_module._BOARD._reader = None
    now = written(path, c0={"sm_activity": 0.5}, c1={"sm_activity": 0.5}, host={"run_queue_wait": 0.0})
    assert {"slatag.run_queue_wait_us", "slatag.evidence_coverage"} == set(seen(now - 2000 * MS, now, ""))


def test_no_board_is_no_fault(path: Path) -> None:
    """No file, a foreign file, a board of another boot: nothing is said, no fault is counted."""
    now = monotonic_ns()
    assert {} == seen(now - 1000 * MS, now, "n1:0")
    for make in (lambda: path.write_bytes(b"foreign"), lambda: Writer(path, boot="another")):
        make()
        board_module._BOARD._looked = None
        assert {} == seen(now - 1000 * MS, now, "n1:0")

    assert 0 == FAULTS.counts["board"]


def test_a_board_that_has_stopped(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that is gone says nothing more of later requests; a new one is found within two seconds."""
    now = written(path, c0={"sm_activity": 0.5})
    later = now + 60_000 * MS
    assert {} != seen(now - 1000 * MS, now, "n1:0")
    monkeypatch.setattr(board_module, "monotonic_ns", lambda: later)

    assert {} == seen(later - 1000 * MS, later, "n1:0")
    assert board_module._BOARD.reader() is None


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        ("0,1", "0,1"),
        ("", ""),
        ("GPU-aaaa1111,GPU-bbbb2222", "0,1"),
        ("GPU-bbbb", "1"),
        ("MIG-cccc3333", "1:2"),
        ("MIG-GPU-aaaa1111/3/0", "0:3"),
        ("GPU-unknown", "GPU-unknown"),
        ("GPU-", "GPU-"),
    ],
)
def test_uuids_become_indices(path: Path, visible: str, expected: str) -> None:
    """UUIDs whole or as a unique beginning, MIG instances in both spellings; what is unknown stays."""
    writer = Writer(path)
    ring = writer.ring("0", ["gpu_clock"])
    assert ring is not None
    writer.put(ring, monotonic_ns(), 0.0, [0.0] * len(FIELDS))
    for index, uuid in (("0", "GPU-aaaa1111"), ("1", "GPU-bbbb2222"), ("1:2", "MIG-cccc3333")):
        writer.device(index, uuid)

    assert expected == indices(visible)


def test_the_device_set_of_the_server(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an agent CUDA_VISIBLE_DEVICES stands as it is; the variable of our own wins."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-aaaa1111")
    assert gpu_set().endswith(":GPU-aaaa1111")

    monkeypatch.setenv("OTEL_ATTRIB_GPU_SET", "n1:7")
    assert "n1:7" == gpu_set()


def test_cards_of() -> None:
    """Every spelling of a device set."""
    assert [("0", "1"), ("0", "1"), ("0", "1"), ("0:2",), ("0:2",), ()] == [
        cards_of(words) for words in ("node3:0,1", "GPU-0,GPU-1", "0, 1", "node3:0:2", "0:2", "")
    ]
