"""Reading traces of the PyTorch profiler: exact times, every shape of file, and damage."""

import gzip
import io
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_attrib.analytics.profiles import json_events
from otel_attrib.analytics.profiles.breakdown import breakdowns
from otel_attrib.analytics.profiles.json_events import JsonEvents
from otel_attrib.analytics.profiles.kineto import read_kineto
from otel_attrib.analytics.profiles.read import read_profile
from otel_attrib.analytics.profiles.timeline import UNKNOWN, Direction, Kind, Profile
from otel_attrib.errors import DataError

FIXTURES = Path(__file__).parents[2] / "fixtures/kineto"
KERNEL = {
    "ph": "X",
    "cat": "kernel",
    "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "pid": 3,
    "tid": 20,
    "ts": 6520618853487.683,
    "dur": 4.719,
    "args": {
        "External id": 9,
        "device": 3,
        "stream": 20,
        "correlation": 505113,
        "grid": [8, 2, 1],
        "block": [544, 1, 1],
        "Collective name": "allreduce",
        "In msg nelems": 6637568,
        "Out msg nelems": 6637568,
        "Group size": 2,
        "dtype": "Float",
        "Process Group Name": "0",
    },
}


def parsed(text: str | bytes) -> Profile:
    """Read a trace from memory."""
    return read_kineto(io.BytesIO(text if isinstance(text, bytes) else text.encode()), "made.json")


def trace(*events: dict[str, Any], **header: Any) -> str:
    """A trace as text."""
    return json.dumps({"schemaVersion": 1, **header, "traceEvents": list(events), "traceName": "x"})


def test_a_kernel_is_read_to_the_nanosecond() -> None:
    """Times with three decimals, far from zero, become whole nanoseconds; sizes and collectives are kept."""
    profile = parsed(trace(KERNEL, baseTimeNanoseconds=10**18))
    row = {name: int(getattr(profile.activities, name)[0]) for name in ("start_ns", "duration_ns", "device")}

    assert {"start_ns": 6520618853487683, "duration_ns": 4719, "device": 3} == row
    assert (16, 544) == (profile.activities.blocks[0], profile.activities.threads[0])
    assert ("allreduce", "Float", 6637568, 2) == (
        profile.collectives[0].operation,
        profile.collectives[0].dtype,
        profile.collectives[0].in_elements,
        profile.collectives[0].group_size,
    )
    assert 10**18 == profile.wall_base_ns


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1", 1000),
        ("1.5", 1500),
        ("0.001", 1),
        ("1682725898236567.001", 1682725898236567001),
        ("12.3456", 12346),
        ("1.5e3", 1500000),
        ("-2.25", -2250),
        ('"7.125"', 7125),
    ],
)
def test_times_are_exact(text: str, ns: int) -> None:
    """Whatever way a number of microseconds is written, its nanoseconds are exact."""
    event = json.dumps(KERNEL | {"ts": "TS"}).replace('"TS"', text)

    assert ns == parsed(f'{{"traceEvents": [{event}]}}').activities.start_ns[0]


@pytest.mark.parametrize(
    ("name", "direction"),
    [
        ("Memcpy HtoD (Pageable -> Device)", Direction.H2D),
        ("Memcpy DtoH (Device -> Pinned)", Direction.D2H),
        ("Memcpy DtoD (Device -> Device)", Direction.D2D),
        ("Memcpy PtoP (Device -> Device)", Direction.P2P),
        ("CopyHostToDevice", Direction.H2D),
        ("CopyDeviceToHost", Direction.D2H),
        ("Memcpy AtoD (Array -> Device)", Direction.OTHER),
        ("something", Direction.OTHER),
    ],
)
def test_directions(name: str, direction: Direction) -> None:
    """A copy's direction is told from the profiler's name for it."""
    copy = KERNEL | {"cat": "gpu_memcpy", "name": name, "args": {"device": 0, "stream": 7, "bytes": 4096}}
    found = parsed(trace(copy)).activities

    assert (Kind.COPY, direction, 4096) == (found.kind[0], found.direction[0], found.bytes[0])


def test_the_call_knows_the_direction_on_rocm(recorded: Callable[[str], Profile]) -> None:
    """ROCm's profiler calls copies of pinned memory DtoD; the call asked for host to device."""
    found = recorded("kineto/vllm_decode.json.gz")
    copies = found.activities.take(found.activities.kind == Kind.COPY)

    assert {"Memcpy DtoD (Device -> Device)"} == {found.names[code] for code in copies.name}
    assert {Direction.H2D: 8, Direction.D2D: 1} == {
        Direction(code): int((copies.direction == code).sum()) for code in set(copies.direction.tolist())
    }


