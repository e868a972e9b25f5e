"""Real faults of the CPU on a real vLLM are in the store, in the time of the requests that they hit."""

import os
from pathlib import Path

import pytest

from benchmarks.host_fault_figures import Result
from benchmarks.host_faults import Pace, measure
from otel_attrib.collector.agent.source import Unavailable

pytestmark = pytest.mark.vllm


def test_requests_that_were_hit_waited(vllm: Path, model: Path, tmp_path: Path) -> None:
    """A quota throttles in the time of hit requests alone, and both sources of the wait agree."""
    if os.geteuid() != 0:
        pytest.skip("needs root: eBPF, control groups")
    try:
        document = measure(tmp_path, Pace(rate=4.0, cycles=3, seconds=3.0), ("hog", "quota"))
    except (Unavailable, PermissionError) as fault:
        pytest.skip(str(fault))
    hog, quota = document["results"]
    assert isinstance(hog, Result)
    assert isinstance(quota, Result)

    for each in (hog, quota):
        assert each.unknown < each.requests / 4
        for of, found in each.agreement.items():
            assert found.seconds > 0
            assert found.total < 0.25, (each.fault, of)
    assert quota.told["throttled"].others.median == 0
    assert quota.told["throttled"].auc > 0.8
    for source in ("eBPF", "schedstat"):
        assert quota.told[source].hit.median > quota.told[source].others.median, source
