"""The difference of two profiles against SQL over the same files, and against sums made by hand."""

import gzip
import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.analytics.profiles.diff import Diff, diff
from otel_attrib.analytics.profiles.diff_object import diff_object
from otel_attrib.analytics.profiles.diff_text import answer, diff_lines, short_name
from otel_attrib.analytics.profiles.read import read_profile
from otel_attrib.analytics.profiles.timeline import Profile
from otel_attrib.errors import DataError

NSYS = Path(__file__).parents[2] / "fixtures/nsys"
SIDES = ("before", "after")


@pytest.fixture(scope="module")
def pair() -> Diff:
    """The recorded pair, compared."""
    return diff(*(read_profile(NSYS / f"mfu_2gpu_{side}.sqlite.gz") for side in SIDES))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[sqlite3.Connection]]:
    """The same files for SQL."""
    folder = tmp_path_factory.mktemp("nsys")
    opened = []
    for side in SIDES:
        path = folder / f"{side}.sqlite"
        path.write_bytes(gzip.decompress((NSYS / f"mfu_2gpu_{side}.sqlite.gz").read_bytes()))
        opened.append(sqlite3.connect(path))
    yield opened
    for connection in opened:
        connection.close()


def test_gpu_time_is_the_sum_of_kernels(pair: Diff, tables: list[sqlite3.Connection]) -> None:
    """GPU time of each side is SQL's sum over all kernels, to the nanosecond; it falls by 46.4 ms."""
    sums = [
        table.execute('SELECT sum("end" - start) FROM CUPTI_ACTIVITY_KIND_KERNEL').fetchone()[0]
        for table in tables
    ]

    assert sums == [pair.a.gpu_ns, pair.b.gpu_ns]
    assert -46.365 == pytest.approx(pair.gpu_delta_ns / 1e6, abs=1e-3)


def test_the_step_is_unchanged(pair: Diff, tables: list[sqlite3.Connection]) -> None:
    """Each device's first kernel to its last one, averaged over devices, as SQL has it: −0.01 %."""
    query = """
        SELECT avg(span) FROM
        (SELECT max("end") - min(start) AS span FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY deviceId)
    """
    spans = [table.execute(query).fetchone()[0] for table in tables]

    assert spans == [pair.a.step_ns, pair.b.step_ns]
    assert -0.0001 == pytest.approx(pair.step_change, abs=2e-5)
    assert not pair.step_moved


def test_kernels_by_name(pair: Diff, tables: list[sqlite3.Connection]) -> None:
    """Launches and time of every kernel name are SQL's, on both sides."""
    query = """
        SELECT value, count(*), sum("end" - start) FROM CUPTI_ACTIVITY_KIND_KERNEL
        JOIN StringIds ON id = demangledName GROUP BY value
    """
    asked = [{name: (count, ns) for name, count, ns in table.execute(query)} for table in tables]
    told = [
        {row.name: (row.count_a, row.ns_a) for row in pair.names if row.count_a},
        {row.name: (row.count_b, row.ns_b) for row in pair.names if row.count_b},
    ]

    assert asked == told


def test_same_work_is_less_work(pair: Diff) -> None:
    """Nearly every kernel ran 11 % less often after: the saving is work that the recording does not hold."""
    attention = next(row for row in pair.names if "flash_fwd_kernel" in row.name)

    assert 0.89 == pytest.approx(pair.work, abs=0.01)
    assert pair.uneven_work
    assert answer(pair).startswith("GPU time −46.4 ms, step unchanged (−0.01 %): ")
    assert (68, 60) == (attention.count_a, attention.count_b)
    assert 0 == pytest.approx(
        attention.ns_b / attention.count_b / (attention.ns_a / attention.count_a) - 1, abs=0.01
    )


def test_change_is_launches_and_duration(pair: Diff) -> None:
    """The two parts of the change add up to it, of each name and in all."""
    for row in pair.names:
        assert row.delta_ns == pytest.approx(row.by_launches_ns + row.by_duration_ns, abs=1e-6)
    assert pair.gpu_delta_ns == pytest.approx(pair.by_launches_ns + pair.by_duration_ns, abs=1e-3)
    assert pair.gpu_delta_ns == pytest.approx(sum(row.delta_ns for row in pair.classes), abs=1e-3)


def test_text_and_object(pair: Diff) -> None:
    """Lines keep to 80 columns, the first is the answer; the object says the same."""
    lines = list(diff_lines(pair))
    told = json.loads(json.dumps(diff_object(pair)))

    assert all(len(line) <= 80 for line in lines)
    assert told["answer"].startswith(lines[0].rstrip()[:40])
    assert ("otel-attrib/profile-diff/1", False) == (told["schema"], told["step_moved"])
    assert pair.gpu_delta_ns / 1e3 == pytest.approx(told["gpu_delta_us"])


def steps(tmp_path: Path, name: str, count: int, kernels: int, us: float, step_us: float) -> Path:
    """A trace of marked steps, each with some kernels of one length, and a little jitter of the steps."""
    events = []
    for step in range(count):
        at, length = step * step_us * 1.1, step_us * (1 + 0.001 * (step % 3))
        events.append(
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1,
             "ts": at, "dur": length, "args": {}}
        )  # fmt: skip
        events += [
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + place * us, "dur": us,
             "args": {"device": 0, "stream": 7, "correlation": step * 100 + place}}
            for place in range(kernels)
        ]  # fmt: skip
    path = tmp_path / name
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


