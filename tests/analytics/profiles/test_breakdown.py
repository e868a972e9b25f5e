"""Where a device's time went, against painting every nanosecond and against identities."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_attrib.analytics.profiles.breakdown import breakdown, breakdowns
from otel_attrib.analytics.profiles.growing import Growing
from otel_attrib.analytics.profiles.timeline import (
    UNKNOWN,
    Activities,
    Direction,
    Kind,
    Launches,
    Ops,
    Profile,
    Ranges,
)

NAMES = ("void gemm()", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "Memcpy HtoD (Pinned -> Device)", "Memset")
WORDS = ("compute", "communication", "memory", "memory")
KINDS = (Kind.KERNEL, Kind.KERNEL, Kind.COPY, Kind.MEMSET)
ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 80), st.integers(0, 15), st.integers(0, 2)),
    min_size=1,
    max_size=30,
)
RECORDED = [
    "kineto/h100_bert.json.gz",
    "kineto/h100_qwen.json.gz",
    "kineto/hta_control.json.gz",
    "kineto/hta_nccl_data.json.gz",
    "kineto/hta_sampled.json.gz",
    "kineto/resnet50.json.gz",
    "kineto/vllm_decode.json.gz",
    "kineto/vllm_piecewise.json.gz",
    "nsys/mfu_2gpu_before.sqlite.gz",
    "nsys/mfu_2gpu_after.sqlite.gz",
]
Rows = list[tuple[int, int, int, int]]


def profile(rows: Rows) -> Profile:
    """A profile of one device: (what, start, duration, stream) a row, all sizes 1000 bytes."""
    growing = Growing(Activities)
    for what, start, duration, stream in rows:
        kind = KINDS[what]
        direction = Direction.H2D if kind is Kind.COPY else Direction.NONE
        size = UNKNOWN if kind is Kind.KERNEL else 1000
        unknown = [UNKNOWN] * 3
        growing.add(
            start, duration, kind, 0, stream, what, 0, *[UNKNOWN] * 2, size, direction, *unknown, UNKNOWN
        )
    return Profile(
        source="kineto",
        path="made.json",
        names=NAMES,
        shapes=(),
        collectives=(),
        activities=growing.table(),
        launches=Growing(Launches).table(),
        ops=Growing(Ops).table(),
        ranges=Growing(Ranges).table(),
        devices=(),
        wall_base_ns=None,
        rank=UNKNOWN,
        world_size=UNKNOWN,
        missing=(),
    )


@settings(deadline=None)
@given(ROWS)
def test_every_nanosecond_belongs_to_one_part(rows: Rows) -> None:
    """The parts and the idle time are what painting each nanosecond gives."""
    painted: dict[int, set[str]] = {}
    for what, start, duration, _ in rows:
        for at in range(start, start + duration):
            painted.setdefault(at, set()).add(WORDS[what])
    expected: dict[str, int] = {}
    for words in painted.values():
        part = "+".join(word for word in dict.fromkeys(WORDS) if word in words)
        expected[part] = expected.get(part, 0) + 1
    span = max(start + duration for _, start, duration, _ in rows) - min(start for _, start, _, _ in rows)

    found = breakdown(profile(rows), 0)

    assert expected == found.parts_ns
    assert span == found.span_ns
    assert span - len(painted) == found.idle.total_ns


@settings(deadline=None)
@given(ROWS)
def test_classes_and_copies_add_up(rows: Rows) -> None:
    """Durations by class are the durations of the rows, and bytes over busy time is the rate."""
    found = breakdown(profile(rows), 0)
    copies = {copy.direction: copy for copy in found.copies}

    assert sum(duration for _, _, duration, _ in rows) == sum(kind.sum_ns for kind in found.kernels)
    assert len(rows) == sum(kind.count for kind in found.kernels)
    assert {"h2d", "memset"} >= set(copies)
    for copy in copies.values():
        assert copy.count * 1000 == copy.bytes
        assert copy.gb_per_s is None or copy.busy_ns * copy.gb_per_s == pytest.approx(copy.bytes)


@pytest.mark.parametrize("name", RECORDED)
def test_parts_and_idle_make_the_span(name: str, recorded: Callable[[str], Profile]) -> None:
    """On each recorded device the parts and the idle time add up to the span to the nanosecond."""
    for one in breakdowns(recorded(name)):
        assert one.span_ns == sum(one.parts_ns.values()) + one.idle.total_ns
        assert one.idle.total_ns == (
            one.idle.host_ns + one.idle.kernel_ns + one.idle.other_ns + one.idle.unknown_ns
        )


@pytest.mark.parametrize("name", RECORDED)
def test_classes_cover_what_ran(name: str, recorded: Callable[[str], Profile]) -> None:
    """Less than 2 % of the time of each recorded device is in kernels whose work is not known."""
    for one in breakdowns(recorded(name)):
        total = sum(kind.sum_ns for kind in one.kernels)
        other = sum(kind.sum_ns for kind in one.kernels if kind.kind == "other")
        assert other < 0.02 * total


def test_kernel_time_of_nsys_is_what_sql_says(recorded: Callable[[str], Profile]) -> None:
    """The sums of kernel durations per device are those that SQLite adds up itself."""
    found = {}
    for device in (0, 1):
        ran = recorded("nsys/mfu_2gpu_before.sqlite.gz").on(device)
        found[device] = int(ran.duration_ns[ran.kind == Kind.KERNEL].sum())

    # SELECT deviceId, sum("end" - start) FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY deviceId
    assert {0: 270_875_926, 1: 264_324_724} == found


def test_graph_launch_starts_many(recorded: Callable[[str], Profile]) -> None:
    """vLLM's decode step is one graph launch: 421 of its kernels carry that one call."""
    (one,) = breakdowns(recorded("kineto/vllm_decode.json.gz"))

    assert one.launching is not None
    assert (14, 434) == (one.launching.calls, one.launching.activities)
    assert 2 == one.device


def test_activities_are_sorted(recorded: Callable[[str], Profile]) -> None:
    """Activities come in the order of their starts, whatever the order in the file."""
    starts = recorded("kineto/hta_nccl_data.json.gz").activities.start_ns

    assert (np.diff(starts) >= 0).all()
