"""Our figures of eight recorded traces against those of HolisticTraceAnalysis, figure by figure."""

from pathlib import Path

import pytest

from benchmarks.profiles.oracle import (
    TABLES,
    agrees,
    classes,
    cut_parts,
    figures,
    own_rates,
    page,
    single_launches,
)
from benchmarks.profiles.reasons import TRACES, WHY

ROOT = Path(__file__).parents[3]
CASES = [(trace, table) for trace in TRACES for table in TABLES]


@pytest.mark.parametrize(("trace", "table"), CASES, ids=str)
def test_figures_agree_or_there_is_a_reason(trace: str, table: str) -> None:
    """Every figure is within 0.1 % of the other tool's, but in tables whose definition differs."""
    apart = [figure for figure in figures(trace, table) if not agrees(figure)]

    assert ((trace, table) in WHY) == bool(apart), apart[:3]


@pytest.mark.parametrize("table", ["temporal_breakdown", "comm_comp_overlap", "cuda_kernel_launch_stats"])
def test_the_main_tables_agree_everywhere(table: str) -> None:
    """Idle, compute, span, overlap and launches agree on all traces, without a reason to be given."""
    assert [] == [trace for trace in TRACES if (trace, table) in WHY]


def test_the_page_is_current() -> None:
    """The table in the documentation is the one that the figures make."""
    assert page() in (ROOT / "docs/profiles.md").read_text()


def test_the_classes_of_the_page_are_current() -> None:
    """The table of kernel classes in the documentation is the one that decides."""
    assert classes() in (ROOT / "docs/profiles.md").read_text()


def test_sums_by_name_agree_where_the_rest_is_grouped() -> None:
    """Each kernel's sum is the other tool's on every trace, also where its other columns differ."""
    sums = [
        figure
        for trace in TRACES
        for figure in figures(trace, "gpu_kernel_breakdown (names)")
        if figure.name.endswith(" sum")
    ]

    assert len(sums) > 100
    assert [] == [figure for figure in sums if not agrees(figure)]


def test_the_cut_to_microseconds_is_the_whole_difference() -> None:
    """Cut as the other tool cuts, the parts of every trace are its parts."""
    for trace in TRACES:
        for figure in cut_parts(trace):
            assert figure.theirs == figure.ours, (trace, figure.name)


def test_idle_by_reason_adds_up_to_the_same() -> None:
    """Where one gap's reason differs, the stream's idle time does not."""
    found = figures("h100_qwen", "idle_time_breakdown")

    assert sum(figure.theirs for figure in found) == pytest.approx(sum(figure.ours for figure in found))


def test_with_the_profilers_own_rates_bandwidths_agree() -> None:
    """Bandwidths of traces of whole microseconds differ by the profiler's own rates and nothing else."""
    for trace in ("hta_control", "hta_sampled", "resnet50"):
        apart = [figure for figure in own_rates(trace) if not agrees(figure)]
        assert [] == apart, trace


@pytest.mark.parametrize("trace", ["vllm_decode", "vllm_piecewise"])
def test_without_graphs_the_queues_agree(trace: str) -> None:
    """Of the calls alone that the other tool knows, the queue has its length."""
    assert [] == [figure for figure in single_launches(trace) if not agrees(figure)]