def test_the_first_releases_of_the_profiler(recorded: Callable[[str], Profile]) -> None:
    """Traces of 2021 have other categories, texts for threads and `stream 7` for a stream."""
    found = recorded("kineto/resnet50.json.gz")

    assert {7} == set(found.activities.stream.tolist())
    assert 12 == int((found.activities.kind == Kind.COPY).sum())
    assert 439 == int((found.activities.kind == Kind.MEMSET).sum())
    assert 0 == found.wall_base_ns  # its times are microseconds since 1970


def test_header_of_a_rank(recorded: Callable[[str], Profile]) -> None:
    """Rank, world size and the card's properties come from the header."""
    found = recorded("kineto/hta_nccl_data.json.gz")
    card = found.device(0)

    assert (0, 2) == (found.rank, found.world_size)
    assert ("NVIDIA A100-PG509-200", 108, 42297524224, "8.0") == (
        card.name,
        card.sms,
        card.memory_bytes,
        card.compute,
    )


def test_an_operator_keeps_its_shapes() -> None:
    """An operator has its inputs' shapes, and a step of the profiler is a range."""
    op = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 5, "ts": 1, "dur": 2}
    op["args"] = {
        "External id": 9,
        "Input Dims": [[8, 16], [16, 4]],
        "Input type": ["c10::BFloat16", "float"],
    }
    step = op | {"cat": "user_annotation", "name": "ProfilerStep#6", "args": {}}
    found = parsed(trace(op, step))

    assert ["aten::mm"] == [found.names[code] for code in found.ops.name]
    assert ("[[8, 16], [16, 4]]", '["c10::BFloat16", "float"]') == (
        found.shapes[0].dims,
        found.shapes[0].types,
    )
    assert ["ProfilerStep#6"] == [found.names[code] for code in found.ranges.name]


@settings(deadline=None)
@given(st.data())
def test_pieces_of_any_size_give_the_same_events(data: st.DataObject) -> None:
    """However the bytes come in, the events and the header are those of the whole text."""
    events = [{"a": "é🙂", "n": 1}, {"b": [1, {"c": None}]}, "text", 12, {}]
    header = {"x": {"traceEvents": [1]}, "z": 5}
    text = json.dumps({**header, "traceEvents": events, "last": 77}, ensure_ascii=False, indent=1).encode()
    sizes = iter(data.draw(st.lists(st.integers(1, 30), min_size=len(text), max_size=len(text))))
    source = io.BytesIO(text)

    class Pieces:
        def read1(self, size: int) -> bytes:
            return source.read(next(sizes))

    found = JsonEvents(Pieces(), "made.json")

    assert events == list(found)
    assert header | {"last": 77} == found.header
    assert "" == found.cut


def test_a_bare_list_is_a_trace() -> None:
    """Chrome's other form, the list alone, is read too."""
    assert 1 == len(parsed(json.dumps([KERNEL])).activities)


@pytest.mark.parametrize("share", [0.3, 0.7, 0.999])
def test_a_cut_file_says_so(share: float) -> None:
    """Of a file that ends early the whole events before its end are read, and that is said."""
    text = (FIXTURES / "h100_bert.json.gz").read_bytes()
    whole = gzip.decompress(text)
    found = parsed(whole[: int(share * len(whole))])

    assert any("the file ends inside its JSON" in said for said in found.missing)
    assert 0 < len(found.activities) + len(found.ops)


def test_a_cut_gzip_file_says_so(tmp_path: Path) -> None:
    """The same for a packed file that is cut."""
    path = tmp_path / "cut.json.gz"
    path.write_bytes((FIXTURES / "h100_qwen.json.gz").read_bytes()[:300_000])
    found = read_profile(path)

    assert any("compressed file is cut or damaged" in said for said in found.missing)
    assert 1000 < len(found.ops)


def test_damage_is_refused_with_its_place() -> None:
    """Text that is broken in the middle is no trace: what follows it could be anything."""
    text = trace(*[KERNEL] * 50)
    place = text.index('"ph"', 5000)
    with pytest.raises(DataError, match=rf"made.json is damaged at character {place}: "):
        parsed(text[:place] + "\x00\x01?" + text[place:])


def test_damage_behind_the_first_piece_has_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The place counts from the start of the file, whatever was let go of before."""
    monkeypatch.setattr(json_events, "PIECE", 512)
    text = trace(*[KERNEL] * 50)
    place = text.index('"ph"', 9000)
    with pytest.raises(DataError, match=f"at character {place}: "):
        parsed(text[:place] + "?" + text[place:])


@pytest.mark.parametrize("text", ['{"a": 1}', "{}"])
def test_other_json_is_refused(text: str) -> None:
    """JSON without traceEvents is no trace."""
    with pytest.raises(DataError, match="no traceEvents"):
        parsed(text)


def test_host_only_is_said() -> None:
    """A trace without a device's rows has no breakdown and says why."""
    call = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 5, "args": {}}
    found = parsed(trace(call))

    assert () == breakdowns(found)
    assert any("the host only" in said for said in found.missing)


