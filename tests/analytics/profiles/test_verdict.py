"""One sentence for a device, by what it lost most to."""

from collections.abc import Callable

import pytest

from otel_attrib.analytics.profiles.breakdown import Breakdown, ClassTime, breakdowns
from otel_attrib.analytics.profiles.idle import Idle
from otel_attrib.analytics.profiles.timeline import Profile
from otel_attrib.analytics.profiles.verdict import duration, verdict, wasted_share

MS = 1_000_000


def device(idle: Idle, *kernels: ClassTime, **parts_ms: int) -> Breakdown:
    """A device by its parts (`compute`, `compute_memory`, …) in ms and its gaps in ns."""
    parts = {name.replace("_", "+"): MS * ms for name, ms in parts_ms.items()}
    span = sum(parts.values()) + idle.total_ns
    return Breakdown("x.json", -1, 0, "", span, parts, idle, (), kernels, (), None)


@pytest.mark.parametrize(
    ("idle", "parts", "sentence"),
    [
        (
            Idle(55 * MS, 0, 6 * MS, 0),
            {"compute": 39},
            "idle 61 % of 100 ms, nearly all of it waiting for the host",
        ),
        (
            Idle(20 * MS, 30 * MS, 0, 0),
            {"compute": 50},
            "idle 50 % of 100 ms, most of it short gaps between queued kernels",
        ),
        (
            Idle(0, 0, 50 * MS, 0),
            {"compute": 50},
            "idle 50 % of 100 ms, nearly all of it queued work that did not start",
        ),
        (Idle(0, 0, 0, 50 * MS), {"compute": 50}, "idle 50 % of 100 ms, reason not recorded"),
        (Idle(20 * MS, 15 * MS, 15 * MS, 0), {"compute": 50}, "idle 50 % of 100 ms, for several reasons"),
        (
            Idle(0, 0, 0, 0),
            {"compute": 60, "communication": 30, "memory": 10},
            "communicates 30 % of 100 ms with no compute beside it",
        ),
        (
            Idle(0, 0, 0, 0),
            {"compute": 60, "communication": 10, "memory": 30},
            "copies 30 % of 100 ms with no compute beside it",
        ),
        (
            Idle(15 * MS, 0, 0, 0),
            {"compute": 60, "communication": 19, "memory": 6},
            "computes 60 % of 100 ms; only communicates 19 %, idle 15 %, only copies 6 %",
        ),
        (Idle(5 * MS, 0, 0, 0), {"compute": 65, "compute_communication": 30}, "computes 95 % of 100 ms"),
    ],
    ids=["host", "gaps", "queued", "unknown", "several", "communication", "copies", "mixed", "computes"],
)
def test_sentences(idle: Idle, parts: dict[str, int], sentence: str) -> None:
    """The largest loss of a fifth or more is named with its reason; else what it computes."""
    assert sentence == verdict(device(idle, **parts))


def test_the_class_named_is_one_that_computes() -> None:
    """Neither a collective nor what the copy engines did is computing, however long it ran."""
    rows = (
        ClassTime("collective", 1, 90 * MS, 90 * MS, 0),
        ClassTime("copy", 1, 80 * MS, 80 * MS, 5 * MS),
        ClassTime("gemm", 9, 70 * MS, 70 * MS, 70 * MS),
    )
    one = device(Idle(0, 0, 0, 0), *rows, compute=10, compute_communication=90)

    assert "computes 100 % of 100 ms, 70 % in gemm" == verdict(one)
    assert 0 == wasted_share(one)


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 µs"),
        (1234, "1.23 µs"),
        (999_999, "1 ms"),
        (3_907_825, "3.91 ms"),
        (299_849_000, "300 ms"),
        (1_222_847_000, "1.22 s"),
        (125e9, "125 s"),
    ],
)
def test_durations(ns: float, text: str) -> None:
    """A time has three digits that matter and the unit that suits it."""
    assert text == duration(ns)


def test_four_streams(recorded: Callable[[str], Profile]) -> None:
    """A trace whose losses are each below a fifth tells all of them."""
    (one,) = breakdowns(recorded("kineto/hta_control.json.gz"))

    assert "computes 61 % of 465 ms; only communicates 19 %, idle 16 %, only copies 4 %" == verdict(one)


def test_nothing_took_time() -> None:
    """Of a span of nothing no share is told."""
    assert "ran nothing that took time" == verdict(device(Idle(0, 0, 0, 0), ClassTime("gemm", 2, 0, 0, 0)))
