"""Shares of a window: nothing twice, all of it accounted for, the same as an imported profile says."""

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from otel_attrib.analytics.profiles.intervals import Spans
from otel_attrib.instrumentation.torch.shares import (
    Event,
    device_shares,
    events_of,
    host_shares,
    shares_between,
)
from otel_attrib.schema.kernel_class import ACTIVITIES


def test_by_hand() -> None:
    """Of ten: compute 4, memory beside it 2, a collective behind both counts only where nothing else ran."""
    events = [
        Event("compute", 0, 0, 4),
        Event("memory", 0, 3, 6),
        Event("collective", 0, 2, 7),
        Event("copy", 0, 7, 8),
        Event("copy", 0, 7, 8),
    ]

    assert {"compute": 0.4, "memory": 0.2, "collective": 0.1, "copy": 0.1} == pytest.approx(
        {name: share for name, share in shares_between(events, 0, 10).items() if name != "idle"}
    )
    assert 0.2 == pytest.approx(shares_between(events, 0, 10)["idle"])


@pytest.mark.parametrize("seed", range(20))
def test_every_moment_belongs_to_the_first_that_ran(seed: int) -> None:
    """Shares of random events equal those counted moment by moment, and their sum is 1."""
    chance = random.Random(seed)
    events = []
    for _ in range(chance.randrange(1, 40)):
        start = chance.randrange(-20, 220)
        events.append(Event(chance.choice(ACTIVITIES[:-1]), 0, start, start + chance.randrange(1, 30)))
    moments = dict.fromkeys(ACTIVITIES, 0)
    for moment in range(200):
        running = {event.activity for event in events if event.start <= moment < event.end}
        moments[next((name for name in ACTIVITIES if name in running), "idle")] += 1

    shares = shares_between(events, 0, 200)

    assert {name: count / 200 for name, count in moments.items()} == pytest.approx(shares)
    assert 1.0 == pytest.approx(sum(shares.values()))


def test_like_an_imported_profile() -> None:
    """The union is that of the reader of profile files, which is another implementation."""
    chance = random.Random(5)
    starts = [chance.randrange(0, 10_000) for _ in range(500)]
    ends = [start + chance.randrange(1, 60) for start in starts]
    other = Spans.of(np.array(starts, np.int64), np.array(ends, np.int64)) & Spans.of(
        np.array([0], np.int64), np.array([10_000], np.int64)
    )

    found = shares_between([Event("compute", 0, *pair) for pair in zip(starts, ends, strict=True)], 0, 10_000)

    assert other.length_ns / 10_000 == pytest.approx(found["compute"])


def kineto(name: str, kind: str, device: int, start: int, length: int) -> Any:
    """Something shaped like an event of the profiler's result; device -1 is the host."""
    return SimpleNamespace(
        name=lambda: name,
        activity_type=lambda: kind,
        device_type=lambda: SimpleNamespace(name="CPU" if device < 0 else "CUDA"),
        device_index=lambda: max(device, 0),
        start_ns=lambda: start,
        duration_ns=lambda: length,
    )


@pytest.mark.parametrize(
    ("name", "kind", "device", "activity"),
    [
        ("nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN", "kernel", 0, "compute"),
        ("void vllm::rms_norm_kernel<c10::BFloat16>(…)", "kernel", 0, "memory"),
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(…)", "kernel", 0, "collective"),
        ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(…)", "kernel", 0, "collective"),
        ("Memcpy HtoD (Pinned -> Device)", "gpu_memcpy", 0, "copy"),
        ("Memset (Device)", "gpu_memset", 0, "memory"),
        ("aten::mm", "cpu_op", -1, "compute"),
        ("aten::addmm", "cpu_op", -1, "compute"),
        ("aten::linear", "cpu_op", -1, "compute"),
        ("_C::onednn_mm", "cpu_op", -1, "compute"),
        ("_C::cpu_attention_with_kv_cache", "cpu_op", -1, "compute"),
        ("aten::copy_", "cpu_op", -1, "memory"),
        ("aten::add", "cpu_op", -1, "memory"),
        ("aten::empty", "cpu_op", -1, "memory"),
        ("_C::shm_allreduce", "cpu_op", -1, "collective"),
        ("_C::shm_all_gather", "cpu_op", -1, "collective"),
        ("c10d::allreduce_", "cpu_op", -1, "collective"),
        ("c10d::_allgather_base_", "cpu_op", -1, "collective"),
        ("gloo:all_reduce", "cpu_op", -1, "collective"),
        ("aten::broadcast_tensors", "cpu_op", -1, "memory"),
        ("gpu_model_runner: forward", "user_annotation", -1, None),
        ("gpu_model_runner: forward", "gpu_user_annotation", 0, None),
        ("cudaLaunchKernel", "cuda_runtime", -1, None),
    ],
)
def test_activities(name: str, kind: str, device: int, activity: str | None) -> None:
    """What kernels, copies, fills and operators count as; annotations and launches are no work."""
    found = events_of(SimpleNamespace(events=lambda: [kineto(name, kind, device, 100, 7)]))

    assert ([Event(activity, device, 100, 107)] if activity else []) == found


def test_devices_apart() -> None:
    """Each device is measured from its first activity to its last, the host over the window."""
    events = [
        Event("compute", 0, 10, 20),
        Event("copy", 1, 50, 60),
        Event("compute", 1, 80, 90),
        Event("memory", -1, 0, 25),
    ]

    zero, one = device_shares(events)
    (host,) = host_shares(events, 0, 100)

    assert (0, 10, 1.0) == (zero.device, zero.ns, zero.shares["compute"])
    assert (1, 40, 0.25, 0.25, 0.5) == (
        one.device,
        one.ns,
        one.shares["copy"],
        one.shares["compute"],
        one.shares["idle"],
    )
    assert (-1, 0.25, 0.75) == (host.device, host.shares["memory"], host.shares["idle"])
    assert [] == device_shares([]) == host_shares([], 5, 5)