def test_events_without_time_are_counted() -> None:
    """Rows whose time cannot be read are left out and counted."""
    found = parsed(trace(KERNEL, KERNEL | {"ts": "soon"}, {**KERNEL, "dur": None}))

    assert 1 == len(found.activities)
    assert "2 events without a readable time were left out" in found.missing


def test_what_is_not_said_is_unknown() -> None:
    """A bare kernel has no size, no collective, no call: none of them is zero."""
    bare = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2}
    found = parsed(trace(bare)).activities

    assert {UNKNOWN} == {
        int(getattr(found, name)[0])
        for name in ("bytes", "collective", "correlation", "external", "graph", "blocks", "threads")
    }
    assert (0, 7) == (found.device[0], found.stream[0])


def test_memory_stays_below_the_file(tmp_path: Path) -> None:
    """The Python stack that fills most traces costs no memory: the peak is a fraction of the file."""
    frame = {
        "ph": "X",
        "cat": "python_function",
        "name": "f" * 120,
        "pid": 1,
        "tid": 1,
        "ts": 1.5,
        "dur": 2.5,
    }
    frame["args"] = {"Python parent id": 1, "Python id": 2, "Ev Idx": 3}
    path = tmp_path / "large.json"
    path.write_text(trace(*[frame] * 60_000, *[KERNEL] * 1000))
    tracemalloc.start()
    try:
        found = read_profile(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert 1000 == len(found.activities)
    assert peak < 0.5 * path.stat().st_size


@pytest.mark.parametrize("size", [-100, (1 << 63) - 1, 1 << 51, "many", None])
def test_a_size_that_nothing_moves_is_unknown(size: object) -> None:
    """A negative size, and more than any memory holds, is not said: no rate is made of it."""
    args = {"device": 0, "stream": 7, "bytes": size}
    copy = KERNEL | {"cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "args": args}
    profile = parsed(trace(copy, copy))
    (copies,) = breakdowns(profile)[0].copies

    assert [UNKNOWN, UNKNOWN] == profile.activities.bytes.tolist()
    assert (2, None, None) == (copies.count, copies.bytes, copies.gb_per_s)


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ({"dur": -5}, "1 events without a readable time were left out"),
        ({"dur": float("nan")}, "1 events without a readable time were left out"),
        ({"ts": float("inf")}, "1 events without a readable time were left out"),
        ({"ts": 1e30}, "1 events without a readable time were left out"),
        ({"args": {"device": "cuda:0"}}, "1 activities of a device without a number were left out"),
        ({"args": {"device": -1}}, "1 activities of a device without a number were left out"),
        ({"pid": "x", "args": None}, "1 activities of a device without a number were left out"),
    ],
    ids=["negative", "nan", "infinite", "too large", "device named", "device negative", "no device"],
)
def test_an_event_that_has_no_place_is_left_out_and_told(change: dict[str, Any], missing: str) -> None:
    """No device and no time is made up: what cannot be placed is counted, the rest is read."""
    profile = parsed(trace(KERNEL, KERNEL | change))

    assert [3] == profile.activities.device.tolist()
    assert missing in profile.missing


@pytest.mark.parametrize("text", ["[]", "[1, 2, 3]", '[{"id": 1, "dur": 5}]', '["ph", null, [[]]]'])
def test_a_list_of_something_else_is_no_trace(text: str) -> None:
    """A list that holds no event of a trace is refused, not read as a recording of nothing."""
    with pytest.raises(DataError, match=r"made\.json holds no event of the PyTorch profiler"):
        parsed(text)


def test_a_cut_before_the_first_event_is_told() -> None:
    """A file that ends inside its first event is refused with that reason."""
    with pytest.raises(DataError, match="ends before its first event"):
        parsed('{"traceEvents": [{"ph": "X", "cat": "ker')


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        (trace(KERNEL | {"cat": "cpu_op"}), "no activity of a device: the profiler recorded the host only"),
        (trace(*[KERNEL | {"cat": "cpu_op"}] * 2)[:-40], "no activity of a device before the cut"),
        (trace(KERNEL | {"cat": "browser"}), "no activity of a device and no operator"),
        (trace(), "no activity of a device and no operator"),
    ],
    ids=["host", "cut", "another program's", "empty"],
)
def test_why_there_is_no_activity(text: str, missing: str) -> None:
    """That the host alone was recorded is said only of a whole trace with operators."""
    assert any(said.startswith(missing) for said in parsed(text).missing)


def test_names_are_one_line_that_prints() -> None:
    """Escapes, line breaks and halves of letters in a name become spaces; a null name is none."""
    bad = "a\x1b[31m\nb\ud800c"
    profile = parsed(
        trace(KERNEL | {"name": bad}, deviceProperties=[{"id": 3, "name": bad}, {"id": 4, "name": None}])
    )

    assert ("a [31m b c",) == profile.names
    assert ("a [31m b c", "") == (profile.device(3).name, profile.device(4).name)