@pytest.mark.parametrize(
    ("b", "said"),
    [
        (
            (5, 4, 8.0, 100.0),
            "GPU time −8.0 µs, step unchanged (+0.00 %): the saving is not on the critical path",
        ),
        ((5, 4, 8.0, 92.0), "GPU time −8.0 µs, step −8.0 µs (−8.00 %): the step followed the GPU"),
        ((9, 4, 10.0, 100.0), "GPU time +0.0 µs, step unchanged (+0.02 %): nothing moved"),
        ((5, 4, 10.0, 90.0), "GPU time +0.0 µs, step −10.0 µs (−10.00 %): the change is outside the kernels"),
        ((5, 4, 8.0, 120.0), "GPU time −8.0 µs, step +20.0 µs (+20.00 %): the step went the other way"),
        (
            (5, 8, 10.0, 180.0),
            "GPU time +40.0 µs, step +80.1 µs (+80.00 %): B holds 2.0 times the same work",
        ),
    ],
    ids=["off the path", "on it", "more steps of the same", "idle", "against it", "twice the work"],
)
def test_steps_are_divided_out(tmp_path: Path, b: tuple[int, int, float, float], said: str) -> None:
    """With marked steps both sides are counted a step; what is said follows from both changes."""
    first = read_profile(steps(tmp_path, "a.json", 5, 4, 10.0, 100.0))
    found = diff(first, read_profile(steps(tmp_path, "b.json", *b)))

    assert (5, b[0]) == (found.a.steps, found.b.steps)
    assert 4 == found.a.kernels
    assert answer(found).startswith(said)


def changed(file: Path, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Profile:
    """The profile of a file whose events were changed."""
    told = json.loads(file.read_text())
    file.write_text(json.dumps(told | {"traceEvents": change(told["traceEvents"])}))
    return read_profile(file)


def unmarked(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events without the marks of steps."""
    return [event for event in events if event["cat"] == "kernel"]


def doubled(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events of which a second device does the same."""
    return [*events, *(event | {"args": event["args"] | {"device": 1}} for event in unmarked(events))]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (unmarked, "not the same kind of step (ProfilerStep in A, whole profile in B)"),
        (doubled, "not as many devices (1 in A, 2 in B)"),
    ],
    ids=["steps", "devices"],
)
def test_what_does_not_compare_is_said(
    tmp_path: Path, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]], said: str
) -> None:
    """One program, recorded with other steps or on more devices, is not told to have more or less work."""
    first = read_profile(steps(tmp_path, "a.json", 5, 4, 10.0, 100.0))
    found = diff(first, changed(steps(tmp_path, "b.json", 5, 4, 10.0, 100.0), change))

    assert answer(found).endswith(said)
    notes = " ".join(diff_lines(found))
    assert ("No steps are marked in B," in notes) is (change is unmarked)


def test_a_saving_below_what_the_step_can_show(tmp_path: Path) -> None:
    """With two steps, 2 % of a step is chance: half a percent saved on the GPU shows nowhere."""
    first = read_profile(steps(tmp_path, "a.json", 2, 4, 10.0, 100.0))
    found = diff(first, read_profile(steps(tmp_path, "b.json", 2, 4, 9.8, 100.0)))

    assert answer(found).endswith("the saving is too small to show in the step")


def test_a_large_factor_is_told_as_one(tmp_path: Path) -> None:
    """A step 60 times as long is ×60, not thousands of percent."""
    first = read_profile(steps(tmp_path, "a.json", 5, 4, 10.0, 100.0))
    found = diff(first, read_profile(steps(tmp_path, "b.json", 5, 4, 10.0, 6000.0)))

    assert "step +5.9 ms (×60)" in answer(found)


def test_different_programs() -> None:
    """Two models are not a before and an after: the answer says how little they share."""
    kineto = NSYS.parent / "kineto"
    found = diff(read_profile(kineto / "h100_bert.json.gz"), read_profile(kineto / "h100_qwen.json.gz"))

    assert found.shared < 0.5
    assert "different programs" in answer(found)
    assert found.work is None


def test_nothing_to_compare(tmp_path: Path) -> None:
    """A profile of the host alone is refused by name."""
    path = tmp_path / "cpu.json"
    call = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "args": {}}
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [call]}))
    profile = read_profile(path)

    with pytest.raises(DataError, match=r"cpu\.json: no kernel ran on a device"):
        diff(profile, profile)


def test_short_names() -> None:
    """Names lose what says how, not what."""
    long = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16>(int, float)"
    add = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)"
    copy = (
        "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::Base &)>(int)"
    )

    assert "vectorized_layer_norm_kernel" == short_name(long)
    assert "vectorized_elementwise add" == short_name(add)
    assert "unrolled_elementwise direct_copy" == short_name(copy)
    assert "nvjet_tst_192x192_64x4_2x1_v_bz" == short_name("nvjet_tst_192x192_64x4_2x1_v_bz")
    assert "Kernel2" == short_name("void cutlass::Kernel2<cutlass_80_wmma<1, 2>>(Params)")
