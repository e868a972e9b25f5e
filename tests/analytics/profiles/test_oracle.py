"""Our figures of eight recorded traces against those of HolisticTraceAnalysis, figure by figure."""

from pathlib import Path

import pytest

from benchmarks.profiles.oracle import TABLES, TRACES, WHY, agrees, figures, page

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
